#include "harness/results/result_groups.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/results/groups_internal.h"

/* What does not tell configurations apart. */
static const char *const seeds[] = {"seed", "seed.weights", "seed.data", NULL};

bool result_key_is_taper(const char *key)
{
    return strncmp(key, "taper.", 6) == 0 || strncmp(key, "gate.", 5) == 0 || strncmp(key, "aux.", 4) == 0;
}

bool groups_is_seed(const char *key)
{
    for (int i = 0; seeds[i]; i++)
        if (strcmp(seeds[i], key) == 0)
            return true;
    return false;
}

/* --------------------------------------------------------------------------------------------- the keys */

bool groups_has_key(const struct groups_keys *keys, const char *name)
{
    for (int i = 0; i < keys->count; i++)
        if (strcmp(keys->name[i], name) == 0)
            return true;
    return false;
}

static void add_key(struct groups_keys *keys, const char *name)
{
    if (!groups_has_key(keys, name))
        keys->name[keys->count++] = name;
}

/* A key of a run as SQL: the grid point's own value before the configuration's, and the default for a run of a program
 * that did not have the key yet. */
static void put_value(FILE *sql, const struct groups_made *made, const struct config_key *key)
{
    bool number = key->type == CONFIG_INT || key->type == CONFIG_REAL, automatic = strcmp(key->fallback, "auto") == 0;
    if (strcmp(key->name, "init.digest") == 0) { /* of what another seed begins with: the same stage, of that seed */
        fputs("iif(r.config ->> '$.\"init.run\"' <> '', 'run:' || (r.config ->> '$.\"init.run\"'), "
              "coalesce(r.config ->> '$.\"init.digest\"', ''))",
              sql);
        return;
    }
    fputs("coalesce(", sql);
    if (made->has_point)
        fprintf(sql, "m.point ->> '$.\"%s\"', ", key->name);
    fprintf(sql, "r.config ->> '$.\"%s\"', ", key->name);
    if (key->type == CONFIG_BOOL)
        fprintf(sql, "%d)", strcmp(key->fallback, "true") == 0);
    else if (number)
        fprintf(sql, "%s)", automatic ? "0" : key->fallback);
    else
        fprintf(sql, "'%s')", key->fallback);
}

/* essence: the distinct configurations of the chosen runs, seeds left out. Few among many runs, as a rule. */
static int make_essence(struct groups_made *made, struct error *err)
{
    static const char without[] = "'$.seed', '$.\"seed.weights\"', '$.\"seed.data\"'";
    char *sql = memory_format("DROP TABLE IF EXISTS temp.essence; CREATE TEMP TABLE essence AS SELECT DISTINCT "
                              "json_remove(r.config, %s) AS config%s%s%s FROM chosen m JOIN run r ON r.id = m.run",
                              without, made->has_point ? ", json_remove(m.point, " : "", made->has_point ? without : "",
                              made->has_point ? ") AS point" : "");
    int status = store_make_temporary(made->store, "the distinct configurations", sql, err);
    free(sql);
    return status;
}

/* The keys in which the chosen runs differ: each compared with the first one's, in one pass. model.size first, since
 * the others of a preset follow from it. */
static int differing_keys(struct groups_made *made, struct error *err)
{
    int all, n = 0, status;
    const struct config_key *keys = config_keys(&all), *asked[CONFIG_KEYS_MOST];
    char *sql = NULL;
    size_t size = 0;
    struct result_rows row;
    for (int i = 0; i < all; i++)
        if (strcmp(keys[i].name, "model.size") == 0 ||
            ((keys[i].effect & CONFIG_RESULT) && !groups_is_seed(keys[i].name)))
            asked[n++] = &keys[i];
    FILE *out = open_memstream(&sql, &size);
    fputs("WITH first AS MATERIALIZED (SELECT ", out);
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        put_value(out, made, asked[i]);
        fprintf(out, " AS f%d", i);
    }
    fputs(" FROM essence m JOIN essence r ON r.rowid = m.rowid LIMIT 1) SELECT ", out);
    for (int i = 0; i < n; i++) {
        fputs(i ? ", max(" : "max(", out);
        put_value(out, made, asked[i]);
        fprintf(out, " IS NOT f%d)", i);
    }
    fputs(" FROM first CROSS JOIN essence m JOIN essence r ON r.rowid = m.rowid", out);
    fclose(out);
    status = result_query(&row, made->store, "the keys that differ", sql, NULL, err);
    free(sql);
    for (int i = 0; !status && i < n; i++)
        if (result_number(&row, 0, i) > 0)
            add_key(&made->keys, asked[i]->name);
    if (!status)
        result_rows_fini(&row);
    return status;
}

/* --------------------------------------------------------------------------------------------- the runs chosen */

static int has_point(struct groups_made *made, struct error *err)
{
    struct result_rows rows;
    int status = result_query(&rows, made->store, "the columns of sweep_run",
                              "SELECT 1 FROM pragma_table_info('sweep_run') WHERE name = 'point'", NULL, err);
    if (!status) {
        made->has_point = rows.rows > 0;
        result_rows_fini(&rows);
    }
    return status;
}

/* chosen: the sweep's runs, and of another sweep those to compare with, as variant SWEEP/VARIANT. */
static int choose(struct groups_made *made, struct error *err)
{
    const char *point = made->has_point ? ", point" : "";
    char *sweep = result_quote(made->sweep), *other = result_quote(made->other), *name = result_quote(made->baseline);
    char *variant = result_quote(made->other ? made->baseline + strlen(made->other) + 1 : NULL);
    char *sql =
        memory_format("DROP TABLE IF EXISTS temp.chosen; CREATE TEMP TABLE chosen AS SELECT sweep, variant, "
                      "position, run, 1 AS own%s FROM sweep_run WHERE %s IS NULL OR sweep = %s UNION ALL SELECT "
                      "sweep, %s, position, run, 0%s FROM sweep_run WHERE sweep = %s AND variant = %s",
                      point, sweep, sweep, name, point, other, variant);
    int status = store_make_temporary(made->store, "the runs of the sweep", sql, err);
    for (int i = 0; !status && i < made->choice->also_count; i++) {
        char *also = result_quote(made->choice->also[i]);
        free(sql);
        sql = memory_format("INSERT INTO temp.chosen SELECT sweep, sweep || '/' || variant, "
                            "position + (SELECT 1 + max(position) FROM temp.chosen), run, 1%s FROM sweep_run "
                            "WHERE sweep = %s",
                            point, also);
        status = store_make_temporary(made->store, "the runs of another sweep", sql, err);
        free(also);
    }
    free(sweep);
    free(other);
    free(name);
    free(variant);
    free(sql);
    return status;
}

/* member: what the groups are told apart by, a row a run; k0, k1 ...: made->keys. */
static int make_members(struct groups_made *made, struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fputs("DROP TABLE IF EXISTS temp.member; CREATE TEMP TABLE member AS SELECT m.sweep, m.variant, m.position, m.run, "
          "m.own, r.seed, r.state, r.seed || ',' || coalesce(r.config ->> '$.\"seed.weights\"', '') || ',' || "
          "coalesce(r.config ->> '$.\"seed.data\"', '') AS seeds, r.config ->> '$.\"model.size\"' AS size, "
          "r.config ->> '$.\"model.d_model\"' AS d_model, r.config ->> '$.\"model.layers\"' AS layers, "
          "r.config ->> '$.\"taper.sites\"' AS sites, r.config ->> '$.\"aux.lambda\"' AS lambda, "
          "r.config ->> '$.\"data.corpus\"' AS corpus, iif(r.config ->> '$.\"data.valid\"' LIKE '/%', "
          "r.config ->> '$.\"data.valid\"', r.config ->> '$.\"data.corpus\"') AS reads",
          out);
    for (int i = 0; i < made->keys.count; i++) {
        fputs(", ", out);
        put_value(out, made, config_key_find(made->keys.name[i]));
        fprintf(out, " AS k%d", i);
    }
    fputs(" FROM chosen m JOIN run_shown_state r ON r.id = m.run", out);
    fclose(out);
    int status = store_make_temporary(made->store, "the keys of the runs", sql, err);
    free(sql);
    return status;
}

/* Which of the keys differ within a variant, less those that follow from the ones before: `out` says of each key. */
static int independent_keys(struct groups_made *made, const char *from, bool *out, struct error *err)
{
    char *kept = memory_string("variant");
    long long before = 0;
    int status = STATUS_OK;
    for (int i = -1; !status && i < made->keys.count; i++) {
        struct result_rows count;
        char *list = i < 0 ? memory_string(kept) : memory_format("%s, k%d", kept, i);
        char *sql = memory_format("SELECT count(*) FROM (SELECT DISTINCT %s FROM %s)", list, from);
        status = result_query(&count, made->store, "the configurations", sql, NULL, err);
        free(sql);
        long long found = status ? 0 : (long long)result_number(&count, 0, 0);
        if (!status)
            result_rows_fini(&count);
        bool tells = found > before && (i < 0 || !groups_is_seed(made->keys.name[i]));
        if (i >= 0)
            out[i] = tells;
        if (tells) {
            before = found;
            free(kept);
            kept = list;
        } else {
            free(list);
        }
    }
    free(kept);
    return status;
}

/* --------------------------------------------------------------------------------------------- all of it */

static int take_choice(struct groups_made *made, struct error *err)
{
    const struct result_choice *c = made->choice;
    int status = STATUS_OK;
    for (int i = 0; !status && i < c->by_count + c->vary_count; i++) {
        const char *key = i < c->by_count ? c->by[i] : c->vary[i - c->by_count];
        status = groups_check_key(i < c->by_count ? "--by" : "--vary", key, err);
        if (!status && strcmp(key, "variant") != 0)
            add_key(&made->keys, config_key_find(key)->name);
    }
    for (int i = 0; !status && i < c->where_count; i++) {
        char *key = memory_string(c->where[i]);
        key[strcspn(key, "=")] = '\0';
        status = strchr(c->where[i], '=') ? groups_check_key("--where", key, err)
                                          : error_set(err, STATUS_BAD_INPUT, "--where: want KEY=VALUE, got '%s'", key);
        if (!status && strcmp(key, "variant") != 0)
            add_key(&made->keys, config_key_find(key)->name);
        free(key);
    }
    return status;
}

static int make_tables(struct groups_made *made, struct error *err)
{
    int status = has_point(made, err);
    if (!status)
        status = groups_find_baseline(made, err);
    if (!status)
        status = choose(made, err);
    if (!status && made->sweep)
        status = make_essence(made, err);
    if (!status && made->sweep)
        status = differing_keys(made, err);
    if (!status)
        status = take_choice(made, err);
    if (!status)
        status = make_members(made, err);
    if (!status)
        status = groups_find_untapered(made, err);
    made->distinct = memory_alloc((size_t)made->keys.count + 1, sizeof *made->distinct);
    made->shown = memory_alloc((size_t)made->keys.count + 1, sizeof *made->shown);
    if (!status)
        status = independent_keys(made, "member WHERE own", made->distinct, err);
    if (!status)
        status = groups_filter(made, err);
    if (!status)
        status = independent_keys(made, "member WHERE own AND wanted", made->shown, err);
    if (!status)
        status = groups_make_shown(made, err);
    if (!status)
        status =
            store_make_temporary(made->store, "results/groups.sql", embedded_find("results/groups.sql")->text, err);
    if (!status)
        status = groups_make_ablation(made, err);
    return status;
}

int result_groups_make(struct result_groups *out, struct store *s, const char *sweep,
                       const struct result_choice *choice, struct error *err)
{
    struct groups_made made = {.store = s, .sweep = sweep, .choice = choice};
    *out = (struct result_groups){.sweep = sweep ? memory_string(sweep) : NULL};
    int status = make_tables(&made, err);
    if (!status)
        status = groups_read(out, &made, err);
    out->baseline = made.baseline ? memory_string(made.baseline) : NULL;
    free(made.baseline);
    free(made.other);
    free(made.distinct);
    free(made.shown);
    if (status)
        result_groups_fini(out);
    return status;
}

bool result_groups_sizes_differ(const struct result_groups *g)
{
    for (int i = 1; i < g->count; i++)
        if (strcmp(g->group[i].size, g->group[0].size) != 0)
            return true;
    return false;
}

void result_groups_fini(struct result_groups *g)
{
    for (int i = 0; i < g->count; i++) {
        for (int k = 0; k < g->key_count; k++)
            free(g->group[i].values[k]);
        free(g->group[i].values);
        free(g->group[i].variant);
        free(g->group[i].size);
        free(g->group[i].panel);
        free(g->group[i].line);
    }
    for (int k = 0; k < g->key_count; k++)
        free(g->keys[k]);
    free(g->keys);
    free(g->group);
    free(g->sweep);
    free(g->baseline);
    *g = (struct result_groups){0};
}

char *result_group_name(const struct result_groups *g, int group)
{
    char *name = memory_string(g->group[group].variant);
    for (int k = 0; k < g->key_count; k++) {
        char *longer = memory_format("%s, %s %s", name, g->keys[k], g->group[group].values[k]);
        free(name);
        name = longer;
    }
    return name;
}
