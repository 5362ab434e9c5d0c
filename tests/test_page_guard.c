/* Who may ask the page: addresses, hosts, origins, tokens. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "harness/page/page_guard.h"

static void address_is(const char *text, const char *wanted, bool loopback)
{
    struct page_address a;
    struct error err = {0};
    char to[PAGE_HOST];
    if (page_address_parse(&a, text, &err))
        fail_msg("%s", err.text);
    assert_string_equal(page_address_text(&a, to), wanted);
    assert_int_equal(a.loopback, loopback);
}

static void test_addresses(void **state)
{
    (void)state;
    address_is("127.0.0.1:8787", "127.0.0.1:8787", true);
    address_is("9000", "127.0.0.1:9000", true);
    address_is("localhost:0", "127.0.0.1:0", true);
    address_is("127.8.0.1:1", "127.8.0.1:1", true);
    address_is("[::1]:80", "[::1]:80", true);
    address_is("0.0.0.0:65535", "0.0.0.0:65535", false);
    address_is("[::]:80", "[::]:80", false);
    address_is("192.168.1.7:80", "192.168.1.7:80", false);
    static const char *const bad[] = {"",
                                      ":",
                                      "x",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "::1:80",
                                      "[::1]80",
                                      "[::1",
                                      "[]:80",
                                      "example.org:80",
                                      "127.1:80",
                                      "1:2:3",
                                      ":80",
                                      "[1.2.3.4]:80",
                                      "127.0.0.1:8o"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct page_address a;
        struct error err = {0};
        assert_int_equal(page_address_parse(&a, bad[i], &err), STATUS_BAD_INPUT);
        assert_non_null(strstr(err.text, "want ADDR:PORT"));
        assert_true(!*bad[i] || strstr(err.text, bad[i]));
    }
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool loopback, elsewhere;
    } rows[] = {{"127.0.0.1:8787", true, true},
                {"127.0.0.1", true, true},
                {"localhost:9000", true, true},
                {"LOCALHOST", true, true},
                {"[::1]:8787", true, true},
                {"[::1]", true, true},
                {"192.168.1.7:8787", false, true},
                {"[fe80::1]:8787", false, true},
                {"node7:8787", false, true},
                {"node7.cluster.example:8787", false, true},
                {"node78:8787", false, false},
                {"evil.example:8787", false, false},
                {"localhost.evil.example", false, false},
                {"127.0.0.1.evil.example", false, false},
                {"127.0.0.1:x", false, false},
                {"[::1", false, false},
                {"::1", false, false},
                {"", false, false},
                {":8787", false, false},
                {"127.0.0.1:8787:1", false, false},
                {"127.0.0.1@evil.example", false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (page_host_allowed(rows[i].host, true, "node7.inner") != rows[i].loopback)
            fail_msg("'%s' on loopback", rows[i].host);
        if (page_host_allowed(rows[i].host, false, "node7.inner") != rows[i].elsewhere)
            fail_msg("'%s' elsewhere", rows[i].host);
    }
    assert_false(page_host_allowed(NULL, true, "node7"));
    assert_false(page_host_allowed("node7", false, "")); /* a machine without a name */
}

static void test_origins(void **state)
{
    (void)state;
    assert_true(page_origin_allowed(NULL, "localhost:8787"));
    assert_true(page_origin_allowed("http://localhost:8787", "localhost:8787"));
    assert_false(page_origin_allowed("http://localhost:8788", "localhost:8787"));
    assert_false(page_origin_allowed("https://localhost:8787", "localhost:8787"));
    assert_false(page_origin_allowed("http://evil.example", "localhost:8787"));
    assert_false(page_origin_allowed("http://localhost:8787.evil.example", "localhost:8787"));
    assert_false(page_origin_allowed("null", "localhost:8787"));
    assert_false(page_origin_allowed("", "localhost:8787"));
}

static void test_tokens(void **state)
{
    char a[PAGE_TOKEN], b[PAGE_TOKEN];
    (void)state;
    page_token_make(a);
    page_token_make(b);
    assert_int_equal(strlen(a), PAGE_TOKEN - 1);
    assert_int_equal(strspn(a, "0123456789abcdef"), PAGE_TOKEN - 1);
    assert_string_not_equal(a, b);
    assert_true(page_token_equal(a, a));
    assert_false(page_token_equal(b, a));
    assert_false(page_token_equal(NULL, a));
    assert_false(page_token_equal("", a));
    b[0] = '\0';
    assert_false(page_token_equal(b, a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses), cmocka_unit_test(test_hosts),
                                       cmocka_unit_test(test_origins), cmocka_unit_test(test_tokens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
