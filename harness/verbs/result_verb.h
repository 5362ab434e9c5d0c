/* What `taper table`, `plot` and `report` share: the home, the sweep, what of it, and where the result goes. */
#ifndef TAPER_HARNESS_VERBS_RESULT_VERB_H
#define TAPER_HARNESS_VERBS_RESULT_VERB_H

#include "harness/base/options.h"
#include "harness/results/result_sweep.h"

struct result_verb {
    const char *home, *sweep, *format, *out; /* as given; NULL: not */
    struct result_choice choice;
    struct store *store;
    struct results from;
    char *variants[RESULT_CHOICES_MOST]; /* texts of choice.where that --variant made */
    int variant_count;
};

/* For a verb's options: where they go, and below their rows. */
#define RESULT_CHOICE(verb)                                                                                            \
    {.name = "home", .value = &(verb)->home}, {.name = "sweep", .value = &(verb)->sweep},                              \
        {.name = "compare", .value = &(verb)->choice.compare},                                                         \
        {.name = "where", .each = result_verb_where, .arg = &(verb)->choice},                                          \
        {.name = "by", .each = result_verb_by, .arg = &(verb)->choice},                                                \
    {                                                                                                                  \
        .name = "vary", .each = result_verb_vary, .arg = &(verb)->choice                                               \
    }
#define RESULT_OPTIONS(verb)                                                                                           \
    RESULT_CHOICE(verb),                                                                                               \
    {                                                                                                                  \
        .name = "out", .value = &(verb)->out                                                                           \
    }

#define RESULT_WHERE_ROW                                                                                               \
    {                                                                                                                  \
        "where", 0, "KEY=VALUE",                                                                                       \
            "only runs that have it (a key of the configuration, or variant); again for more: of one key any of the "  \
            "values"                                                                                                   \
    }

#define RESULT_CHOICE_ROWS                                                                                             \
    RESULT_WHERE_ROW, {"by", 0, "KEY", "lead with this key: panels of a figure, first rows of a table"},               \
        {"vary", 0, "KEY", "lines of one panel for its values, last rows of a table"},                                 \
    {                                                                                                                  \
        "compare", 0, "NAME", "against this variant, or SWEEP/VARIANT (default: the spec's compare, else baseline)"    \
    }

int result_verb_where(void *choice, const char *value, struct error *err);
/* NAME as --where variant=NAME. */
int result_verb_variant(void *verb, const char *value, struct error *err);
int result_verb_by(void *choice, const char *value, struct error *err);
int result_verb_vary(void *choice, const char *value, struct error *err);

/* Open the home for reading and make v->from. Close in any case. */
int result_verb_open(struct result_verb *v, struct error *err);
void result_verb_close(struct result_verb *v);

/* Write to a file (replaced whole), or to standard output for "-"; `what` names it in errors. */
int result_verb_write(const char *path, const char *bytes, size_t size, const char *what, struct error *err);

#endif
