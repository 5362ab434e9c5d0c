#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/store/store_internal.h"
#include "harness/store/store_rows.h"

void fixture_open(struct fixture *f)
{
    GOOD(store_open(&f->s, &f->home, STORE_WRITE, err));
    f->in = intake_create(f->s, &f->home);
}

void fixture_close(struct fixture *f)
{
    intake_destroy(f->in);
    store_close(f->s);
    f->in = NULL;
    f->s = NULL;
}

void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.dir = "/tmp/taper test é.XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    char *path = file_join(f->dir, "a home?");
    GOOD(home_init(&f->home, path, true, err));
    free(path);
    fixture_open(f);
}

void fixture_fini(struct fixture *f)
{
    fixture_close(f);
    home_fini(&f->home);
    char *command = memory_format("chmod -R u+rwX '%s' && rm -rf '%s'", f->dir, f->dir);
    assert_int_equal(system(command), 0);
    free(command);
}

int fixture_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    (void)err;
    snprintf(corpus, 65, "%060d%04d", 1, (int)cfg->corpus_seed);
    snprintf(tokenizer, 65, "%064d", 2);
    return STATUS_OK;
}

struct store_submitted fixture_submit(struct fixture *f, const char *yaml)
{
    struct spec spec;
    struct store_submitted out;
    GOOD(spec_parse(&spec, yaml, strlen(yaml), "test.yaml", "/", NULL, err));
    GOOD(store_submit(f->s, &spec, fixture_digests, false, NULL, &out, err));
    spec_fini(&spec);
    return out;
}

struct wanted {
    int position;
    char *id;
};

static int at_position(void *arg, const struct store_run *run)
{
    struct wanted *w = arg;
    if (w->position-- == 0)
        memcpy(w->id, run->id, CONFIG_ID);
    return 0;
}

void fixture_run_id(struct fixture *f, const char *sweep, int position, char id[CONFIG_ID])
{
    struct wanted w = {position, id};
    id[0] = '\0';
    GOOD(store_runs_each(f->s, &(struct store_filter){.sweep = sweep}, at_position, &w, err));
    assert_int_equal(strlen(id), CONFIG_ID - 1);
}

char *fixture_text(struct fixture *f, const char *sql)
{
    struct store_rows *rows = NULL;
    bool found = false;
    GOOD(store_rows_open(&rows, f->s, sql, sql, err));
    GOOD(store_rows_next(rows, &found, err));
    if (!found)
        fail_msg("%s: no row", sql);
    struct store_value v = store_rows_at(rows, 0);
    char number[32];
    if (v.type == STORE_INTEGER)
        snprintf(number, sizeof number, "%lld", (long long)v.integer);
    else
        snprintf(number, sizeof number, "%.15g", v.number);
    char *copy = memory_string(v.type == STORE_NULL ? "(null)" : v.text ? v.text : number);
    store_rows_close(rows);
    return copy;
}

int64_t fixture_integer(struct fixture *f, const char *sql)
{
    char *text = fixture_text(f, sql), *end;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end)
        fail_msg("%s: not an integer: %s", sql, text);
    free(text);
    return value;
}

int64_t fixture_change(struct fixture *f, const char *sql)
{
    GOOD(store_exec(f->s, sql, sql, err));
    return fixture_integer(f, "SELECT changes()");
}

void fixture_append(struct fixture *f, const char *run, const char *bytes, size_t size)
{
    char *dir = home_run_dir(&f->home, run), *path = home_run_file(&f->home, run, RUNDIR_JOURNAL);
    GOOD(file_make_directories(dir, err));
    FILE *out = fopen(path, "a");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
    free(dir);
    free(path);
}

struct intake_result fixture_take(struct fixture *f, const char *run)
{
    struct intake_result out;
    GOOD(intake_pass(f->in, &run, 1, 0, &out, err));
    return out;
}

const char fixture_two_by_two[] = "sweep: s\nvariants: {base: {taper.sites: none}, all: {taper.sites: all}}\n"
                                  "grid: {seed: [0, 1]}\nrun: {retries: 1}\n";

const char fixture_eval_line[] = "{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":\"valid\",\"loss\":1}\n";

const struct store_start fixture_start = {"local", "host", "cpu", "cpu:0", "{\"sqlite\":\"3\"}", 1};

struct store_run fixture_find(struct fixture *f, const char *id)
{
    struct store_run run;
    GOOD(store_run_find(f->s, id, &run, err));
    return run;
}

bool fixture_slow(void)
{
    const char *flavour = getenv("TAPER_TEST_FLAVOUR");
    return flavour && strcmp(flavour, "release") != 0 && strcmp(flavour, "clang") != 0;
}
