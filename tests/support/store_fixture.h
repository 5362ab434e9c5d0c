/* A home of its own with a store, for the tests of what is built on it. */
#ifndef TAPER_TESTS_STORE_FIXTURE_H
#define TAPER_TESTS_STORE_FIXTURE_H

#include "harness/base/home.h"
#include "harness/store/intake.h"
#include "harness/store/store.h"

/* A call that must succeed, with a last argument named err; fails the test with its text. Wants cmocka.h. */
#define GOOD(call)                                                                                                     \
    do {                                                                                                               \
        struct error err_ = {0}, *err = &err_;                                                                         \
        if ((call) != STATUS_OK)                                                                                       \
            fail_msg("%s", err_.text);                                                                                 \
    } while (0)

/* A call that must fail with a status, and whose text holds `part`. Wants cmocka.h and string.h. */
#define BAD(status, part, call)                                                                                        \
    do {                                                                                                               \
        struct error err_ = {0}, *err = &err_;                                                                         \
        assert_int_equal(call, status);                                                                                \
        if (!strstr(err_.text, part))                                                                                  \
            fail_msg("'%s' does not say '%s'", err_.text, part);                                                       \
    } while (0)

struct fixture {
    char dir[64]; /* removed at the end */
    struct home home;
    struct store *s;
    struct intake *in;
};

void fixture_init(struct fixture *f); /* open for writing, with an intake */
void fixture_fini(struct fixture *f);
void fixture_open(struct fixture *f); /* again, after fixture_close */
void fixture_close(struct fixture *f);

/* Digests that stand for fixed data. */
int fixture_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err);

/* Submit a sweep given as YAML; fails the test when that fails. */
struct store_submitted fixture_submit(struct fixture *f, const char *yaml);

/* A sweep `s` of four runs: variants base and all, seeds 0 and 1, one retry. */
extern const char fixture_two_by_two[];

/* A whole line of a journal, of one row. */
extern const char fixture_eval_line[];

/* How an attempt starts on a CPU slot. */
extern const struct store_start fixture_start;

/* A run as the store has it; fails the test when there is none. */
struct store_run fixture_find(struct fixture *f, const char *id);

/* Whether a sanitizer slows this down, so that fewer rounds must do. */
bool fixture_slow(void);

/* The id of the sweep's run at a position (in the order of the queue). */
void fixture_run_id(struct fixture *f, const char *sweep, int position, char id[CONFIG_ID]);

/* One integer, or one text (on the heap), from SQL. */
int64_t fixture_integer(struct fixture *f, const char *sql);
char *fixture_text(struct fixture *f, const char *sql);

/* Run SQL that changes rows. Returns how many its last statement changed. */
int64_t fixture_change(struct fixture *f, const char *sql);

/* Append to a run's journal, making its directory. */
void fixture_append(struct fixture *f, const char *run, const char *bytes, size_t size);

/* One pass without a budget; fails the test when that fails. */
struct intake_result fixture_take(struct fixture *f, const char *run);

#endif
