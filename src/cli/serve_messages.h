/* cli/serve_messages: what serve, config and token say, English then Portuguese. Room: cli. */
#ifndef TRILHA_CLI_SERVE_MESSAGES_H
#define TRILHA_CLI_SERVE_MESSAGES_H

#define SAY_CONFIG_PROBLEM_LINE "%s:%u:%u: %s %s", "%s:%u:%u: %s %s"
#define SAY_CONFIG_PROBLEM      "%s: %s %s", "%s: %s %s"
#define SAY_AUDIT_MORE          "more follow: --after %lld", "há mais: --after %lld"
#define SAY_CONFIG_FINE         "the configuration is fine", "a configuração está correta"
#define SAY_SERVING \
  "API on %s port %u, health and metrics on %s port %u", "API em %s porta %u, saúde e métricas em %s porta %u"
#define SAY_SERVE_STOPPING "stopping: requests under way end first", "parando: os pedidos em andamento terminam antes"
#define SAY_TOKEN_KEY_MADE                                                      \
  "made %s (keep it private) and %s.pub; name the latter in serve.access.keys", \
      "criados %s (guarde-o em segredo) e %s.pub; ponha o segundo em serve.access.keys"

#endif
