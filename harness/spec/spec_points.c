/* The section `points` of a sweep: keys that go together, a list of the points that they make. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/spec/spec_internal.h"

static struct spec_axis *axis_of(struct spec *spec, const struct config_key *key)
{
    for (int a = 0; a < spec->axis_count; a++)
        if (spec->axes[a].key == key)
            return &spec->axes[a];
    return NULL;
}

/* The first point says which keys there are. */
static void read_keys(struct spec_parse *p, const struct yaml_map *map)
{
    struct spec *spec = p->spec;
    const int before = spec->axis_count;
    spec->axes = memory_resize(spec->axes, (size_t)(before + map->count) + 1, sizeof *spec->axes);
    for (int i = 0; i < map->count; i++) {
        const struct config_key *key = yaml_key(&p->reader, &map->entries[i]);
        if (key && axis_of(spec, key)) /* a point's own keys are there once: yaml_flatten sees to it */
            yaml_fault_at(&p->reader, map->entries[i].key_node, "%s: is in the grid too", key->name);
        else if (key)
            spec->axes[spec->axis_count++] = (struct spec_axis){
                .key = key, .sampled = true, .values = memory_alloc((size_t)spec->samples, sizeof(char *))};
    }
}

static bool same_point(const struct spec *spec, int64_t a, int64_t b)
{
    for (int i = 0; i < spec->axis_count; i++) {
        const struct spec_axis *axis = &spec->axes[i];
        struct config x = spec->base, y = spec->base;
        if (!axis->sampled)
            continue;
        config_set(&x, axis->key->name, axis->values[a], NULL); /* was checked when it was read */
        config_set(&y, axis->key->name, axis->values[b], NULL);
        if (!spec_same_value(axis->key, &x, &y))
            return false;
    }
    return true;
}

/* Point i; its keys are those of the axes that `points` has made. False after a fault. */
static bool read_point(struct spec_parse *p, const yaml_node_t *node, int i)
{
    struct spec *spec = p->spec;
    struct config scratch = spec->base;
    struct yaml_map map;
    bool good = node->type == YAML_MAPPING_NODE;
    yaml_flatten(&p->reader, node, "points: want mappings of configuration keys to values", 3, &map);
    if (node->type == YAML_MAPPING_NODE && map.count == 0)
        yaml_fault_at(&p->reader, node, "points: an empty mapping; want the keys that go together");
    if (i == 0)
        read_keys(p, &map);
    good &= map.count > 0;
    for (int k = 0; k < map.count; k++) {
        const struct config_key *key = i ? yaml_key(&p->reader, &map.entries[k]) : config_key_find(map.entries[k].key);
        struct spec_axis *axis = key ? axis_of(spec, key) : NULL;
        char *value = axis && axis->sampled ? spec_read_value(p, &scratch, key, map.entries[k].value) : NULL;
        if (value)
            axis->values[axis->count++] = value;
        else if (key && i > 0 && (!axis || !axis->sampled))
            yaml_fault_at(&p->reader, map.entries[k].key_node, "%s: %s", key->name,
                          axis ? "is in the grid too" : "is not in the first point; every point sets the same keys");
        good &= value != NULL;
    }
    for (int a = 0; a < spec->axis_count && good; a++)
        if (spec->axes[a].sampled && spec->axes[a].count != i + 1) {
            yaml_fault_at(&p->reader, node, "points: this one lacks %s, which the first has", spec->axes[a].key->name);
            good = false;
        }
    for (int before = 0; before < i && good; before++)
        if (same_point(spec, before, i)) {
            yaml_fault_at(&p->reader, node, "points: this one is in the list twice");
            good = false;
        }
    free(map.entries);
    return good;
}

void spec_read_points(struct spec_parse *p, const yaml_node_t *node)
{
    const int items = node->type == YAML_SEQUENCE_NODE ? yaml_items(node) : 0;
    if (items < 1 || items > SPEC_POINTS_MOST) {
        yaml_fault_at(&p->reader, node, "points: want a list of 1 to %d mappings, each of keys that go together",
                      SPEC_POINTS_MOST);
        return;
    }
    p->spec->samples = items;
    p->points_given = true;
    for (int i = 0; i < items && !p->reader.exhausted; i++)
        if (!read_point(p, yaml_item(&p->reader, node, i), i))
            return; /* those behind it would be at fault for it, too */
}
