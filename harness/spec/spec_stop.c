/* `stop` of a search: at which steps its runs are compared, and which of them go on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/spec/spec_internal.h"

enum { KEEP_MOST = 1000 };

/* The policies, in the order of enum spec_policy. */
static const char *const policies[] = {"none", "halving", "median", NULL};

static void read_policy(struct spec_parse *p, const yaml_node_t *node)
{
    const char *text = yaml_scalar(&p->reader, node, "policy");
    int i = 0;
    while (text && policies[i] && strcmp(policies[i], text) != 0)
        i++;
    if (text && !policies[i])
        yaml_fault_at(&p->reader, node, "policy: want halving, median or none, got '%s'", text);
    else if (text)
        p->spec->stop.policy = (enum spec_policy)i;
}

static void read_metric(struct spec_parse *p, const yaml_node_t *node)
{
    const char *text = yaml_scalar(&p->reader, node, "metric");
    if (text && strcmp(text, SPEC_STOP_METRIC) != 0)
        yaml_fault_at(&p->reader, node, "metric: want " SPEC_STOP_METRIC " (the validation loss), got '%s'", text);
}

/* 1/3: exact, so that a third of 27 is 9 everywhere. */
static void read_keep(struct spec_parse *p, const yaml_node_t *node)
{
    const char *text = yaml_scalar(&p->reader, node, "keep");
    char *slash = NULL, *end = NULL;
    if (!text)
        return;
    const long a = strtol(text, &slash, 10), b = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
    if (!end || *end || text[strspn(text, "0123456789/")] || a < 1 || b <= a || b > KEEP_MOST)
        yaml_fault_at(&p->reader, node,
                      "keep: want a fraction below 1 such as 1/3 (at most %d below the line), got '%s'", KEEP_MOST,
                      text);
    else
        p->spec->stop.keep = (int)a, p->spec->stop.of = (int)b;
}

static void read_rung(struct spec_parse *p, const yaml_node_t *item)
{
    struct spec_stop *stop = &p->spec->stop;
    struct config scratch = p->spec->base;
    const struct config_key *key = config_key_find("checkpoint.every"); /* a length of training too */
    const char *text = yaml_scalar(&p->reader, item, "rungs");
    if (!text || !yaml_set(&p->reader, &scratch, key, text, item))
        return;
    struct spec_rung *rung = &stop->rungs[stop->rung_count];
    rung->length = scratch.checkpoint_every;
    if (strlen(text) >= sizeof rung->text || rung->length.value <= 0 ||
        (rung->length.fraction && rung->length.value >= 100)) {
        yaml_fault_at(&p->reader, item, "rungs: want steps, or a part of the training between 0%% and 100%%, got '%s'",
                      text);
        return;
    }
    snprintf(rung->text, sizeof rung->text, "%s", text);
    stop->rung_count++;
}

static void read_rungs(struct spec_parse *p, const yaml_node_t *node)
{
    const int items = node->type == YAML_SEQUENCE_NODE ? yaml_items(node) : 0;
    if (items < 1 || items > SPEC_RUNGS_MOST) {
        yaml_fault_at(&p->reader, node, "rungs: want a list of 1 to %d lengths of training, such as [10%%, 25%%, 50%%]",
                      SPEC_RUNGS_MOST);
        return;
    }
    for (int i = 0; i < items; i++)
        read_rung(p, yaml_item(&p->reader, node, i));
}

void spec_read_stop(struct spec_parse *p, const yaml_node_t *node)
{
    static const char *const words[] = {"policy", "metric", "rungs", "keep", NULL};
    const yaml_node_t *policy = NULL, *rungs = NULL, *keep = NULL;
    struct spec_stop *stop = &p->spec->stop;
    struct yaml_map map;
    stop->line = (int)node->start_mark.line + 1;
    stop->column = (int)node->start_mark.column + 1;
    yaml_flatten(&p->reader, node, "stop: want a mapping of policy, metric, rungs, keep", 3, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        if (strcmp(e->key, "policy") == 0)
            read_policy(p, policy = e->value);
        else if (strcmp(e->key, "metric") == 0)
            read_metric(p, e->value);
        else if (strcmp(e->key, "rungs") == 0)
            read_rungs(p, rungs = e->value);
        else if (strcmp(e->key, "keep") == 0)
            read_keep(p, keep = e->value);
        else
            yaml_unknown_key(&p->reader, e, "stop", words);
    }
    free(map.entries);
    if (node->type != YAML_MAPPING_NODE || p->reader.fault_count > 0)
        return;
    if (!policy)
        yaml_fault_at(&p->reader, node, "stop: want policy: halving, median or none");
    else if (stop->policy != SPEC_STOP_NONE && !rungs)
        yaml_fault_at(&p->reader, node, "stop: want rungs: [10%%, 25%%, 50%%], where runs are compared");
    else if (stop->policy == SPEC_STOP_MEDIAN && keep)
        yaml_fault_at(&p->reader, keep, "keep: median keeps the better half; policy: halving has keep");
    else if (stop->policy == SPEC_STOP_HALVING && !keep)
        stop->keep = 1, stop->of = 3;
}

bool spec_check_stop(const struct spec *spec, const struct config *cfg, char *text, size_t room)
{
    const struct spec_stop *stop = &spec->stop;
    int64_t before = 0;
    if (stop->policy == SPEC_STOP_NONE)
        return true;
    if (cfg->init_run[0]) {
        snprintf(text, room,
                 "search.stop: init.run: a run that others begin with may be paused, and they would wait "
                 "for it for ever");
        return false;
    }
    for (int i = 0; i < stop->rung_count; i++) {
        const int64_t step = config_steps(stop->rungs[i].length, cfg->steps);
        if (step <= before || step >= cfg->steps) {
            snprintf(text, room,
                     "search.stop: rung %s is step %lld: want one behind step %lld and before the last, %lld",
                     stop->rungs[i].text, (long long)step, (long long)before, (long long)cfg->steps);
            return false;
        }
        before = step;
    }
    return true;
}

char *spec_stop_json(const struct spec_stop *stop)
{
    if (stop->policy == SPEC_STOP_NONE)
        return memory_string("");
    json_t *rungs = json_array();
    for (int i = 0; i < stop->rung_count; i++)
        json_array_append_new(rungs, json_string(stop->rungs[i].text));
    json_t *object =
        json_pack("{s:s, s:s, s:o}", "policy", policies[stop->policy], "metric", SPEC_STOP_METRIC, "rungs", rungs);
    if (stop->policy == SPEC_STOP_HALVING)
        json_object_set_new(object, "keep", json_pack("[i, i]", stop->keep, stop->of));
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}
