/* run_shown: every run of the sweep that is shown, its group and the run it is compared with. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/base/listing.h"
#include "harness/results/groups_internal.h"

static bool listed(const char *const *list, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], key) == 0)
            return true;
    return false;
}

static bool is_by(const struct groups_made *m, int key)
{
    return listed(m->choice->by, m->choice->by_count, m->keys.name[key]);
}

static bool is_vary(const struct groups_made *m, int key)
{
    return listed(m->choice->vary, m->choice->vary_count, m->keys.name[key]);
}

/* Does the key stand in a table's columns and a figure's names? model.size has a column of its own. */
static bool is_named(const struct groups_made *m, int key)
{
    return m->shown[key] || is_by(m, key) || is_vary(m, key);
}

/* The run that another is compared with has the same seeds, is evaluated on a text of the same name (a pretraining on
 * another text is no match), and has the same value of these keys. Within a sweep they are the keys of the grid, since
 * a variant may set what it likes; a run of another sweep must agree in all. A baseline has no use for the taper's
 * keys. */
static void put_pair(FILE *out, const struct groups_made *m, bool taper_too)
{
    fputs("seeds || '|' || reads", out);
    for (int i = 0; i < m->keys.count; i++)
        if ((m->distinct[i] || m->other) && (taper_too || !result_key_is_taper(m->keys.name[i])))
            fprintf(out, " || '|' || k%d", i);
}

static int make_bases(struct groups_made *m, struct error *err)
{
    char *sql = NULL, *variant = result_quote(m->baseline);
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fputs("DROP TABLE IF EXISTS temp.base; CREATE TEMP TABLE base AS SELECT run, ", out);
    put_pair(out, m, true);
    fputs(" AS exact, ", out);
    put_pair(out, m, !m->untapered);
    fprintf(out, " AS loose FROM member WHERE variant = %s%s%s ORDER BY state <> 'done', position; ", variant,
            m->untapered ? " AND sites = 'none' AND lambda = 0" : "", m->other ? " AND NOT own" : "");
    fputs("CREATE INDEX temp.base_exact ON base (exact); CREATE INDEX temp.base_loose ON base (loose)", out);
    fclose(out);
    int status = store_make_temporary(m->store, "the runs to compare with", sql, err);
    free(sql);
    free(variant);
    return status;
}

/* The order of the groups, which numbers them: --by, the size, the other keys, the variants (the baseline, the paper's,
 * then as written), --vary. Numbers by their value, "20%" among them. */
static void put_order(FILE *out, const struct groups_made *m)
{
    fputs("ORDER BY ", out);
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < m->keys.count; i++) {
            int own = is_by(m, i) ? 0 : is_vary(m, i) ? 2 : 1;
            if (own == pass && is_named(m, i) && strcmp(m->keys.name[i], "model.size") != 0)
                fprintf(out, "m.k%d + 0.0, m.k%d, ", i, i);
        }
        if (pass == 0)
            fputs("m.d_model, m.layers, m.size, ", out);
        if (pass == 1)
            fputs("m.place, m.variant, ", out);
    }
    fputs("m.variant", out);
}

int groups_make_shown(struct groups_made *m, struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    int status = make_bases(m, err);
    if (status)
        return status;
    char *name = result_quote(m->baseline);
    char *is_base = memory_format("(variant IS %s%s)", name, m->untapered ? " AND sites = 'none' AND lambda = 0" : "");
    FILE *out = open_memstream(&sql, &size);
    fprintf(out,
            "DROP TABLE IF EXISTS temp.run_shown; CREATE TEMP TABLE run_shown AS WITH place AS (SELECT v.variant, "
            "coalesce(p.place, v.position + 6) AS place FROM (SELECT variant, min(position) AS position FROM member "
            "WHERE own GROUP BY variant) v LEFT JOIN paper_variant p ON p.variant = v.variant), paired AS (SELECT m.*, "
            "%s AS is_base, iif(%s, 0, place.place) AS place, iif(%s, NULL, coalesce((SELECT run FROM base WHERE exact "
            "= ",
            is_base, is_base, is_base);
    put_pair(out, m, true);
    fputs(" LIMIT 1), (SELECT run FROM base WHERE loose = ", out);
    put_pair(out, m, !m->untapered);
    fputs(" LIMIT 1))) AS baseline_run FROM member m JOIN place USING (variant) WHERE own AND wanted) "
          "SELECT m.sweep, m.variant, ",
          out);
    if (m->sweep) {
        fputs("dense_rank() OVER (", out);
        put_order(out, m);
        fputs(") - 1 AS grp, ", out);
    } else {
        fputs("0 AS grp, ", out);
    }
    for (int i = 0; i < m->keys.count; i++)
        if (!groups_is_seed(m->keys.name[i]))
            fprintf(out, "m.k%d AS \"%s\", ", i, m->keys.name[i]);
    fputs("m.place, m.position, m.run, m.seed, m.state, m.size, m.d_model, m.layers, m.sites, m.lambda, m.corpus, "
          "m.is_base, coalesce(r.config ->> '$.\"init.run\"', '') || coalesce(r.config ->> '$.\"init.from\"', '') <> "
          "'' AS "
          "tuned, r.params, r.steps, r.val_loss AS val_loss_raw, "
          "iif(m.state = 'done' AND typeof(r.val_loss) <> 'text', r.val_loss, NULL) AS val_loss, "
          "iif(typeof(r.fold_error) = 'text', NULL, r.fold_error) AS fold_error, m.baseline_run, "
          "iif(b.state = 'done' AND typeof(b.val_loss) <> 'text', b.val_loss, NULL) AS baseline_val_loss "
          "FROM paired m JOIN run r ON r.id = m.run LEFT JOIN run b ON b.id = m.baseline_run; "
          "CREATE INDEX temp.run_shown_grp ON run_shown (grp); CREATE INDEX temp.run_shown_run ON run_shown (run)",
          out);
    fclose(out);
    status = store_make_temporary(m->store, "the runs shown", sql, err);
    free(sql);
    free(is_base);
    free(name);
    return status;
}

/* --------------------------------------------------------------------------------------------- ablations */

/* The keys of the taper that an ablation turns, with a value's text and its place on the axis: percent of the run, the
 * shapes as configured, lambda itself. */
static const struct {
    const char *key, *value, *place;
} ablated[] = {
    {"gate.end",
     "iif(\"gate.end\" LIKE '%!%' ESCAPE '!', format('%g%%', rtrim(\"gate.end\", '%')), \"gate.end\" || '')",
     "iif(\"gate.end\" LIKE '%!%' ESCAPE '!', rtrim(\"gate.end\", '%') + 0.0, 100.0 * \"gate.end\" / steps)"},
    {"gate.shape", "\"gate.shape\"", "instr('cosine linear step constant', \"gate.shape\") + 0.0"},
    {"aux.lambda", "format('%g', \"aux.lambda\")", "\"aux.lambda\" + 0.0"},
};

/* The lines that a figure of it has: those of one name in all its panels are one line, numbered from 0. */
static const char ablation_line[] =
    "CREATE TEMP VIEW ablation_line AS WITH found AS (SELECT * FROM ablation), "
    "groups AS (SELECT DISTINCT key, rest, label, named, size FROM found), "
    "doubled AS (SELECT key, label, named, size, count(*) > 1 AS twice FROM groups GROUP BY key, label, named, size), "
    "line AS (SELECT a.*, a.label || a.named || iif((SELECT count(DISTINCT size) > 1 FROM found), ' ' || a.size, '') "
    "|| "
    "iif(d.twice, ' ' || dense_rank() OVER (PARTITION BY a.key, a.label, a.named, a.size ORDER BY a.rest), '') AS name "
    "FROM found a JOIN doubled d USING (key, label, named, size)) "
    "SELECT *, dense_rank() OVER (ORDER BY name) - 1 AS line FROM line";

/* The view ablation: tapered runs that differ in one of those keys and the seed alone, where it takes three values or
 * more. rest is what they share; a run that stands under two names counts once. And the view ablation_line. */
int groups_make_ablation(struct groups_made *m, struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fputs("CREATE TEMP VIEW ablation AS WITH keyed AS (SELECT NULL AS key, NULL AS value, NULL AS axis, NULL AS rest, "
          "NULL AS named, "
          "* FROM run_shown WHERE 0",
          out);
    for (size_t a = 0; m->sweep && a < sizeof ablated / sizeof ablated[0]; a++) {
        if (!groups_has_key(&m->keys, ablated[a].key))
            continue;
        fprintf(out, " UNION ALL SELECT '%s', %s, %s, ''", ablated[a].key, ablated[a].value, ablated[a].place);
        for (int i = 0; i < m->keys.count; i++)
            if (!groups_is_seed(m->keys.name[i]) && strcmp(m->keys.name[i], ablated[a].key) != 0)
                fprintf(out, " || '|' || \"%s\"", m->keys.name[i]);
        fputs(", ''", out);
        for (int i = 0; i < m->keys.count; i++)
            if (is_named(m, i) && !result_key_is_taper(m->keys.name[i]) && strcmp(m->keys.name[i], "model.size") != 0)
                fprintf(out, " || ', %s ' || \"%s\"", m->keys.name[i], m->keys.name[i]);
        fputs(", * FROM run_shown WHERE sites <> 'none'", out);
    }
    fputs("), axis AS (SELECT key, rest FROM keyed GROUP BY key, rest HAVING count(DISTINCT value) >= 3) "
          "SELECT k.key, k.value, min(k.grp) AS grp, min(k.variant) AS variant, k.run, k.size, k.d_model, k.seed, "
          "k.state, "
          "k.sites, k.lambda, k.val_loss, k.val_loss_raw, k.axis AS place, k.rest, "
          "k.named, k.sites || iif(k.key <> 'aux.lambda' AND k.lambda > 0, '+aux', '') AS label, k.baseline_run, "
          "max((k.val_loss - k.baseline_val_loss) / k.baseline_val_loss * 100) AS change, "
          "(SELECT logit_rms FROM step_last l WHERE l.run = k.run) AS logit_rms "
          "FROM keyed k JOIN axis USING (key, rest) GROUP BY k.key, k.rest, k.value, k.run; ",
          out);
    fputs(ablation_line, out);
    fclose(out);
    int status = store_make_temporary(m->store, "the ablations", sql, err);
    free(sql);
    return status;
}

/* --------------------------------------------------------------------------------------------- read back */

static char *value_text(const struct result_value *v)
{
    char number[32];
    return memory_string(v->type == RESULT_TEXT   ? v->text
                         : v->type == RESULT_NULL ? ""
                                                  : format_real(number, v->number));
}

/* Adds "key value" to a list. */
static void add_name(char **text, const char *key, const char *value)
{
    char *longer = strcmp(key, "model.size") == 0 ? memory_format("%s%s%s", *text, **text ? ", " : "", value)
                                                  : memory_format("%s%s%s %s", *text, **text ? ", " : "", key, value);
    free(*text);
    *text = longer;
}

/* Panels are for the keys of the grid, lines for the variants; a sweep of one variant has its lines from its last key.
 */
static void name_group(struct result_group *g, const struct groups_made *m, const struct result_rows *rows, int r,
                       bool one_variant, bool sizes)
{
    int last = -1;
    bool by_variant = listed(m->choice->by, m->choice->by_count, "variant");
    bool chosen = m->choice->by_count + m->choice->vary_count > 0;
    for (int i = 0; i < m->keys.count; i++)
        if (is_named(m, i) && strcmp(m->keys.name[i], "model.size") != 0)
            last = i;
    g->panel = memory_string("");
    g->line = memory_string(one_variant && last >= 0 && (!chosen || m->choice->vary_count > 0) ? "" : g->variant);
    if (by_variant)
        add_name(&g->panel, "model.size", g->variant);
    if (sizes && !groups_has_key(&m->keys, "model.size"))
        add_name(&g->panel, "model.size", g->size);
    for (int i = 0; i < m->keys.count; i++) {
        bool lines =
            is_vary(m, i) || (m->choice->by_count > 0 && !is_by(m, i)) || (!chosen && one_variant && i == last);
        char *value = value_text(result_at(rows, r, 6 + i));
        if (is_named(m, i))
            add_name(lines ? &g->line : &g->panel, m->keys.name[i], value);
        free(value);
    }
    if (!*g->panel)
        add_name(&g->panel, "model.size", g->size);
    if (!*g->line)
        add_name(&g->line, "model.size", g->variant);
}

static void read_group(struct result_group *g, const struct result_groups *out, const struct groups_made *m,
                       const struct result_rows *rows, int r)
{
    g->variant = memory_string(result_text(rows, r, 1));
    g->size = memory_string(result_text(rows, r, 2) ? result_text(rows, r, 2) : "");
    g->baseline = result_number(rows, r, 3) > 0;
    g->tapered = result_number(rows, r, 4) > 0;
    g->runs = (int)result_number(rows, r, 5);
    g->values = memory_alloc((size_t)out->key_count + 1, sizeof *g->values);
    for (int i = 0, k = 0; i < m->keys.count; i++)
        if (k < out->key_count && strcmp(out->keys[k], m->keys.name[i]) == 0)
            g->values[k++] = value_text(result_at(rows, r, 6 + i));
}

/* The table group_name: what a figure calls a group that has a panel of its own. */
static int name_groups(const struct result_groups *g, struct store *s, struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fputs("DROP TABLE IF EXISTS temp.group_name; CREATE TEMP TABLE group_name (grp INTEGER PRIMARY KEY, name TEXT)",
          out);
    for (int i = 0; i < g->count; i++) {
        char *name = memory_format("%s, %s", g->group[i].panel, g->group[i].line), *quoted = result_quote(name);
        fprintf(out, "%s(%d, %s)", i % 500 ? ", " : "; INSERT INTO group_name VALUES ", i, quoted);
        free(quoted);
        free(name);
    }
    fclose(out);
    int status = store_make_temporary(s, "the names of the groups", sql, err);
    free(sql);
    return status;
}

int groups_read(struct result_groups *out, struct groups_made *m, struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    struct result_rows rows;
    bool one_variant = true, sizes = false;
    if (!m->sweep)
        return STATUS_OK;
    FILE *memory = open_memstream(&sql, &size);
    fputs("SELECT grp, variant, size, max(is_base), max(sites <> 'none'), count(*)", memory);
    for (int i = 0; i < m->keys.count; i++)
        fprintf(memory, ", \"%s\"", m->keys.name[i]);
    fputs(" FROM run_shown GROUP BY grp ORDER BY grp", memory);
    fclose(memory);
    int status = result_query(&rows, m->store, "the groups", sql, NULL, err);
    free(sql);
    if (status)
        return status;
    out->keys = memory_alloc((size_t)m->keys.count + 1, sizeof *out->keys);
    for (int i = 0; i < m->keys.count; i++)
        if (is_named(m, i) && strcmp(m->keys.name[i], "model.size") != 0)
            out->keys[out->key_count++] = memory_string(m->keys.name[i]);
    out->group = memory_alloc((size_t)rows.rows + 1, sizeof *out->group);
    out->count = rows.rows;
    for (int r = 0; r < rows.rows; r++) {
        read_group(&out->group[r], out, m, &rows, r);
        one_variant &= strcmp(out->group[r].variant, out->group[0].variant) == 0;
        sizes |= strcmp(out->group[r].size, out->group[0].size) != 0;
    }
    for (int r = 0; r < rows.rows; r++)
        name_group(&out->group[r], m, &rows, r, one_variant, sizes);
    result_rows_fini(&rows);
    return name_groups(out, m->store, err);
}
