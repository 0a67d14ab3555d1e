// embed: Trilha from C++: the same headers, a small owner for what must be freed.
//
//     embed [STORE_URL]            default: sqlite:example.db
#include <trilha/trilha.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct closer {
  void operator()(trilha *handle) const { trilha_close(handle); }
  void operator()(trilha_events_page *page) const { trilha_events_page_free(page); }
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

static void publish_and_count(const char *url) {
  auto store = open_store(url);
  const std::string payload = R"({"pedido":"P-1","total_centavos":12990,"cliente":"Maria da Silva"})";

  trilha_publication order = {};
  order.tipo = text("pedido.criado");
  order.origem = text("loja");
  order.payload = text(payload);
  trilha_publish_result result = {};
  trilha_error error = {};
  trilha_status status = trilha_publish(store.get(), &order, &result, &error);
  trilha_publish_result_done(&result);
  if (status != TRILHA_OK) throw std::runtime_error(error.text);

  trilha_events_page *page = nullptr;
  if (trilha_events_query(store.get(), nullptr, &page, &error) != TRILHA_OK) throw std::runtime_error(error.text);
  std::unique_ptr<trilha_events_page, closer> owner(page);
  std::printf("%lld event, payload %s\n", static_cast<long long>(page->total), page->linhas[0].payload);
}

int main(int argc, char **argv) {
  try {
    publish_and_count(argc > 1 ? argv[1] : "sqlite:example.db");
    return 0;
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
