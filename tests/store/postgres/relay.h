/* tests/store/postgres: a TCP relay before the server, which counts what passes and cuts where a test says. */
#ifndef TRILHA_TESTS_STORE_POSTGRES_RELAY_H
#define TRILHA_TESTS_STORE_POSTGRES_RELAY_H

#include <stdbool.h>

typedef enum relay_cut {
  RELAY_PASS,         /* hands everything on */
  RELAY_CUT_REQUEST,  /* the next request never reaches the server: both sides are closed */
  RELAY_CUT_ANSWER,   /* the next request is handed on, its answer is swallowed: both sides are closed */
  RELAY_HALF_REQUEST, /* half of what comes next is handed on, and nothing after it: a client that stopped in the middle
                       */
  RELAY_HOLD_ANSWER   /* as above, but the client's side stays open and silent */
} relay_cut;

typedef struct relay relay;

/* Listens on a free loopback port and connects to server_port for each client. */
relay *relay_start(int server_port, int *ret_port);
void relay_set(relay *r, relay_cut cut);
/* Whether that cut still waits for its request. */
bool relay_is_set(relay *r);
/* The same, for the request that follows `passing` others. */
void relay_set_later(relay *r, relay_cut cut, int passing);
/* From now on every new connection is closed at once; those that are there go on. */
void relay_refuse(relay *r);
/* Requests are runs of bytes from the client between two answers: one request and its answer are one round trip. */
int relay_round_trips(relay *r);
void relay_stop(relay *r);

#endif
