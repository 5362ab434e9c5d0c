/* The table of verbs: every row whole, in order, and no name twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

static void rows(void **state)
{
    (void)state;
    for (int i = 0; command_at(i); i++) {
        const struct command *c = command_at(i);
        assert_true(c->name[0] && c->brief[0] && c->operands && c->exec);
        assert_ptr_equal(command_find(c->name), c);
        if (i > 0)
            assert_true(strcmp(command_at(i - 1)->name, c->name) < 0);
        const char *const texts[] = {c->about, c->notes};
        for (int k = 0; k < 2; k++)
            assert_true(!texts[k] || texts[k][strlen(texts[k]) - 1] == '\n');
        for (const struct option_row *r = c->options; r && r->name; r++) {
            assert_true(r->help && r->help[0] && !strchr(r->help, '\n'));
            for (const struct option_row *s = r + 1; s->name; s++)
                assert_true(strcmp(r->name, s->name) != 0 && (!r->letter || r->letter != s->letter));
        }
    }
    assert_null(command_find("nonsense"));
    assert_string_equal(command_nearest("trian")->name, "train");
    assert_string_equal(command_nearest("stats")->name, "status");
    assert_string_equal(command_nearest("reports")->name, "report");
    assert_null(command_nearest("nonsense"));
    assert_null(command_nearest(""));
    assert_null(command_nearest("xyz"));
}

/* The manual has an entry (a line in bold after .TP) for every verb. */
static void manual_names_every_verb(void **state)
{
    (void)state;
    struct file_map page = {0};
    assert_int_equal(file_map_open(&page, "docs/taper.1", NULL), STATUS_OK);
    char *text = memory_format("%.*s", (int)page.size, (const char *)page.data);
    for (int i = 0; command_at(i); i++) {
        bool found = false;
        size_t length = strlen(command_at(i)->name);
        for (const char *entry = strstr(text, "\n.T"); entry && !found; entry = strstr(entry + 4, "\n.T")) {
            const char *end = entry + 5 + strcspn(entry + 5, "\n"); /* after .TP or .TQ */
            for (const char *at = entry + 5; at < end && !found; at++)
                found =
                    !strncmp(at, command_at(i)->name, length) && strchr(" \"", at[-1]) && strchr(" ,\"\n", at[length]);
        }
        if (!found && strcmp(command_at(i)->name, "help") && strcmp(command_at(i)->name, "worker"))
            fail_msg("docs/taper.1 has no entry for %s", command_at(i)->name);
    }
    free(text);
    file_map_close(&page);
}

static const struct option_row rows_of_verb[] = {
    {"flag", 'f', NULL, "a flag"}, {"size", 0, "N", "a size"}, {"other", 0, "cpu|cuda", "of another call"}, {0}};
static const struct command verb = {
    .name = "verb", .operands = "FILE", .brief = "a verb", .options = rows_of_verb, .notes = "Notes.\n"};

static void options(void **state)
{
    (void)state;
    bool flag = false;
    const char *size = NULL;
    const struct option_spec specs[] = {{.name = "flag", .flag = &flag}, {.name = "size", .value = &size}, {0}};
    char *argv[] = {"verb", "a", "--size", "3", "b", "-f", "--", "--size", NULL};
    struct error err = {0};
    int operands;
    assert_int_equal(options_parse(&verb, specs, 8, argv, &operands, &err), STATUS_OK);
    assert_true(flag && strcmp(size, "3") == 0 && operands == 3);
    assert_string_equal(argv[1], "a");
    assert_string_equal(argv[2], "b");
    assert_string_equal(argv[3], "--size");
    char *joined[] = {"verb", "--size=4=5", NULL}, *unknown[] = {"verb", "--sizes", "3", NULL},
         *bare[] = {"verb", "--size", NULL};
    char *valued[] = {"verb", "--flag=1", NULL};
    assert_int_equal(options_parse(&verb, specs, 2, joined, &operands, &err), STATUS_OK);
    assert_string_equal(size, "4=5");
    assert_int_equal(options_parse(&verb, specs, 3, unknown, &operands, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "'--sizes'"));
    assert_non_null(strstr(err.text, "usage: taper verb FILE [--flag] [--size N] [--other cpu|cuda]"));
    assert_int_equal(options_parse(&verb, specs, 2, bare, &operands, &err), STATUS_BAD_INPUT);
    assert_int_equal(options_parse(&verb, specs, 2, valued, &operands, &err), STATUS_BAD_INPUT);
    char *other[] = {"verb", "--other", "cpu", NULL}; /* has a row, and this call does not take it */
    assert_int_equal(options_parse(&verb, specs, 3, other, &operands, &err), STATUS_BAD_INPUT);
    const struct option_spec rowless[] = {{.name = "hidden", .flag = &flag}, {0}};
    assert_int_equal(options_parse(&verb, rowless, 1, argv, &operands, &err), STATUS_FAILED);
}

static void help_comes_from_the_rows(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    command_print_help(&verb, out);
    fclose(out);
    assert_string_equal(text, "usage: taper verb FILE [--flag] [--size N] [--other cpu|cuda]\n\na verb\n\n"
                              "  -f, --flag            a flag\n"
                              "      --size N          a size\n"
                              "      --other cpu|cuda  of another call\n\nNotes.\n");
    free(text);
}

static void numbers(void **state)
{
    (void)state;
    struct error err = {0};
    long long n;
    double x;
    unsigned long long size;
    assert_int_equal(options_integer("--n", "42", 0, 100, &n, &err), STATUS_OK);
    assert_true(n == 42);
    const char *const bad[] = {"", "4x", " 4", "101", "-1", "99999999999999999999", "1e2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(options_integer("--n", bad[i], 0, 100, &n, &err), STATUS_BAD_INPUT);
    assert_int_equal(options_real("--x", "0.5", 0, 1, &x, &err), STATUS_OK);
    assert_int_equal(options_real("--x", "nan", 0, 1, &x, &err), STATUS_BAD_INPUT);
    assert_int_equal(options_size("--size", "10M", &size, &err), STATUS_OK);
    assert_true(size == 10000000);
    assert_int_equal(options_size("--size", "2Gi", &size, &err), STATUS_OK);
    assert_true(size == 2ull << 30);
    assert_int_equal(options_size("--size", "20K", &size, &err), STATUS_OK);
    assert_true(size == 20000);
    assert_int_equal(options_size("--size", "-1", &size, &err), STATUS_BAD_INPUT);
    assert_int_equal(options_size("--size", "10X", &size, &err), STATUS_BAD_INPUT);
    assert_int_equal(options_size("--size", "99999999999G", &size, &err), STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(manual_names_every_verb),
                                       cmocka_unit_test(options), cmocka_unit_test(help_comes_from_the_rows),
                                       cmocka_unit_test(numbers)};
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
