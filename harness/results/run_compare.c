#include "harness/results/run_compare.h"

#include <stdio.h>
#include <stdlib.h>

/* :a and :b stand for quoted ids. */
static char *fill_in(const char *sql, const struct run_compare *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (; *sql; sql++)
        if (sql[0] == ':' && (sql[1] == 'a' || sql[1] == 'b'))
            fprintf(out, "'%s'", p->run[*++sql == 'b'].id); /* hex digits alone */
        else
            fputc(*sql, out);
    fclose(out);
    return text;
}

static int read_rows(struct run_compare *p, int which, const char *name, const char *sql, struct error *err)
{
    char *text = fill_in(sql, p);
    int status = result_query(&p->rows[which], p->store, name, text, NULL, err);
    free(text);
    return status;
}

static int read_parts(struct run_compare *p, struct error *err)
{
    static const char facts[] =
        "WITH f AS (SELECT r.*, (SELECT step FROM journal j WHERE j.run = r.id) AS step, "
        "(SELECT round(avg(ms), 3) FROM step_numeric s WHERE s.run = r.id) AS ms, "
        "(SELECT ce FROM step s WHERE s.run = r.id ORDER BY step DESC LIMIT 1) AS loss FROM run r), "
        "a AS (SELECT * FROM f WHERE id = :a), b AS (SELECT * FROM f WHERE id = :b) "
        "SELECT 'run' AS what, a.id AS a, b.id AS b FROM a, b "
        "UNION ALL SELECT 'state', a.state, b.state FROM a, b UNION ALL SELECT 'step', a.step, b.step FROM a, b "
        "UNION ALL SELECT 'params', a.params, b.params FROM a, b UNION ALL SELECT 'ms a step', a.ms, b.ms FROM a, b "
        "UNION ALL SELECT 'device', a.device, b.device FROM a, b UNION ALL SELECT 'version', a.version, b.version FROM "
        "a, b UNION ALL SELECT 'loss', a.loss, b.loss FROM a, b UNION ALL SELECT 'val_loss', a.val_loss, b.val_loss "
        "FROM a, b";
    static const char keys[] = "SELECT key, a, b FROM config_diff WHERE run_a = :a AND run_b = :b ORDER BY key";
    static const char losses[] =
        "SELECT e.step, e.split, a.loss AS a, b.loss AS b FROM (SELECT DISTINCT step, split FROM eval WHERE run IN "
        "(:a, :b)) e LEFT JOIN eval a ON a.run = :a AND a.step = e.step AND a.split = e.split LEFT JOIN eval b ON "
        "b.run = :b AND b.step = e.step AND b.split = e.split ORDER BY e.step, e.split";
    int status = read_rows(p, COMPARE_FACTS, "the two runs", facts, err);
    if (!status)
        status = read_rows(p, COMPARE_KEYS, "the keys that differ", keys, err);
    if (!status)
        status = read_rows(p, COMPARE_LOSSES, "the evaluations", losses, err);
    return status;
}

int run_compare_make(struct run_compare *out, struct store *s, const char *a, const char *b, struct error *err)
{
    *out = (struct run_compare){.store = s};
    int status = store_run_find(s, a, &out->run[0], err);
    if (!status)
        status = store_run_find(s, b, &out->run[1], err);
    return status ? status : read_parts(out, err);
}

void run_compare_fini(struct run_compare *p)
{
    for (int i = 0; i < COMPARE_PARTS; i++)
        result_rows_fini(&p->rows[i]);
}

static json_t *value_json(const struct result_value *v)
{
    if (v->type == RESULT_INTEGER)
        return json_integer((json_int_t)v->number);
    if (v->type == RESULT_REAL)
        return json_real(v->number);
    return v->type == RESULT_TEXT ? json_string(v->text) : json_null();
}

static json_t *rows_json(const struct result_rows *rows, int from)
{
    json_t *list = json_array();
    for (int r = 0; r < rows->rows; r++) {
        json_t *object = json_object();
        for (int c = from; c < rows->columns; c++)
            json_object_set_new(object, rows->names[c], value_json(result_at(rows, r, c)));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *run_compare_json(const struct run_compare *p)
{
    json_t *side[2] = {json_object(), json_object()}, *config = json_object();
    const struct result_rows *facts = &p->rows[COMPARE_FACTS], *keys = &p->rows[COMPARE_KEYS];
    for (int i = 0; i < 2; i++) {
        json_object_set_new(side[i], "sweep", json_string(p->run[i].sweep));
        json_object_set_new(side[i], "variant", json_string(p->run[i].variant));
        json_object_set_new(side[i], "seed", json_integer(p->run[i].seed));
        for (int r = 0; r < facts->rows; r++)
            json_object_set_new(side[i], result_text(facts, r, 0), value_json(result_at(facts, r, 1 + i)));
    }
    for (int r = 0; r < keys->rows; r++)
        json_object_set_new(config, result_text(keys, r, 0),
                            json_pack("[o, o]", value_json(result_at(keys, r, 1)), value_json(result_at(keys, r, 2))));
    return json_pack("{s:o, s:o, s:o, s:o}", "a", side[0], "b", side[1], "config", config, "evals",
                     rows_json(&p->rows[COMPARE_LOSSES], 0));
}
