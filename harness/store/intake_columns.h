/* The columns of the tables that journals fill: here alone. The statements that insert, the reader of lines, its fast
 * way and its bounds follow from these lists; tests/test_intake_columns.c holds them against results/schema.sql.
 *
 * A list is in the order of the schema, which is that of the journal's fields too. A new measured number is a row here,
 * a column in the schema with its migration, a line in views.sql, and the place in core/train that writes it. */
#ifndef TAPER_HARNESS_STORE_INTAKE_COLUMNS_H
#define TAPER_HARNESS_STORE_INTAKE_COLUMNS_H

enum value_type {
    VALUE_REAL,   /* number, or NaN, Infinity, -Infinity as text; NULL when absent */
    VALUE_COUNT,  /* integer, not negative; NULL when absent */
    VALUE_NEEDED, /* the same, and must be there */
    VALUE_TEXT,   /* text that must be there and not be empty */
    VALUE_MAYBE,  /* text, NULL when absent */
    VALUE_TIMES,  /* a list of numbers, kept as JSON when it holds more than one */
};

struct column {
    const char *name; /* NULL ends a list */
    enum value_type type;
};

/* After the column run. */
#define STEP_COLUMNS(X)                                                                                                \
    X(step, NEEDED)                                                                                                    \
    X(tokens, COUNT)                                                                                                   \
    X(ce, REAL)                                                                                                        \
    X(aux, REAL)                                                                                                       \
    X(lr, REAL)                                                                                                        \
    X(gate, REAL)                                                                                                      \
    X(grad_norm, REAL)                                                                                                 \
    X(scale_mean, REAL)                                                                                                \
    X(scale_std, REAL)                                                                                                 \
    X(scale_max, REAL)                                                                                                 \
    X(scale_target, REAL)                                                                                              \
    X(logit_rms, REAL)                                                                                                 \
    X(logit_max, REAL)                                                                                                 \
    X(logit_std, REAL)                                                                                                 \
    X(margin, REAL)                                                                                                    \
    X(p_correct, REAL)                                                                                                 \
    X(entropy, REAL)                                                                                                   \
    X(radial, REAL)                                                                                                    \
    X(radial_rms, REAL)                                                                                                \
    X(tangential_rms, REAL)                                                                                            \
    X(radial_share, REAL)                                                                                              \
    X(aux_radial, REAL)                                                                                                \
    X(ms, REAL)                                                                                                        \
    X(attempt, NEEDED)                                                                                                 \
    X(step_ms, TIMES)                                                                                                  \
    X(leading, REAL)                                                                                                   \
    X(bounded, REAL)

/* After run and step, which are the line's. */
#define SITE_COLUMNS(X)                                                                                                \
    X(site, TEXT)                                                                                                      \
    X(c, REAL)                                                                                                         \
    X(scale_mean, REAL)                                                                                                \
    X(agreement, REAL)                                                                                                 \
    X(gamma_norm, REAL)                                                                                                \
    X(gamma_tilde_norm, REAL)

#define EVAL_COLUMNS(X) X(step, NEEDED) X(split, TEXT) X(loss, REAL) X(tokens, COUNT) X(attempt, NEEDED)

#define BENCH_COLUMNS(X)                                                                                               \
    X(kind, TEXT)                                                                                                      \
    X(variant, TEXT)                                                                                                   \
    X(batch, NEEDED)                                                                                                   \
    X(context, NEEDED)                                                                                                 \
    X(weights, TEXT)                                                                                                   \
    X(tokens_per_s, REAL)                                                                                              \
    X(ms, REAL)                                                                                                        \
    X(repeats, COUNT)                                                                                                  \
    X(device, MAYBE)                                                                                                   \
    X(attempt, NEEDED)                                                                                                 \
    X(beside, COUNT)

#define COLUMN_COUNT_(name, type) +1
enum { STEP_COLUMN_COUNT = 0 STEP_COLUMNS(COLUMN_COUNT_), SITE_COLUMN_COUNT = 0 SITE_COLUMNS(COLUMN_COUNT_) };

/* Each list, and the statement that stores a row of it: ?1 is the run (and ?2 the step for sites), the columns follow
 * in the order of the list. A row that is there is replaced. */
struct intake_table {
    const char *name;
    const struct column *columns;
    int first; /* the parameter of the first column */
    const char *sql;
};

extern const struct intake_table intake_steps, intake_sites, intake_evals, intake_benches;

#endif
