/* serve: who may use the API. Both the address and the token must pass (ruling R26); the routes are judged only behind
 * that, so that a stranger never learns what is there. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "serve/serve_internal.h"

static trilha_status networks_of(const trilha_config *config, trilha_setting setting, trilha_networks **ret_networks,
                                 trilha_error *err) {
  size_t count;
  const trilha_text *list = trilha_config_list(config, setting, &count);
  trilha_status status = trilha_networks_new(list, count, ret_networks, err);
  if (status != TRILHA_OK) trilha_error_while(err, "reading %s", trilha_setting_name(setting));
  return status;
}

static trilha_status keys_of(const trilha_config *config, trilha_keys **ret_keys, trilha_error *err) {
  size_t count;
  const trilha_text *paths = trilha_config_list(config, TRILHA_SETTING_ACCESS_KEYS, &count);
  bool fetched = trilha_config_text(config, TRILHA_SETTING_ACCESS_JWKS_URL).data != NULL;
  if (count == 0 && !fetched)
    return trilha_error_set(err, TRILHA_INVALID, "ACCESS_KEYS_MISSING",
                            "serve.access.keys names no file and serve.access.jwks_url is not set: without a key "
                            "nobody can be let in, and the API does not "
                            "start (trilha token issue makes one for local development)");
  trilha_status status = trilha_keys_new(ret_keys, err);
  for (size_t i = 0; status == TRILHA_OK && i < count; i++)
    status = trilha_keys_add_file(*ret_keys, paths[i].data, err);
  return status;
}

static char *copy_of(const trilha_config *config, trilha_setting setting) {
  trilha_text text = trilha_config_text(config, setting);
  return text.data == NULL ? NULL : strndup(text.data, text.size);
}

static void take_token_rules(const trilha_config *config, trilha_gate_rules *rules) {
  size_t count;
  const trilha_text *names = trilha_config_list(config, TRILHA_SETTING_ACCESS_ALGORITHMS, &count);
  for (size_t i = 0; i < count; i++) rules->token.algorithms |= trilha_algorithm_of(names[i]);
  rules->issuer = copy_of(config, TRILHA_SETTING_ACCESS_ISSUER);
  rules->audience = copy_of(config, TRILHA_SETTING_ACCESS_AUDIENCE);
  rules->role_claim = copy_of(config, TRILHA_SETTING_ACCESS_ROLE_CLAIM);
  rules->role = copy_of(config, TRILHA_SETTING_ACCESS_ROLE);
  rules->tenant_claim = copy_of(config, TRILHA_SETTING_ACCESS_TENANT_CLAIM);
  rules->token.issuer = trilha_text_of(rules->issuer);
  rules->token.audience = trilha_text_of(rules->audience);
  rules->token.role_claim = trilha_text_of(rules->role_claim);
  rules->token.role = trilha_text_of(rules->role);
  rules->token.tenant_claim = trilha_text_of(rules->tenant_claim);
  rules->token.skew_s = trilha_config_number(config, TRILHA_SETTING_ACCESS_CLOCK_SKEW_S);
}

trilha_status trilha_gate_rules_new(const trilha_config *config, trilha_gate_rules **ret_rules, trilha_error *err) {
  trilha_gate_rules *rules = calloc(1, sizeof *rules);
  if (rules == NULL) return trilha_error_no_memory(err);
  trilha_status status = networks_of(config, TRILHA_SETTING_API_ALLOW, &rules->allow, err);
  if (status == TRILHA_OK) status = networks_of(config, TRILHA_SETTING_API_TRUSTED_PROXIES, &rules->trusted, err);
  if (status == TRILHA_OK) status = networks_of(config, TRILHA_SETTING_STATUS_ALLOW, &rules->status_allow, err);
  if (status == TRILHA_OK) status = keys_of(config, &rules->keys, err);
  if (status == TRILHA_OK) status = trilha_callbacks_new(config, &rules->callbacks, err);
  if (status == TRILHA_OK) take_token_rules(config, rules);
  bool configured_issuer = trilha_config_text(config, TRILHA_SETTING_ACCESS_ISSUER).data != NULL;
  if (status == TRILHA_OK && (rules->audience == NULL || rules->role_claim == NULL || rules->role == NULL ||
                              (configured_issuer && rules->issuer == NULL)))
    status = trilha_error_no_memory(err);
  if (status == TRILHA_OK)
    *ret_rules = rules;
  else
    trilha_gate_rules_free(rules);
  return status;
}

void trilha_gate_rules_free(trilha_gate_rules *rules) {
  if (rules == NULL) return;
  trilha_networks_free(rules->allow);
  trilha_networks_free(rules->trusted);
  trilha_networks_free(rules->status_allow);
  trilha_keys_free(rules->keys);
  free(rules->issuer);
  free(rules->audience);
  trilha_callbacks_free(rules->callbacks);
  free(rules->role_claim);
  free(rules->tenant_claim);
  free(rules->role);
  free(rules);
}

/* "Bearer" in any letter case, one blank, the token. */
static trilha_text bearer_of(const trilha_http_request *request) {
  static const char scheme[] = "bearer ";
  trilha_text value = trilha_http_header_value(request, "Authorization");
  if (value.size < sizeof scheme - 1) return (trilha_text){NULL, 0};
  for (size_t i = 0; i < sizeof scheme - 1; i++) {
    char c = value.data[i] >= 'A' && value.data[i] <= 'Z' ? (char)(value.data[i] + 32) : value.data[i];
    if (c != scheme[i]) return (trilha_text){NULL, 0};
  }
  return (trilha_text){value.data + sizeof scheme - 1, value.size - (sizeof scheme - 1)};
}

/* By the keys of the files, then by those of the identity provider. */
static trilha_token_verdict verify(const trilha_gate *gate, trilha_text token, trilha_token_identity *identity) {
  int64_t now_us = trilha_clock_wall_us();
  trilha_token_verdict verdict = trilha_token_verify(gate->rules->keys, &gate->rules->token, token, now_us, identity);
  if (gate->jwks == NULL || (verdict != TRILHA_TOKEN_KEY && verdict != TRILHA_TOKEN_SIGNATURE)) return verdict;
  trilha_token_verdict fetched = trilha_jwks_verify(gate->jwks, &gate->rules->token, token, now_us, identity);
  return fetched == TRILHA_TOKEN_KEY ? verdict : fetched;
}

bool trilha_gate_client(const trilha_gate *gate, const trilha_http_request *request, trilha_address *ret_client) {
  trilha_address peer;
  trilha_text forwarded[TRILHA_HTTP_HEADERS_MAX];
  size_t count = trilha_http_header_values(request, "X-Forwarded-For", forwarded);
  return trilha_address_parse(request->peer, &peer) &&
         trilha_client_address(&peer, forwarded, count, gate->rules->trusted, ret_client);
}

static trilha_refusal check(trilha_gate *gate, const trilha_http_request *request, trilha_caller *caller) {
  const trilha_gate_rules *rules = gate->rules;
  if (!trilha_gate_client(gate, request, &caller->client) || !trilha_networks_hold(rules->allow, &caller->client))
    return TRILHA_REFUSAL_ADDRESS;
  trilha_address counted = trilha_address_client(&caller->client);
  if (!trilha_rate_take(gate->requests, &counted, trilha_clock_monotonic_ns(), &caller->retry_s))
    return TRILHA_REFUSAL_RATE;
  caller->verdict = verify(gate, bearer_of(request), &caller->identity);
  if (caller->verdict == TRILHA_TOKEN_VALID) return TRILHA_REFUSAL_NONE;
  return caller->verdict == TRILHA_TOKEN_ROLE ? TRILHA_REFUSAL_ROLE : TRILHA_REFUSAL_TOKEN;
}

trilha_refusal trilha_gate_check(trilha_gate *gate, const trilha_http_request *request, trilha_caller *ret_caller) {
  *ret_caller = (trilha_caller){.retry_s = 1};
  pthread_rwlock_rdlock(&gate->lock);
  trilha_refusal refusal = check(gate, request, ret_caller);
  pthread_rwlock_unlock(&gate->lock);
  return refusal;
}

bool trilha_gate_check_status(trilha_gate *gate, const trilha_http_request *request) {
  trilha_address peer;
  pthread_rwlock_rdlock(&gate->lock);
  bool allowed = trilha_address_parse(request->peer, &peer) && trilha_networks_hold(gate->rules->status_allow, &peer);
  pthread_rwlock_unlock(&gate->lock);
  return allowed;
}
