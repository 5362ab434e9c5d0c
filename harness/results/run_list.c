#include "harness/results/run_list.h"

#include <stdlib.h>

/* On the heap. */
static char *make_sql(const struct result_groups *g, bool sizes)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fprintf(out, "SELECT m.run, %sm.variant, %s", g->sweep ? "" : "m.sweep, ", sizes ? "m.size, " : "");
    for (int i = 0; i < g->key_count; i++)
        fprintf(out, "iif(count(DISTINCT m.\"%s\") > 1, NULL, min(m.\"%s\")) AS \"%s\", ", g->keys[i], g->keys[i],
                g->keys[i]);
    fputs("m.seed, m.state, coalesce((SELECT step FROM journal j WHERE j.run = m.run), 0) AS step, m.steps, "
          "(SELECT ce FROM step s WHERE s.run = m.run ORDER BY step DESC LIMIT 1) AS loss, "
          "m.val_loss_raw AS val_loss, CASE WHEN m.state IN ('failed', 'cancelled') THEN "
          "(SELECT coalesce(a.outcome_text, a.text, a.cause) FROM attempt a WHERE a.run = m.run "
          "ORDER BY a.attempt DESC LIMIT 1) WHEN m.state = 'paused' THEN "
          "(SELECT why FROM decision d WHERE d.run = m.run ORDER BY d.id DESC LIMIT 1) END AS why "
          "FROM run_shown m GROUP BY m.sweep, m.run, m.variant ORDER BY m.sweep, min(m.position), m.variant",
          out);
    fclose(out);
    return sql;
}

int run_list_make(struct result_rows *out, struct results *from, struct error *err)
{
    char *sql = make_sql(&from->groups, result_groups_sizes_differ(&from->groups));
    int status = result_query(out, from->store, "the runs", sql, NULL, err);
    free(sql);
    return status;
}

void result_value_put(struct listing *t, const struct result_value *v)
{
    if (v->type == RESULT_INTEGER)
        listing_integer(t, (int64_t)v->number);
    else if (v->type == RESULT_REAL)
        listing_real(t, v->number);
    else
        listing_text(t, v->type == RESULT_TEXT ? v->text : NULL);
}

int result_rows_print(const struct result_rows *rows, FILE *out, enum listing_format format, int columns,
                      struct error *err)
{
    struct listing *t = listing_begin(out, format, (const char *const *)rows->names, rows->columns);
    listing_fit(t, columns);
    for (int r = 0; r < rows->rows; r++)
        for (int c = 0; c < rows->columns; c++)
            result_value_put(t, result_at(rows, r, c));
    return listing_end(t, err);
}
