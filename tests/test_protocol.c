/* The socket protocol: lines out of bytes however they are cut, requests and replies, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "harness/daemon/protocol.h"

static void lines_however_cut(void **state)
{
    (void)state;
    const char *bytes = "one\n\ntwo\r\n\r\nthree\nrest";
    const char *want[] = {"one", "", "two", "", "three"};
    size_t length = strlen(bytes);
    for (size_t piece = 1; piece <= length; piece++) {
        struct protocol_reader r = {0};
        size_t found = 0, size;
        const char *line;
        for (size_t at = 0; at < length; at += piece) {
            size_t take = at + piece < length ? piece : length - at;
            assert_int_equal(protocol_feed(&r, bytes + at, take, NULL), STATUS_OK);
            while (protocol_line(&r, &line, &size)) {
                assert_true(found < 5);
                assert_int_equal(size, strlen(want[found]));
                assert_memory_equal(line, want[found], size);
                found++;
            }
        }
        assert_int_equal(found, 5);
        protocol_fini(&r);
    }
}

static void long_lines_end_it(void **state)
{
    (void)state;
    struct protocol_reader r = {0};
    struct error err = {0};
    const char *line;
    size_t size;
    char *bytes = memory_alloc(PROTOCOL_LINE_MOST + 2, 1);
    memset(bytes, 'x', PROTOCOL_LINE_MOST + 1);
    bytes[PROTOCOL_LINE_MOST] = '\n';
    assert_int_equal(protocol_feed(&r, bytes, PROTOCOL_LINE_MOST + 1, &err), STATUS_OK);
    assert_true(protocol_line(&r, &line, &size));
    assert_int_equal(size, PROTOCOL_LINE_MOST);
    bytes[PROTOCOL_LINE_MOST] = 'x';
    assert_int_equal(protocol_feed(&r, bytes, PROTOCOL_LINE_MOST + 1, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "longer"));
    protocol_fini(&r);
    free(bytes);
}

static void refuses(const char *text, const char *why)
{
    json_t *request = NULL;
    struct error err = {0};
    int status = protocol_parse(text, strlen(text), &request, &err);
    if (status != STATUS_BAD_INPUT || !strstr(err.text, why))
        print_error("'%s' gave %d: %s\n", text, status, err.text);
    assert_int_equal(status, STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, why));
    char *reply = protocol_error(request, &err);
    assert_true(reply[strlen(reply) - 1] == '\n');
    assert_ptr_equal(strchr(reply, '\n'), reply + strlen(reply) - 1);
    free(reply);
    json_decref(request);
}

static void requests_are_checked(void **state)
{
    (void)state;
    json_t *request;
    const char *good = "{\"v\":1,\"id\":\"a\",\"do\":\"ping\"}";
    assert_int_equal(protocol_parse(good, strlen(good), &request, NULL), STATUS_OK);
    json_decref(request);
    refuses("", "column");
    refuses("rubbish", "column");
    refuses("[1,2]", "object");
    refuses("17", "column");
    refuses("{\"do\":\"ping\"}", "version");
    refuses("{\"v\":2,\"do\":\"ping\"}", "speaks version 1");
    refuses("{\"v\":1}", "do:");
    refuses("{\"v\":1,\"do\":7}", "do:");
    refuses("{\"v\":1,\"do\":\"ping\",\"do\":\"stop\"}", "duplicate");
    refuses("{\"v\":1,\"do\":\"ping\"} x", "column");
    refuses("{\"v\":1,\"do\":\"\xff\"}", "column");
    char deep[5000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refuses(deep, "depth");
}

static void replies_come_back(void **state)
{
    (void)state;
    json_t *request = json_pack("{s:[i,s]}", "id", 7, "x"), *reply = NULL;
    char *line = protocol_reply(request, json_pack("{s:i, s:s}", "live", 3, "id", "not mine to set"));
    assert_int_equal(protocol_parse_reply(line, strlen(line) - 1, &reply, NULL), STATUS_OK);
    assert_int_equal(json_integer_value(json_object_get(reply, "live")), 3);
    assert_true(json_equal(json_object_get(reply, "id"), json_object_get(request, "id")));
    json_decref(reply);
    free(line);
    struct error err = {0}, got = {0};
    error_set(&err, STATUS_BAD_INPUT, "no run '\xff'\nsecond line");
    line = protocol_error(request, &err);
    assert_int_equal(protocol_parse_reply(line, strlen(line) - 1, &reply, &got), STATUS_BAD_INPUT);
    assert_null(reply);
    assert_string_equal(got.text, "no run '?'\nsecond line");
    free(line);
    json_decref(request);
    assert_int_equal(protocol_parse_reply("{", 1, &reply, &got), STATUS_FAILED);
    assert_int_equal(protocol_parse_reply("{\"v\":9,\"ok\":true}", 17, &reply, &got), STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_however_cut), cmocka_unit_test(long_lines_end_it),
                                       cmocka_unit_test(requests_are_checked), cmocka_unit_test(replies_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
