/* Errors collect context outward, keep the cause when they grow too long, and never overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "core/base/error.h"

static void context_outward(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(error_set(&err, STATUS_BAD_INPUT, "want %d bytes, got %d", 4096, 512), STATUS_BAD_INPUT);
    assert_int_equal(error_wrap(&err, "load %s", "w.safetensors"), STATUS_BAD_INPUT);
    error_wrap(&err, "run %d", 17);
    assert_string_equal(err.text, "run 17: load w.safetensors: want 4096 bytes, got 512");
    assert_int_equal(error_exit_code(err.status), 2);
}

static void the_cause_survives(void **state)
{
    (void)state;
    struct error err = {0};
    static char lengthy[sizeof err.text + 100];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    error_set(&err, STATUS_FAILED, "the cause");
    for (int i = 0; i < 5; i++)
        error_wrap(&err, "%s", lengthy);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_non_null(strstr(err.text, "the cause"));
    error_set(&err, STATUS_FAILED, "%s", lengthy);
    error_wrap(&err, "outside");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void errno_and_null(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(error_errno(&err, STATUS_FAILED, ENOENT, "%s", "/nowhere"), STATUS_FAILED);
    assert_string_equal(err.text, "/nowhere: No such file or directory");
    assert_int_equal(error_set(NULL, STATUS_BAD_INPUT, "dropped"), STATUS_BAD_INPUT);
    assert_int_equal(error_wrap(NULL, "dropped"), STATUS_FAILED);
    assert_int_equal(error_exit_code(STATUS_OK), 0);
    assert_int_equal(error_exit_code(STATUS_FAILED), 1);
    assert_int_equal(error_exit_code(STATUS_STOPPED), 3);
}

static void faults_are_lines(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(error_add(&err, STATUS_BAD_INPUT, "the %s", "first"), STATUS_BAD_INPUT);
    assert_string_equal(err.text, "the first");
    assert_int_equal(error_add(&err, STATUS_FAILED, "the second"), STATUS_BAD_INPUT);
    assert_string_equal(err.text, "the first\nthe second");
    char lengthy[3000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    for (int i = 0; i < 5; i++)
        error_add(&err, STATUS_FAILED, "%s", lengthy);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(error_add(NULL, STATUS_FAILED, "dropped"), STATUS_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(context_outward), cmocka_unit_test(the_cause_survives),
                                       cmocka_unit_test(errno_and_null), cmocka_unit_test(faults_are_lines)};
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
