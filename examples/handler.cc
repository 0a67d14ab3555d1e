// handler: a handler in C++ that throws: the exception becomes a dead letter, the others go on.
//
//     handler [STORE_URL]            default: sqlite:example.db
#include <trilha/delivery.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct closer {
  void operator()(trilha *handle) const { trilha_close(handle); }
  void operator()(trilha_consumer *consumer) const { trilha_consumer_free(consumer); }
  void operator()(trilha_dead_letters *letters) const { trilha_dead_letters_free(letters); }
};

static trilha_text text(std::string_view view) {
  trilha_text result;
  result.data = view.data();
  result.size = view.size();
  return result;
}

// A JSON Schema whose x-redacao rules say, beside each field, what of it may be stored.
constexpr std::string_view orders_schema = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "required": ["pedido", "total_centavos"], "additionalProperties": false,
  "properties": {
    "pedido": {"type": "string", "minLength": 1, "x-redacao": "manter"},
    "total_centavos": {"type": "integer", "minimum": 1, "x-redacao": "manter"},
    "cliente": {"type": "string", "x-redacao": "remover"}
  }
})";

static trilha_status register_orders(trilha *handle, trilha_error *error) {
  trilha_type_version version = {};
  version.tipo = text("pedido.criado");
  version.versao = text("1.0.0");
  version.schema = text(orders_schema);
  return trilha_registry_apply(handle, &version, 1, false, text("example"), nullptr, error);
}

static std::unique_ptr<trilha, closer> open_store(const char *url) {
  trilha_options options = {};
  options.store_url = url;
  options.create = true;
  trilha *handle = nullptr;
  trilha_error error = {};
  if (trilha_open(&options, &handle, &error) != TRILHA_OK || register_orders(handle, &error) != TRILHA_OK) {
    trilha_close(handle);
    throw std::runtime_error(error.text);
  }
  return std::unique_ptr<trilha, closer>(handle);
}

static void check(trilha_status status, const trilha_error &error) {
  if (status != TRILHA_OK) throw std::runtime_error(error.text);
}

static void publish(trilha *store, std::string_view payload) {
  trilha_publication order = {};
  order.tipo = text("pedido.criado");
  order.origem = text("loja");
  order.payload = text(payload);
  trilha_publish_result result = {};
  trilha_error error = {};
  trilha_status status = trilha_publish(store, &order, &result, &error);
  trilha_publish_result_done(&result);
  check(status, error);
}

template <typename Callable>
static void consume(trilha *store, Callable callable) {
  trilha_cpp::handler<Callable> on_order(std::move(callable));
  trilha_text types[] = {text("pedido.criado")};
  trilha_consumer_options options = {};
  options.colonia = text("D-4");
  options.types = types;
  options.type_count = 1;
  options.handler_nome = text("example");
  options.from = TRILHA_FROM_START;
  options.once = true;
  on_order.bind(options);
  trilha_consumer *made = nullptr;
  trilha_error error = {};
  check(trilha_consumer_new(store, &options, &made, &error), error);
  std::unique_ptr<trilha_consumer, closer> consumer(made);
  check(trilha_consumer_run(made, &error), error);
}

static void show_letters(trilha *store) {
  trilha_dead_letters *found = nullptr;
  trilha_error error = {};
  check(trilha_dead_letters_query(store, nullptr, &found, &error), error);
  std::unique_ptr<trilha_dead_letters, closer> letters(found);
  for (size_t i = 0; i < letters->count; i++)
    std::printf("sequence %lld: %s (%s)\n", static_cast<long long>(letters->items[i].sequence_number),
                letters->items[i].mensagem_erro, letters->items[i].status);
}

int main(int argc, char **argv) try {
  auto store = open_store(argc > 1 ? argv[1] : "sqlite:example.db");
  for (const char *payload : {R"({"pedido":"P-1","total_centavos":100})", R"({"pedido":"P-2","total_centavos":200})",
                              R"({"pedido":"P-3","total_centavos":300})"})
    publish(store.get(), payload);
  consume(store.get(), [](const trilha_event &event, trilha_delivery *) {
    if (std::string_view(event.payload).find("P-2") != std::string_view::npos)
      throw std::runtime_error("no stock for this order");
    if (std::string_view(event.payload).find("P-3") != std::string_view::npos) throw 3;
    std::printf("handled %lld\n", static_cast<long long>(event.sequence_number));
  });
  show_letters(store.get());
  return 0;
} catch (const std::exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
