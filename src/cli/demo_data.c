/* cli/demo_data: events for the demo, made up by a seeded generator. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "cli/demo_internal.h"
#include "json/json.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define DEMAND "a1b2c3d4-e5f6-7890-abcd-ef1234567890"

const trilha_publication trilha_demo_seeds[TRILHA_DEMO_SEEDS] = {
    {.tipo = TRILHA_CLI_LITERAL("demanda.recebida"),
     .origem = TRILHA_CLI_LITERAL("D-1a"),
     .event_id = TRILHA_CLI_LITERAL("a1b2c3d4-e5f6-7890-abcd-ef1234567890"),
     .versao_schema = TRILHA_CLI_LITERAL("1.0.0"),
     .timestamp = TRILHA_CLI_LITERAL("2026-06-15T10:30:00Z"),
     .correlacao_id = TRILHA_CLI_LITERAL(DEMAND),
     .payload =
         TRILHA_CLI_LITERAL("{\"demanda_id\": \"" DEMAND "\", \"texto_bruto\": \"Falta d'água na Rua das Flores\", "
                            "\"localizacao_bruta\": {\"lat\": -23.5505, \"lng\": -46.6333}, \"cidadao_id\": \"u1\", "
                            "\"canal\": \"app\"}")},
    {.tipo = TRILHA_CLI_LITERAL("demanda.normalizada"),
     .origem = TRILHA_CLI_LITERAL("D-1b"),
     .event_id = TRILHA_CLI_LITERAL("b2c3d4e5-f6a7-8901-bcde-f12345678901"),
     .versao_schema = TRILHA_CLI_LITERAL("1.0.0"),
     .timestamp = TRILHA_CLI_LITERAL("2026-06-15T10:30:05Z"),
     .correlacao_id = TRILHA_CLI_LITERAL(DEMAND),
     .payload = TRILHA_CLI_LITERAL(
         "{\"demanda_id\": \"" DEMAND "\", \"titulo\": \"Falta de água na Rua das Flores\", "
         "\"descricao_limpa\": \"Falta d'água na Rua das Flores\", \"confianca_normalizacao\": 0.95}")},
    {.tipo = TRILHA_CLI_LITERAL("demanda.categorizada"),
     .origem = TRILHA_CLI_LITERAL("D-3"),
     .event_id = TRILHA_CLI_LITERAL("c3d4e5f6-a7b8-9012-cdef-123456789012"),
     .versao_schema = TRILHA_CLI_LITERAL("1.0.0"),
     .timestamp = TRILHA_CLI_LITERAL("2026-06-15T10:30:10Z"),
     .correlacao_id = TRILHA_CLI_LITERAL(DEMAND),
     .payload = TRILHA_CLI_LITERAL(
         "{\"demanda_id\": \"" DEMAND "\", \"categoria_id\": \"1.1\", \"nivel_precedencia\": 1, "
         "\"score_horizontal\": 95, \"confianca_categorizacao\": 0.88, \"metodo\": \"automatico\"}")},
};

/* --- words --------------------------------------------------------------------------------------------- */

static const char *const first_names[] = {"Ana",    "Benedito", "Caio",   "Conceição", "Davi",    "Eulália",
                                          "Fátima", "Gérson",   "Iara",   "João",      "Luzia",   "Márcia",
                                          "Otávio", "Raimunda", "Sílvio", "Tereza",    "Ulisses", "Vitória"};
static const char *const last_names[] = {"Araújo",  "Barbosa",   "Conceição", "Damasceno", "Evangelista",
                                         "Façanha", "Guimarães", "Lourenço",  "Magalhães", "Nóbrega",
                                         "Paixão",  "Quaresma",  "Sant'Ana",  "Távora",    "Vasconcelos"};
static const char *const streets[] = {"Rua das Acácias",      "Rua São João Batista",   "Travessa do Sertãozinho",
                                      "Avenida dos Ipês",     "Viela Esperança",        "Rua Chapada do Araripe",
                                      "Ladeira da Conceição", "Alameda das Mangueiras", "Rua Padre Anchieta"};
static const char *const districts[] = {"Bela Vista", "Jardim São Luís", "Vila União", "Parque das Nações", "Centro"};

typedef struct problem {
  const char *title, *text, *category;
} problem;
static const problem problems[] = {
    {"Falta de água", "estamos sem água desde ontem e a caixa já esvaziou", "1.1"},
    {"Esgoto a céu aberto", "o esgoto corre a céu aberto e o mau cheiro é insuportável", "1.2"},
    {"Buraco na via", "abriu um buraco enorme e um motoboy caiu nele ontem", "2.1"},
    {"Poste apagado", "o poste está apagado há três semanas e a rua fica às escuras", "3.1"},
    {"Lixo acumulado", "a coleta não passa há dez dias e já apareceram ratos", "4.1"},
    {"Árvore caída", "uma árvore caiu com a chuva e bloqueia a calçada", "4.3"},
    {"Falta de médico", "não há pediatra no posto e a fila começa às 4 da manhã", "5.1"},
    {"Ônibus atrasado", "a linha passa lotada e atrasa mais de uma hora", "6.2"},
};

/* --- the generator -------------------------------------------------------------------------------------- */

typedef struct maker {
  trilha_demo_data *data;
  uint64_t state;
  int64_t at_us; /* when the next event happened */
  bool failed;   /* out of memory */
} maker;

/* SplitMix64: the same numbers on every machine. */
static uint64_t number(maker *m) {
  m->state += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t z = m->state;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static unsigned below(maker *m, size_t bound) {
  return (unsigned)(number(m) % bound);
}

static trilha_text keep(maker *m, trilha_buffer *text) {
  const char *copy = text->failed != TRILHA_OK ? NULL : trilha_arena_copy(&m->data->arena, trilha_buffer_text(text));
  trilha_text kept = {copy, copy == NULL ? 0 : text->size};
  m->failed = m->failed || copy == NULL;
  trilha_buffer_clear(text);
  return kept;
}

static trilha_text uuid(maker *m) {
  unsigned char id[16];
  char text[TRILHA_UUID_TEXT_SIZE];
  uint64_t halves[2] = {number(m), number(m)};
  for (size_t i = 0; i < sizeof id; i++) id[i] = (unsigned char)(halves[i / 8] >> (8 * (i % 8)));
  id[6] = (unsigned char)((id[6] & 0x0FU) | 0x40U);
  id[8] = (unsigned char)((id[8] & 0x3FU) | 0x80U);
  trilha_uuid_format(id, text);
  const char *copy = trilha_arena_copy(&m->data->arena, trilha_text_of(text));
  m->failed = m->failed || copy == NULL;
  return trilha_text_of(copy);
}

static trilha_text moment(maker *m) {
  char text[TRILHA_TIMESTAMP_SIZE];
  m->at_us += (int64_t)(1 + below(m, 40)) * 250000;
  trilha_timestamp_format(m->at_us, text);
  const char *copy = trilha_arena_copy(&m->data->arena, trilha_text_of(text));
  m->failed = m->failed || copy == NULL;
  return trilha_text_of(copy);
}

static trilha_text mark(maker *m, trilha_text text) {
  m->data->markers[m->data->marker_count++] = text;
  return text;
}

/* A CPF-like number with right check digits that nobody holds: it begins with 000. */
static void add_document(maker *m, trilha_buffer *out) {
  unsigned digits[11] = {0}, sum;
  for (size_t i = 3; i < 9; i++) digits[i] = below(m, 10);
  for (size_t n = 9; n < 11; n++) {
    sum = 0;
    for (size_t i = 0; i < n; i++) sum += digits[i] * (unsigned)(n + 1 - i);
    digits[n] = sum * 10 % 11 % 10;
  }
  for (size_t i = 0; i < 11; i++) {
    trilha_buffer_add_string(out, i == 3 || i == 6 ? "." : i == 9 ? "-" : "");
    trilha_buffer_add_char(out, (char)('0' + digits[i]));
  }
}

enum { MARKERS_A_DEMAND = 8 };

typedef struct demand {
  trilha_text id, person, telephone, email, document, address, citizen, text, title;
  const problem *problem;
  const char *channel;
} demand;

static void person_of(maker *m, demand *d, trilha_buffer *b) {
  unsigned who = below(m, 1000000);
  const char *first = first_names[below(m, COUNT(first_names))], *last = last_names[below(m, COUNT(last_names))];
  const char *second = last_names[below(m, COUNT(last_names))];
  trilha_buffer_add_format(b, "%s %s %s", first, last, second);
  d->person = mark(m, keep(m, b));
  trilha_buffer_add_format(b, "+55119%08u", below(m, 100000000));
  d->telephone = mark(m, keep(m, b));
  trilha_buffer_add_format(b, "cidadao%06u@correio.example", who);
  d->email = mark(m, keep(m, b));
  add_document(m, b);
  d->document = mark(m, keep(m, b));
  trilha_buffer_add_format(b, "cid_%06u", who);
  d->citizen = mark(m, keep(m, b));
  trilha_buffer_add_format(b, "%s, nº %u, %s", streets[below(m, COUNT(streets))], 1 + below(m, 4000),
                           districts[below(m, COUNT(districts))]);
  d->address = mark(m, keep(m, b));
}

static demand demand_of(maker *m, trilha_buffer *b) {
  static const char *const channels[] = {"app", "web", "whatsapp", "telefone", "presencial"};
  demand d = {
      .id = uuid(m), .problem = &problems[below(m, COUNT(problems))], .channel = channels[below(m, COUNT(channels))]};
  person_of(m, &d, b);
  if (m->failed) return d;
  trilha_buffer_add_format(b, "Bom dia, aqui é %s, CPF %s. Na %s %s. Peço providências urgentes. 🙏", d.person.data,
                           d.document.data, d.address.data, d.problem->text);
  d.text = mark(m, keep(m, b));
  trilha_buffer_add_format(b, "%s: %s", d.problem->title, d.address.data);
  d.title = mark(m, keep(m, b));
  return d;
}

static void add_string(trilha_buffer *b, const char *name, trilha_text text) {
  trilha_buffer_add_format(b, "%s\"%s\":", b->size > 0 && b->data[b->size - 1] != '{' ? "," : "", name);
  trilha_json_write_string(b, text);
}

/* A number with `places` decimals out of an integer, so that no locale and no float touches it. */
static void add_decimal(trilha_buffer *b, const char *name, unsigned value, unsigned scale) {
  trilha_buffer_add_format(b, ",\"%s\":%u.%0*u", name, value / scale, scale == 100 ? 2 : 4, value % scale);
}

static trilha_text received(maker *m, const demand *d, trilha_buffer *b) {
  trilha_buffer_add_char(b, '{');
  add_string(b, "demanda_id", d->id);
  add_string(b, "texto_bruto", d->text);
  trilha_buffer_add_format(b, ",\"localizacao_bruta\":{\"lat\":-23.%04u,\"lng\":-46.%04u,\"fonte\":\"gps\"",
                           4500 + below(m, 2000), 5000 + below(m, 3000));
  add_string(b, "endereco_informado", d->address);
  trilha_buffer_add_char(b, '}');
  add_string(b, "cidadao_id", d->citizen);
  add_string(b, "canal", trilha_text_of(d->channel));
  trilha_buffer_add_format(b, ",\"urgente\":%s,\"contato\":{", below(m, 4) == 0 ? "true" : "false");
  add_string(b, "nome", d->person);
  add_string(b, "email", d->email);
  add_string(b, "telefone", d->telephone);
  trilha_buffer_add_string(b, "}}");
  return keep(m, b);
}

static trilha_text normalized(maker *m, const demand *d, trilha_buffer *b) {
  trilha_buffer_add_char(b, '{');
  add_string(b, "demanda_id", d->id);
  add_string(b, "titulo", d->title);
  add_string(b, "descricao_limpa", d->text);
  add_decimal(b, "confianca_normalizacao", 60 + below(m, 40), 100);
  trilha_buffer_add_char(b, '}');
  return keep(m, b);
}

static trilha_text categorized(maker *m, const demand *d, trilha_buffer *b) {
  trilha_buffer_add_char(b, '{');
  add_string(b, "demanda_id", d->id);
  add_string(b, "categoria_id", trilha_text_of(d->problem->category));
  trilha_buffer_add_format(b, ",\"nivel_precedencia\":%u", 1 + below(m, 5));
  add_decimal(b, "score_horizontal", below(m, 10000), 100);
  add_decimal(b, "confianca_categorizacao", 50 + below(m, 50), 100);
  trilha_buffer_add_string(b, ",\"metodo\":\"automatico\"}");
  return keep(m, b);
}

static void add_event(maker *m, const demand *d, size_t phase, trilha_buffer *b) {
  static const struct {
    const char *type, *origin, *version;
    trilha_text (*payload)(maker *m, const demand *d, trilha_buffer *b);
  } phases[] = {{"demanda.recebida", "D-1a", "1.1.0", received},
                {"demanda.normalizada", "D-1b", "1.0.0", normalized},
                {"demanda.categorizada", "D-3", "1.0.0", categorized}};
  m->data->publications[m->data->count++] = (trilha_publication){.tipo = trilha_text_of(phases[phase].type),
                                                                 .origem = trilha_text_of(phases[phase].origin),
                                                                 .versao_schema = trilha_text_of(phases[phase].version),
                                                                 .payload = phases[phase].payload(m, d, b),
                                                                 .event_id = uuid(m),
                                                                 .timestamp = moment(m),
                                                                 .correlacao_id = d->id};
}

bool trilha_demo_data_make(trilha_demo_data *data, size_t count, uint64_t seed) {
  TRILHA_BUFFER_SCOPED b;
  *data = (trilha_demo_data){0};
  maker m = {.data = data, .state = seed};
  trilha_buffer_init(&b, 0);
  if (!trilha_timestamp_parse(TRILHA_TEXT("2026-06-15T10:31:00Z"), &m.at_us)) return false;
  data->publications = trilha_arena_array(&data->arena, count, sizeof *data->publications);
  data->markers = trilha_arena_array(&data->arena, (count / 3 + 1) * MARKERS_A_DEMAND, sizeof *data->markers);
  m.failed = data->publications == NULL || data->markers == NULL;
  while (!m.failed && data->count < count) {
    demand d = demand_of(&m, &b);
    for (size_t phase = 0; phase < 3 && !m.failed && data->count < count; phase++) add_event(&m, &d, phase, &b);
  }
  return !m.failed;
}

void trilha_demo_data_done(trilha_demo_data *data) {
  trilha_arena_done(&data->arena);
}

void trilha_demo_request_line(trilha_buffer *out, const trilha_publication *publication) {
  trilha_buffer_add_char(out, '{');
  add_string(out, "tipo", publication->tipo);
  add_string(out, "origem", publication->origem);
  add_string(out, "event_id", publication->event_id);
  add_string(out, "versao_schema", publication->versao_schema);
  add_string(out, "timestamp", publication->timestamp);
  add_string(out, "correlacao_id", publication->correlacao_id);
  trilha_buffer_add_string(out, ",\"payload\":");
  trilha_buffer_add_text(out, publication->payload);
  trilha_buffer_add_string(out, "}\n");
}
