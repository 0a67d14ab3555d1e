/* access: addresses, networks, and who is behind a proxy (field report B28). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "access/access.h"

static trilha_address address(const char *text) {
  trilha_address a;
  if (!trilha_address_parse(trilha_text_of(text), &a)) fail_msg("%s", text);
  return a;
}

static trilha_networks *networks(const char *one, const char *two) {
  trilha_text list[] = {trilha_text_of(one), trilha_text_of(two)};
  trilha_networks *made = NULL;
  assert_int_equal(trilha_networks_new(list, two == NULL ? 1 : 2, &made, NULL), TRILHA_OK);
  return made;
}

static bool holds(const char *network, const char *text) {
  trilha_networks *n = networks(network, NULL);
  trilha_address a = address(text);
  bool held = trilha_networks_hold(n, &a);
  trilha_networks_free(n);
  return held;
}

static void addresses_are_parsed_strictly(void **state) {
  (void)state;
  static const char *const wrong[] = {"",          " 1.2.3.4", "1.2.3.4 ",   "1.2.3",
                                      "1.2.3.256", "01.2.3.4", "0x1.2.3.4",  "1.2.3.4/8",
                                      "::1%lo",    "[::1]",    "1::2::3",    "localhost",
                                      "1,2,3,4",   ":::",      "1.2.3.4:80", "::ffff:1.2.3.4.5",
                                      "12345::",   "1.2.3.4\n"};
  trilha_address a;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (trilha_address_parse(trilha_text_of(wrong[i]), &a)) fail_msg("'%s' was taken", wrong[i]);
  assert_false(trilha_address_parse((trilha_text){"1.2.3.4\0x", 9}, &a));
}

static void a_mapped_address_is_the_ipv4_address(void **state) {
  (void)state;
  trilha_address a = address("10.1.2.3"), b = address("::FFFF:10.1.2.3"), c = address("::ffff:a01:203");
  assert_memory_equal(&a, &b, sizeof a);
  assert_memory_equal(&a, &c, sizeof a);
  char text[TRILHA_ADDRESS_SIZE];
  trilha_address_format(&b, text);
  assert_string_equal(text, "10.1.2.3");
  assert_true(holds("10.0.0.0/8", "::ffff:10.9.9.9"));
}

static void a_network_holds_what_its_prefix_says_and_no_more(void **state) {
  (void)state;
  assert_true(holds("192.168.4.0/22", "192.168.7.255"));
  assert_false(holds("192.168.4.0/22", "192.168.8.0"));
  assert_true(holds("10.1.2.3", "10.1.2.3"));
  assert_false(holds("10.1.2.3", "10.1.2.4"));
  assert_true(holds("0.0.0.0/0", "255.1.1.1"));
  assert_false(holds("0.0.0.0/0", "2001:db8::1"));
  assert_true(holds("2001:db8::/33", "2001:db8:7fff::1"));
  assert_false(holds("2001:db8::/33", "2001:db8:8000::1"));
}

static void every_ipv6_address_is_not_the_whole_ipv4_world(void **state) {
  (void)state;
  assert_true(holds("::/0", "2001:db8::1"));
  assert_false(holds("::/0", "203.0.113.9"));
  assert_true(holds("::ffff:0:0/96", "203.0.113.9"));
}

static void networks_with_mistakes_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "10.0.0.1/8",     "10.0.0.0/33", "10.0.0.0/",   "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8/8",
      "2001:db8::1/64", "::/129",      "10.0.0.0 /8", "*",           "10.0.0.0/+8", ""};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    trilha_text list[] = {TRILHA_TEXT("::1"), trilha_text_of(wrong[i])};
    trilha_networks *made = NULL;
    trilha_error error = {0};
    if (trilha_networks_new(list, 2, &made, &error) == TRILHA_OK) fail_msg("'%s' was taken", wrong[i]);
    assert_non_null(strstr(error.text, "entry 2"));
  }
}

static void an_empty_list_holds_nobody(void **state) {
  (void)state;
  trilha_networks *none = NULL;
  assert_int_equal(trilha_networks_new(NULL, 0, &none, NULL), TRILHA_OK);
  trilha_address a = address("127.0.0.1");
  assert_false(trilha_networks_hold(none, &a));
  trilha_networks_free(none);
}

static bool client(const char *peer, const char *first, const char *second, char out[TRILHA_ADDRESS_SIZE]) {
  trilha_networks *trusted = networks("10.0.0.0/8", "::1");
  trilha_address from = address(peer), found;
  trilha_text values[] = {trilha_text_of(first), trilha_text_of(second)};
  size_t count = second != NULL ? 2 : first != NULL ? 1 : 0;
  bool known = trilha_client_address(&from, values, count, trusted, &found);
  if (known) trilha_address_format(&found, out);
  trilha_networks_free(trusted);
  return known;
}

static void B28_a_header_from_anybody_but_a_trusted_proxy_means_nothing(void **state) {
  (void)state;
  char out[TRILHA_ADDRESS_SIZE];
  assert_true(client("203.0.113.7", "127.0.0.1", NULL, out));
  assert_string_equal(out, "203.0.113.7");
  assert_true(client("203.0.113.7", "rubbish", NULL, out));
  assert_string_equal(out, "203.0.113.7");
}

static void B28_lists_are_read_from_right_to_left_up_to_the_first_stranger(void **state) {
  (void)state;
  char out[TRILHA_ADDRESS_SIZE];
  assert_true(client("10.0.0.1", "127.0.0.1, 198.51.100.9", NULL, out));
  assert_string_equal(out, "198.51.100.9");
  assert_true(client("10.0.0.1", "127.0.0.1, 198.51.100.9 , 10.3.3.3", NULL, out));
  assert_string_equal(out, "198.51.100.9");
  /* The header in two lines is one list. */
  assert_true(client("10.0.0.1", "1.1.1.1, 198.51.100.9", "10.2.2.2", out));
  assert_string_equal(out, "198.51.100.9");
  assert_true(client("10.0.0.1", "rubbish, 198.51.100.9", NULL, out));
  assert_string_equal(out, "198.51.100.9");
  assert_true(client("10.0.0.1", "10.5.5.5", NULL, out));
  assert_string_equal(out, "10.5.5.5");
  assert_true(client("10.0.0.1", NULL, NULL, out));
  assert_string_equal(out, "10.0.0.1");
}

static void elements_may_carry_ports_and_brackets(void **state) {
  (void)state;
  char out[TRILHA_ADDRESS_SIZE];
  assert_true(client("::1", "198.51.100.9:4711", NULL, out));
  assert_string_equal(out, "198.51.100.9");
  assert_true(client("::1", "[2001:db8::7]:443", NULL, out));
  assert_string_equal(out, "2001:db8::7");
  assert_true(client("::1", "2001:db8::7", NULL, out));
  assert_string_equal(out, "2001:db8::7");
}

static void what_a_trusted_proxy_sends_must_be_addresses(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      ",",
                                      "198.51.100.9,",
                                      "unknown",
                                      "[::1",
                                      "[1.2.3.4]",
                                      "198.51.100.9:",
                                      "198.51.100.9:x",
                                      "[::2]x",
                                      "198.51.100.9:123456",
                                      "1.2.3.4 5.6.7.8",
                                      "\"1.2.3.4\""};
  char out[TRILHA_ADDRESS_SIZE];
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (client("10.0.0.1", wrong[i], NULL, out)) fail_msg("'%s' gave %s", wrong[i], out);
}

static void a_list_longer_than_any_real_one_is_refused(void **state) {
  (void)state;
  char list[64 * 9 + 1] = "";
  for (size_t i = 0; i < 64; i++) memcpy(list + i * 9, "10.1.1.1,", 10);
  list[sizeof list - 2] = '\0';
  char out[TRILHA_ADDRESS_SIZE];
  assert_false(client("10.0.0.1", list, NULL, out));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_are_parsed_strictly),
      cmocka_unit_test(a_mapped_address_is_the_ipv4_address),
      cmocka_unit_test(a_network_holds_what_its_prefix_says_and_no_more),
      cmocka_unit_test(every_ipv6_address_is_not_the_whole_ipv4_world),
      cmocka_unit_test(networks_with_mistakes_are_refused),
      cmocka_unit_test(an_empty_list_holds_nobody),
      cmocka_unit_test(B28_a_header_from_anybody_but_a_trusted_proxy_means_nothing),
      cmocka_unit_test(B28_lists_are_read_from_right_to_left_up_to_the_first_stranger),
      cmocka_unit_test(elements_may_carry_ports_and_brackets),
      cmocka_unit_test(what_a_trusted_proxy_sends_must_be_addresses),
      cmocka_unit_test(a_list_longer_than_any_real_one_is_refused),
  };
  return cmocka_run_group_tests_name("access network", tests, NULL, NULL);
}
