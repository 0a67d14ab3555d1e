/* bench: how many requests libcurl itself gets through to a receiver: the same POST again and again over connections
 * that are kept, one under way on each, from nowhere and in no order, as wrk sends it.
 *
 *   curl_posts URL CONNECTIONS SECONDS HEADERS BODY
 *
 * HEADERS is a file with a header a line, BODY a file. One thread drives a multi handle by epoll; handles and the list
 * of headers are made once. What is printed is the bound of any sender on libcurl. Status 2: a request failed. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "judge.h"

enum { READY_MAX = 64, LOOK_MS = 1000, BUFFER_BYTES = 4096, LINE_BYTES_MAX = 1024 };

typedef struct poster {
  CURLM *multi;
  int epoll_fd;
  bool timed;
  trilha_deadline timer; /* of libcurl, where `timed` */
  struct curl_slist *headers;
  char *body;
  size_t body_size;
  long answered;
} poster;

static void die(const char *what) {
  fprintf(stderr, "curl_posts: %s\n", what);
  exit(2);
}

static char *read_file(const char *path, size_t *ret_size) {
  enum { ROOM = 1 << 20 };
  FILE *file = fopen(path, "rb");
  char *text = malloc(ROOM);
  if (file == NULL || text == NULL) die(path);
  *ret_size = fread(text, 1, ROOM, file);
  fclose(file);
  return text;
}

static struct curl_slist *read_headers(const char *path) {
  char line[LINE_BYTES_MAX];
  struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
  FILE *file = fopen(path, "r");
  if (file == NULL) die(path);
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    headers = curl_slist_append(headers, line);
  }
  fclose(file);
  return headers;
}

/* --- what libcurl waits for -------------------------------------------------------------------------------------- */

static int watch(CURL *easy, curl_socket_t s, int what, void *user, void *known) {
  poster *p = user;
  struct epoll_event wanted = {.data.fd = s};
  (void)easy;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) wanted.events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) wanted.events |= EPOLLOUT;
  int how = what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL : known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  int done = epoll_ctl(p->epoll_fd, how, s, &wanted);
  if (how == EPOLL_CTL_ADD && done == 0) curl_multi_assign(p->multi, s, p);
  return how == EPOLL_CTL_DEL ? 0 : done;
}

static int set_timer(CURLM *multi, long in_ms, void *user) {
  poster *p = user;
  (void)multi;
  p->timed = in_ms >= 0;
  if (p->timed) p->timer = trilha_deadline_in_ms(in_ms);
  return 0;
}

static void turn(poster *p) {
  struct epoll_event ready[READY_MAX];
  int running = 0, wait_ms = p->timed ? (int)trilha_deadline_left_ms(p->timer, LOOK_MS) : LOOK_MS;
  int count = epoll_wait(p->epoll_fd, ready, READY_MAX, wait_ms);
  for (int i = 0; i < count; i++)
    curl_multi_socket_action(p->multi, ready[i].data.fd,
                             ((ready[i].events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                                 ((ready[i].events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                                 ((ready[i].events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0),
                             &running);
  if (p->timed && trilha_deadline_passed(p->timer)) {
    p->timed = false;
    curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static size_t drop(char *data, size_t one, size_t size, void *user) {
  (void)data, (void)user;
  return one * size;
}

static void begin(poster *p, const char *url) {
  CURL *easy = curl_easy_init();
  if (easy == NULL) die("no handle");
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->body_size);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, p->body);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, p->headers);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
  if (curl_multi_add_handle(p->multi, easy) != CURLM_OK) die("no handle");
}

/* Each that ended is begun again, or ended for good. */
static void go_on(poster *p, bool again) {
  int left = 0;
  for (CURLMsg *news; (news = curl_multi_info_read(p->multi, &left)) != NULL;) {
    CURL *easy = news->easy_handle;
    CURLcode ended = news->data.result;
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    if (ended != CURLE_OK || code < 200 || code > 299) die("a request failed");
    p->answered++;
    curl_multi_remove_handle(p->multi, easy);
    if (again)
      curl_multi_add_handle(p->multi, easy);
    else
      curl_easy_cleanup(easy);
  }
}

int main(int argc, char **argv) {
  if (argc != 6 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return 2;
  int connections = atoi(argv[2]);
  double seconds = atof(argv[3]);
  poster p = {.multi = curl_multi_init(), .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
  p.headers = read_headers(argv[4]);
  p.body = read_file(argv[5], &p.body_size);
  if (p.multi == NULL || p.epoll_fd < 0) die("nothing to wait with");
  curl_multi_setopt(p.multi, CURLMOPT_MAXCONNECTS, (long)connections);
  curl_multi_setopt(p.multi, CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(p.multi, CURLMOPT_SOCKETDATA, &p);
  curl_multi_setopt(p.multi, CURLMOPT_TIMERFUNCTION, set_timer);
  curl_multi_setopt(p.multi, CURLMOPT_TIMERDATA, &p);
  int64_t begin_ns = trilha_clock_monotonic_ns();
  for (int i = 0; i < connections; i++) begin(&p, argv[1]);
  while (trilha_judge_seconds_since(begin_ns) < seconds) {
    turn(&p);
    go_on(&p, true);
  }
  printf("%.0f\n", (double)p.answered / trilha_judge_seconds_since(begin_ns));
  fflush(stdout);
  _Exit(0); /* what is under way is nobody's */
}
