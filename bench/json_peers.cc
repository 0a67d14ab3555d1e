/* bench: nanoseconds that simdjson's DOM and Jansson take to read a document; bench/against-libraries runs ours beside
 * them.
 *
 *   json_peers FILE.jsonl
 *
 * A line of JSON: the lowest of 15 rounds of about 4 ms of processor time, for each. Each parser is kept from document
 * to document where it can be, and simdjson is given text that is padded already, so that it copies nothing. */
#include <jansson.h>
#include <simdjson.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 15;
constexpr double round_ns = 4e6;

double processor_ns() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double lowest(const std::function<bool()> &pass, std::size_t documents) {
  auto timed = [&](int times) {
    const double begin = processor_ns();
    for (int i = 0; i < times; i++)
      if (!pass()) std::exit((std::fputs("json_peers: a document cannot be read\n", stderr), 1));
    return (processor_ns() - begin) / times;
  };
  for (int warm = 0; warm < 3; warm++) timed(1);
  const int times = 1 + static_cast<int>(round_ns / (timed(1) + 1));
  double found = timed(times);
  for (int i = 1; i < rounds; i++) found = std::min(found, timed(times));
  return found / static_cast<double>(documents);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  std::vector<std::string> lines;
  std::vector<simdjson::padded_string> padded;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) {
      padded.emplace_back(line);
      lines.push_back(line);
    }
  simdjson::dom::parser parser;
  const double simdjson_ns = lowest(
      [&] {
        for (const auto &text : padded)
          if (parser.parse(text).error() != simdjson::SUCCESS) return false;
        return true;
      },
      lines.size());
  const double jansson_ns = lowest(
      [&] {
        for (const auto &line : lines) {
          json_t *value = json_loadb(line.data(), line.size(), 0, nullptr);
          if (value == nullptr) return false;
          json_decref(value);
        }
        return true;
      },
      lines.size());
  std::printf("{\"simdjson_ns\": %.1f, \"jansson_ns\": %.1f}\n", simdjson_ns, jansson_ns);
  return 0;
}
