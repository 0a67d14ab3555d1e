// trilha/delivery.hpp: handlers in C++: what they throw becomes a failure. C++11, header only.
//
// Source: specification 000, section 4.2. An exception must never leave a handler through the library, which is C;
// these wrappers catch it and make it the failure's message. Thread safety and lifetimes as in trilha/delivery.h.
#ifndef TRILHA_DELIVERY_HPP
#define TRILHA_DELIVERY_HPP

#include <cstddef>
#include <exception>
#include <utility>

#include "trilha/delivery.h"

namespace trilha_cpp {

namespace detail {

template <typename Call>
trilha_status guarded(trilha_delivery *delivery, Call call) noexcept {
  try {
    call();
    return TRILHA_OK;
  } catch (const std::exception &failure) {
    return trilha_delivery_fail(delivery, "%s", failure.what());
  } catch (...) {
    return trilha_delivery_fail(delivery, "the handler threw something that is no std::exception");
  }
}

}  // namespace detail

/** A callable `void(const trilha_event &, trilha_delivery *)` as a trilha_handler: returning is success, throwing is a
 *  failure with what() as its message. The object must outlive the subscription or consumer that points to it. */
template <typename Callable>
class handler {
 public:
  explicit handler(Callable callable) : callable_(std::move(callable)) {}
  handler(const handler &) = delete;
  handler &operator=(const handler &) = delete;

  /** Sets the handler and user of a trilha_subscription or trilha_consumer_options. */
  template <typename Options>
  void bind(Options &options) {
    options.handler = &handler::call;
    options.user = this;
  }

  /** The trilha_handler itself; `user` is the handler object. */
  static trilha_status call(void *user, const trilha_event *event, trilha_delivery *delivery) noexcept {
    return detail::guarded(delivery, [&] { static_cast<handler *>(user)->callable_(*event, delivery); });
  }

 private:
  Callable callable_;
};

/** The same for several events in one call: a callable `void(const trilha_event *, std::size_t, trilha_delivery *)` as
 *  a trilha_batch_handler. */
template <typename Callable>
class batch_handler {
 public:
  explicit batch_handler(Callable callable) : callable_(std::move(callable)) {}
  batch_handler(const batch_handler &) = delete;
  batch_handler &operator=(const batch_handler &) = delete;

  /** Sets the batch handler and user of trilha_consumer_options. */
  void bind(trilha_consumer_options &options) {
    options.batch_handler = &batch_handler::call;
    options.user = this;
  }

  /** The trilha_batch_handler itself; `user` is the batch_handler object. */
  static trilha_status call(void *user, const trilha_event *events, std::size_t count,
                            trilha_delivery *delivery) noexcept {
    return detail::guarded(delivery,
                           [&] { static_cast<batch_handler *>(user)->callable_(events, count, delivery); });
  }

 private:
  Callable callable_;
};

}  // namespace trilha_cpp

#endif
