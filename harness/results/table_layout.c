#include "harness/results/table_layout.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

static const char *const kinds[] = {"text", "number", "time",  "duration", "mean", "change",
                                    "max",  "ratio",  "count", "notes",    NULL};
static const char *const styles[] = {"plain", "percent", "times", "exponent", NULL};

static int word(const char *const *words, const char *given)
{
    for (int i = 0; words[i]; i++)
        if (given && strcmp(words[i], given) == 0)
            return i;
    return -1;
}

/* The texts of a list of texts, in an array of the caller. */
static bool texts(const json_t *list, const char ***out, int *count)
{
    size_t i;
    const json_t *item;
    *out = memory_alloc(json_array_size(list) + 1, sizeof **out);
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return false;
        (*out)[(*count)++] = json_string_value(item);
    }
    return !list || json_is_array(list);
}

static int read_column(struct layout_column *c, json_t *item, const char *name, struct error *err)
{
    const char *kind = NULL, *style = "plain";
    json_error_t why;
    c->digits = 4;
    if (json_unpack_ex(item, &why, JSON_STRICT, "{s:s, s:s, s:s, s?s, s?s, s?s, s?s, s?i}", "name", &c->name, "head",
                       &c->head, "kind", &kind, "value", &c->value, "of", &c->of, "pair", &c->pair, "style", &style,
                       "digits", &c->digits) != 0)
        return error_set(err, STATUS_FAILED, "%s: a column: %s", name, why.text);
    if (!c->value)
        c->value = c->name;
    int k = word(kinds, kind), s = word(styles, style);
    if (k < 0 || s < 0 || c->digits < 0 || c->digits > 15)
        return error_set(err, STATUS_FAILED, "%s: column %s: unknown kind '%s', style '%s', or digits not in 0..15",
                         name, c->name, kind, style);
    if (k == COLUMN_RATIO && !c->of)
        return error_set(err, STATUS_FAILED, "%s: column %s: a ratio wants 'of'", name, c->name);
    c->kind = (enum column_kind)k;
    c->style = (enum column_style)s;
    return STATUS_OK;
}

static bool read_once(struct table_layout *out, const json_t *list)
{
    size_t i;
    json_t *item;
    out->once_labels = memory_alloc(json_array_size(list) + 1, sizeof *out->once_labels);
    out->once_columns = memory_alloc(json_array_size(list) + 1, sizeof *out->once_columns);
    json_array_foreach(list, i, item)
    {
        if (json_unpack(item, "[ss!]", &out->once_labels[i], &out->once_columns[i]) != 0)
            return false;
        out->once_count++;
    }
    return true;
}

int table_layout_load(struct table_layout *out, const char *id, const char *name, const char *text, struct error *err)
{
    json_error_t why;
    json_t *keys = NULL, *columns = NULL, *notes = NULL, *once = NULL, *item;
    int all = 0, status = STATUS_OK;
    size_t i;
    *out = (struct table_layout){.id = id, .json = json_loads(text, JSON_REJECT_DUPLICATES, &why)};
    if (!out->json)
        return error_set(err, STATUS_FAILED, "%s:%d:%d: %s", name, why.line, why.column, why.text);
    if (json_unpack_ex(out->json, &why, JSON_STRICT, "{s:s, s?s, s?s, s:s, s:o, s:o, s?o, s?o, s?b}", "title",
                       &out->title, "query", &out->query, "kind", &out->bind, "empty", &out->empty, "key", &keys,
                       "columns", &columns, "notes", &notes, "once", &once, "all", &all) != 0)
        status = error_set(err, STATUS_FAILED, "%s: %s", name, why.text);
    if (!status && (!texts(keys, &out->keys, &out->key_count) || !texts(notes, &out->notes, &out->note_count) ||
                    !read_once(out, once) || !json_is_array(columns)))
        status =
            error_set(err, STATUS_FAILED, "%s: want lists of texts in key and notes, pairs in once, columns", name);
    out->all = all;
    if (!status) {
        out->columns = memory_alloc(json_array_size(columns), sizeof *out->columns);
        for (i = 0; !status && (item = json_array_get(columns, i)); i++)
            status = read_column(&out->columns[out->column_count++], item, name, err);
    }
    if (status)
        table_layout_fini(out);
    return status;
}

void table_layout_add_keys(struct table_layout *layout, char *const *keys, int count)
{
    int at = 0;
    for (int i = 0; i < layout->column_count; i++)
        if (strcmp(layout->columns[i].name, "size") == 0)
            at = i + 1;
    layout->columns =
        memory_resize(layout->columns, (size_t)(layout->column_count + count) + 1, sizeof *layout->columns);
    memmove(layout->columns + at + count, layout->columns + at,
            (size_t)(layout->column_count - at) * sizeof *layout->columns);
    for (int k = 0; k < count; k++)
        layout->columns[at + k] = (struct layout_column){
            .name = keys[k], .head = keys[k], .value = "grp", .kind = COLUMN_TEXT, .group_key = k + 1};
    layout->column_count += count;
}

void table_layout_fini(struct table_layout *layout)
{
    free(layout->keys);
    free(layout->notes);
    free(layout->once_labels);
    free(layout->once_columns);
    free(layout->columns);
    json_decref(layout->json);
    *layout = (struct table_layout){0};
}
