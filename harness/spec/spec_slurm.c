#include "harness/spec/spec_slurm.h"

#include <stdlib.h>
#include <string.h>

#include "harness/spec/spec_internal.h"

enum { LIST_MOST = 64, TEXT_MOST = 4096, COUNT_MOST = 65536 };

static const struct spec_slurm_option options[] = {
    {"partition", SLURM_WORD, "partition"},
    {"account", SLURM_WORD, "account"},
    {"qos", SLURM_WORD, "qos"},
    {"time", SLURM_DURATION, "time"},
    {"mem", SLURM_MEMORY, "mem"},
    {"cpus", SLURM_COUNT, "cpus-per-task"},
    {"gpus", SLURM_COUNT, "gpus"},
    {"gres", SLURM_WORD, "gres"},
    {"constraint", SLURM_WORD, "constraint"},
    {"exclude", SLURM_WORD, "exclude"},
    {"nodelist", SLURM_WORD, "nodelist"},
    {"reservation", SLURM_WORD, "reservation"},
    {"extra", SLURM_EXTRA, NULL},
    {"modules", SLURM_WORDS, NULL},
    {"before", SLURM_LINES, NULL},
};

enum { OPTIONS = sizeof options / sizeof options[0] };

const struct spec_slurm_option *spec_slurm_option_at(size_t i)
{
    return i < OPTIONS ? &options[i] : NULL;
}

static bool has_control(const char *text, bool blanks_too)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p < ' ' || *p == 127 || (blanks_too && *p == ' '))
            return true;
    return false;
}

/* "8G", "500M", "4096": digits and a unit. */
static bool is_memory(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 12 && (!text[digits] || (strchr("KMGT", text[digits]) && !text[digits + 1]));
}

/* What a job's life hangs on is ours to say, abbreviated too. */
static const char *is_ours(const char *word)
{
    static const char *const ours[] = {"hold",      "parsable",  "requeue", "no-requeue", "job-name", "signal",
                                       "chdir",     "output",    "error",   "array",      "wrap",     "wait",
                                       "test-only", "open-mode", "ntasks",  "nodes",      "clusters", NULL};
    size_t length = strcspn(word + 2, "=");
    for (int i = 0; ours[i]; i++)
        if (strncmp(word + 2, ours[i], length) == 0)
            return ours[i];
    return NULL;
}

/* The fault of one text, or none. */
static bool check_text(struct spec_parse *p, const struct spec_slurm_option *o, const yaml_node_t *node,
                       const char *text)
{
    const bool lines = o->kind == SLURM_LINES;
    if (!*text || strlen(text) > TEXT_MOST || has_control(text, !lines && o->kind != SLURM_EXTRA)) {
        yaml_fault_at(&p->reader, node, "slurm: %s: want %s of at most %d bytes, got '%.80s'", o->name,
                      lines ? "a line" : "a word without blanks", TEXT_MOST, text);
        return false;
    }
    if (o->kind == SLURM_MEMORY && !is_memory(text)) {
        yaml_fault_at(&p->reader, node, "slurm: mem: want a size such as 8G or 500M, got '%.80s'", text);
        return false;
    }
    if (o->kind != SLURM_EXTRA)
        return true;
    if (strncmp(text, "--", 2) != 0 || !text[2]) {
        yaml_fault_at(&p->reader, node, "slurm: extra: want options of sbatch such as --exclusive, got '%.80s'", text);
        return false;
    }
    if (is_ours(text)) {
        yaml_fault_at(&p->reader, node, "slurm: extra: --%s is set by taper itself", is_ours(text));
        return false;
    }
    return true;
}

static json_t *read_list(struct spec_parse *p, const struct spec_slurm_option *o, const yaml_node_t *node)
{
    const bool single = node->type == YAML_SCALAR_NODE;
    const int items = single ? 1 : node->type == YAML_SEQUENCE_NODE ? yaml_items(node) : 0;
    json_t *list = json_array();
    if (items < 1 || items > LIST_MOST)
        yaml_fault_at(&p->reader, node, "slurm: %s: want a text or a list of 1 to %d texts", o->name, LIST_MOST);
    for (int i = 0; i < items && i < LIST_MOST; i++) {
        const yaml_node_t *item = single ? node : yaml_item(&p->reader, node, i);
        const char *text = yaml_scalar(&p->reader, item, o->name);
        if (text && check_text(p, o, item, text))
            json_array_append_new(list, json_string(text));
    }
    return list;
}

/* NULL after a fault. */
static json_t *read_option(struct spec_parse *p, const struct spec_slurm_option *o, const yaml_node_t *node)
{
    int64_t number;
    if (o->kind == SLURM_WORDS || o->kind == SLURM_EXTRA || o->kind == SLURM_LINES)
        return read_list(p, o, node);
    if (o->kind == SLURM_COUNT)
        return spec_read_integer(p, o->name, node, 1, COUNT_MOST, &number) ? json_integer(number) : NULL;
    const char *text = yaml_scalar(&p->reader, node, o->name);
    if (!text)
        return NULL;
    if (o->kind != SLURM_DURATION)
        return check_text(p, o, node, text) ? json_string(text) : NULL;
    if (spec_duration(text, &number)) {
        yaml_fault_at(&p->reader, node, "slurm: time: want a length of time such as 12h, 30m or 1h30m, got '%.80s'",
                      text);
        return NULL;
    }
    return json_integer(number / 1000000);
}

void spec_read_slurm(struct spec_parse *p, const yaml_node_t *node)
{
    const char *words[OPTIONS + 1] = {NULL};
    struct yaml_map map;
    json_t *object = json_object();
    for (int i = 0; i < OPTIONS; i++)
        words[i] = options[i].name;
    yaml_flatten(&p->reader, node, "slurm: want a mapping of partition, account, time, mem, cpus, gpus ...", 3, &map);
    for (int i = 0; i < map.count; i++) {
        int o = 0;
        while (o < OPTIONS && strcmp(options[o].name, map.entries[i].key) != 0)
            o++;
        if (o == OPTIONS)
            yaml_unknown_key(&p->reader, &map.entries[i], "slurm", words);
        else
            json_object_set_new(object, options[o].name, read_option(p, &options[o], map.entries[i].value));
    }
    if (json_object_get(object, "gpus") && json_object_get(object, "gres"))
        yaml_fault_at(&p->reader, node, "slurm: gpus and gres both say which GPUs: want one of them");
    free(map.entries);
    free(p->spec->slurm);
    p->spec->slurm = json_object_size(object) ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(object);
}
