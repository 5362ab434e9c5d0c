#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/base/listing.h"
#include "harness/base/options.h"
#include "harness/base/terminal.h"
#include "harness/results/result_rows.h"
#include "harness/store/store.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"

/* What is compared: on the left and on the right. */
struct pair {
    struct store *store;
    struct store_run run[2];
    struct result_rows rows[3]; /* facts, keys, losses: name or step first, then a value of each */
};

enum { FACTS, KEYS, LOSSES };

/* :a and :b stand for quoted ids. */
static char *fill_in(const char *sql, const struct pair *p)
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

static int read_rows(struct pair *p, int which, const char *name, const char *sql, struct error *err)
{
    char *text = fill_in(sql, p);
    int status = result_query(&p->rows[which], p->store, name, text, NULL, err);
    free(text);
    return status;
}

static int read_pair(struct pair *p, struct error *err)
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
    int status = read_rows(p, FACTS, "the two runs", facts, err);
    if (!status)
        status = read_rows(p, KEYS, "the keys that differ", keys, err);
    if (!status)
        status = read_rows(p, LOSSES, "the evaluations", losses, err);
    return status;
}

/* Of two losses the second against the first. */
static void put_change(struct listing *t, const struct result_value *a, const struct result_value *b)
{
    char text[32];
    double change = 100 * (b->number - a->number) / a->number;
    if (isfinite(change))
        snprintf(text, sizeof text, "%+.2f %%", change);
    listing_text(t, isfinite(change) ? text : NULL);
}

static int print_part(const struct pair *p, int which, const char *first, const char *const names[2], struct error *err)
{
    const struct result_rows *rows = &p->rows[which];
    const char *const columns[] = {first, names[0], names[1], "change"};
    struct listing *t = listing_begin(stdout, LISTING_TEXT, columns, which == KEYS ? 3 : 4);
    listing_fit(t, terminal_of(STDOUT_FILENO).columns);
    for (int r = 0; r < rows->rows; r++) {
        int last = rows->columns - 1;
        const struct result_value *a = result_at(rows, r, last - 1), *b = result_at(rows, r, last);
        const char *what = result_text(rows, r, last - 2);
        char *head = which == LOSSES ? memory_format("%.0f %s", result_number(rows, r, 0), what) : memory_string(what);
        listing_text(t, head);
        result_verb_put(t, a);
        result_verb_put(t, b);
        if (which == LOSSES || (which == FACTS && strstr(head, "loss")))
            put_change(t, a, b);
        else if (which == FACTS)
            listing_null(t);
        free(head);
    }
    return listing_end(t, err);
}

static int print_text(const struct pair *p, struct error *err)
{
    char *name[2];
    for (int i = 0; i < 2; i++)
        name[i] = memory_format("%s/%s/%lld", p->run[i].sweep, p->run[i].variant, (long long)p->run[i].seed);
    const char *const names[] = {name[0], name[1]};
    int status = print_part(p, FACTS, "", names, err);
    puts(p->rows[KEYS].rows ? "" : "\nno key of the configuration differs");
    if (!status && p->rows[KEYS].rows)
        status = print_part(p, KEYS, "key", names, err);
    if (!status && p->rows[LOSSES].rows) {
        puts("");
        status = print_part(p, LOSSES, "loss at step", names, err);
    }
    free(name[0]);
    free(name[1]);
    return status;
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

static void print_json(const struct pair *p)
{
    json_t *side[2] = {json_object(), json_object()}, *config = json_object();
    const struct result_rows *facts = &p->rows[FACTS], *keys = &p->rows[KEYS];
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
    json_t *all = json_pack("{s:o, s:o, s:o, s:o}", "a", side[0], "b", side[1], "config", config, "evals",
                            rows_json(&p->rows[LOSSES], 0));
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(all);
}

static int compare_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool as_json = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "json", .flag = &as_json}, {0}};
    struct home home = {0};
    struct pair p = {0};
    int operands, status = options_parse(&cmd_compare, specs, argc, argv, &operands, err);
    if (!status && operands != 2)
        status = command_usage(&cmd_compare, err, "wants two runs");
    if (!status)
        status = home_init_reader(&home, given, err);
    if (!status)
        status = store_open(&p.store, &home, STORE_READ, err);
    for (int i = 0; i < 2 && !status; i++)
        status = store_run_find(p.store, argv[1 + i], &p.run[i], err);
    if (!status)
        status = read_pair(&p, err);
    if (!status && as_json)
        print_json(&p);
    else if (!status)
        status = print_text(&p, err);
    for (int i = 0; i < 3; i++)
        result_rows_fini(&p.rows[i]);
    store_close(p.store);
    home_fini(&home);
    return status;
}

static const struct option_row compare_options[] = {
    {"json", 0, NULL, "the same as JSON"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_compare = {
    .name = "compare",
    .operands = "RUN RUN",
    .brief = "two runs side by side: the keys that differ, and the losses",
    .about = "RUN is an id, as much of its beginning as no other run has, or SWEEP/VARIANT/SEED. A change is that of "
             "the second\n"
             "run against the first. Works without a daemon too.\n",
    .options = compare_options,
    .exec = compare_exec,
};
