/* What the runs of a sweep are compared with, and which of them are asked for. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/base/listing.h"
#include "harness/results/groups_internal.h"
#include "harness/spec/spec.h"

int groups_check_key(const char *option, const char *key, struct error *err)
{
    if (strcmp(key, "variant") == 0 || config_key_find(key))
        return STATUS_OK;
    const char *near = config_key_nearest(key);
    return error_set(err, STATUS_BAD_INPUT, "%s: no key '%s'%s%s%s", option, key, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

/* The texts of a query's first column, "a, b, c", on the heap. */
static int texts(struct groups_made *made, const char *sql, const char *sweep, char **list, struct error *err)
{
    struct result_rows rows;
    int status = result_query(&rows, made->store, "the values there are", sql, sweep, err);
    *list = memory_string("");
    for (int r = 0; !status && r < rows.rows; r++) {
        char *longer = memory_format("%s%s%s", *list, r ? ", " : "", result_text(&rows, r, 0));
        free(*list);
        *list = longer;
    }
    if (!status)
        result_rows_fini(&rows);
    return status;
}

static int has_variant(struct groups_made *made, const char *sweep, const char *variant, bool *there, struct error *err)
{
    struct result_rows rows;
    char *name = result_quote(variant);
    char *sql = memory_format("SELECT 1 FROM sweep_run WHERE sweep = :sweep AND variant = %s LIMIT 1", name);
    int status = result_query(&rows, made->store, "the variants", sql, sweep, err);
    free(sql);
    free(name);
    if (!status) {
        *there = rows.rows > 0;
        result_rows_fini(&rows);
    }
    return status;
}

static int no_variant(struct groups_made *made, const char *sweep, const char *variant, struct error *err)
{
    char *list = NULL;
    int status =
        texts(made, "SELECT variant FROM sweep_run WHERE sweep = :sweep GROUP BY variant ORDER BY min(position)", sweep,
              &list, err);
    if (!status)
        status = error_set(err, STATUS_BAD_INPUT, "compare: sweep %s has no variant '%s'; it has %s", sweep, variant,
                           *list ? list : "no runs");
    free(list);
    return status;
}

/* VARIANT of this sweep, or SWEEP/VARIANT of any. */
static int take_named(struct groups_made *made, const char *name, struct error *err)
{
    bool there = false;
    const char *slash = strchr(name, '/');
    int status = has_variant(made, made->sweep, name, &there, err);
    if (!status && there) {
        made->baseline = memory_string(name);
        return STATUS_OK;
    }
    if (!status && !slash)
        return no_variant(made, made->sweep, name, err);
    char *sweep = memory_format("%.*s", slash ? (int)(slash - name) : 0, name);
    if (!status)
        status = has_variant(made, sweep, slash + 1, &there, err);
    if (!status && !there) {
        status = no_variant(made, sweep, slash + 1, err);
    } else if (!status) {
        bool own = strcmp(sweep, made->sweep) == 0;
        made->baseline = memory_string(own ? slash + 1 : name);
        made->other = own ? NULL : memory_string(sweep);
    }
    free(sweep);
    return status;
}

int groups_find_baseline(struct groups_made *made, struct error *err)
{
    struct result_rows row = {0};
    struct error none = {0};
    char said[2 * SPEC_NAME] = "";
    bool there = false;
    if (!made->sweep)
        return made->choice->compare ? error_set(err, STATUS_BAD_INPUT, "--compare: wants one sweep (--sweep NAME)")
                                     : STATUS_OK;
    if (made->choice->compare)
        return take_named(made, made->choice->compare, err);
    int status =
        result_query(&row, made->store, "the sweep", "SELECT spec FROM sweep WHERE name = :sweep", made->sweep, err);
    if (!status && row.rows > 0 && result_text(&row, 0, 0))
        spec_text_compare(result_text(&row, 0, 0), said, sizeof said);
    result_rows_fini(&row);
    if (!status && *said && take_named(made, said, &none) == STATUS_OK)
        return STATUS_OK; /* a sweep that is not in this home is no reason to show nothing */
    if (!status)
        status = has_variant(made, made->sweep, "baseline", &there, err);
    if (!status && there)
        made->baseline = memory_string("baseline");
    return status;
}

int groups_find_untapered(struct groups_made *made, struct error *err)
{
    struct result_rows row;
    int status = STATUS_OK;
    if (made->sweep && !made->baseline) {
        status =
            result_query(&row, made->store, "the untapered variant",
                         "SELECT variant FROM member WHERE own AND sites = 'none' AND lambda = 0 ORDER BY position "
                         "LIMIT 1",
                         NULL, err);
        if (status)
            return status;
        if (row.rows > 0)
            made->baseline = memory_string(result_text(&row, 0, 0));
        made->untapered = true;
        result_rows_fini(&row);
        return STATUS_OK;
    }
    if (!made->baseline)
        return STATUS_OK;
    char *name = result_quote(made->baseline);
    char *sql = memory_format("SELECT max(sites <> 'none' OR lambda > 0) FROM member WHERE variant = %s", name);
    status = result_query(&row, made->store, "the variant to compare with", sql, NULL, err);
    free(sql);
    free(name);
    if (!status) {
        made->untapered = result_number(&row, 0, 0) == 0;
        result_rows_fini(&row);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------- --where */

/* A value given as text, as SQL, the way the configuration would hold it. */
static int value_sql(const char *key, const char *value, char **sql, struct error *err)
{
    struct config cfg;
    config_init(&cfg);
    if (config_set(&cfg, key, value, err))
        return error_wrap(err, "--where");
    json_t *all = config_to_json(&cfg), *v = json_object_get(all, key);
    char number[32];
    if (json_is_string(v))
        *sql = result_quote(json_string_value(v));
    else if (json_is_boolean(v))
        *sql = memory_format("%d", json_is_true(v));
    else if (json_is_integer(v))
        *sql = memory_format("%lld", (long long)json_integer_value(v));
    else
        *sql = memory_string(format_real(number, json_number_value(v)));
    json_decref(all);
    return STATUS_OK;
}

static int column_of(const struct groups_made *made, const char *key)
{
    for (int i = 0; i < made->keys.count; i++)
        if (strcmp(made->keys.name[i], key) == 0)
            return i;
    return -1;
}

/* One key: any of the values it was given. An untapered run has no use for keys of the taper: it belongs to every value
 * of them, unless its variant was run at that one. */
static int put_where(FILE *out, const struct groups_made *made, int first, struct error *err)
{
    const struct result_choice *c = made->choice;
    size_t length = strcspn(c->where[first], "=");
    char *key = memory_format("%.*s", (int)length, c->where[first]), *list = memory_string("");
    bool variant = strcmp(key, "variant") == 0;
    int status = STATUS_OK;
    for (int i = first; !status && i < c->where_count; i++) {
        char *sql = NULL;
        if (strncmp(c->where[i], c->where[first], length + 1) != 0)
            continue;
        const char *value = c->where[i] + length + 1;
        if (variant)
            sql = result_quote(value);
        else
            status = value_sql(key, value, &sql, err);
        if (!status) {
            char *longer = memory_format("%s%s%s", list, *list ? ", " : "", sql);
            free(list);
            list = longer;
        }
        free(sql);
    }
    if (variant)
        fprintf(out, " AND variant IN (%s)", list);
    else if (result_key_is_taper(key))
        fprintf(out,
                " AND (k%d IN (%s) OR (sites = 'none' AND lambda = 0 AND variant NOT IN (SELECT variant FROM member "
                "WHERE k%d IN (%s))))",
                column_of(made, key), list, column_of(made, key), list);
    else
        fprintf(out, " AND k%d IN (%s)", column_of(made, key), list);
    free(list);
    free(key);
    return status;
}

static int nothing_left(struct groups_made *made, struct error *err)
{
    const struct result_choice *c = made->choice;
    char *key = memory_format("%.*s", (int)strcspn(c->where[0], "="), c->where[0]), *list = NULL;
    char column[32] = "variant";
    if (strcmp(key, "variant") != 0)
        snprintf(column, sizeof column, "k%d", column_of(made, key));
    char *sql = memory_format(
        "SELECT CAST(%s AS TEXT) FROM member WHERE own GROUP BY %s ORDER BY min(position) LIMIT 20", column, column);
    int status = texts(made, sql, NULL, &list, err);
    if (!status)
        status = error_set(err, STATUS_BAD_INPUT, "--where %s%s: no run of sweep %s has it; its values of %s: %s",
                           c->where[0], c->where_count > 1 ? " ..." : "", made->sweep ? made->sweep : "any", key, list);
    free(sql);
    free(list);
    free(key);
    return status;
}

/* Is this the first that was asked of its key? The others of the key are taken in with it. */
static bool first_of_key(const struct result_choice *c, int i)
{
    const size_t length = strcspn(c->where[i], "=") + 1;
    for (int k = 0; k < i; k++)
        if (strncmp(c->where[k], c->where[i], length) == 0)
            return false;
    return true;
}

int groups_filter(struct groups_made *made, struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    int status = STATUS_OK;
    FILE *out = open_memstream(&sql, &size);
    fputs("ALTER TABLE temp.member ADD COLUMN wanted INTEGER NOT NULL DEFAULT 1; ", out);
    if (made->choice->where_count > 0)
        fputs("UPDATE member SET wanted = 0; UPDATE member SET wanted = 1 WHERE own", out);
    for (int i = 0; !status && i < made->choice->where_count; i++)
        if (first_of_key(made->choice, i))
            status = put_where(out, made, i, err);
    fclose(out);
    if (!status)
        status = store_make_temporary(made->store, "--where", sql, err);
    free(sql);
    if (status || made->choice->where_count == 0)
        return status;
    struct result_rows any;
    status = result_query(&any, made->store, "--where", "SELECT 1 FROM member WHERE own AND wanted LIMIT 1", NULL, err);
    if (!status && any.rows == 0)
        status = nothing_left(made, err);
    result_rows_fini(&any);
    return status;
}
