#include "harness/spec/config_yaml.h"

#include <stdlib.h>
#include <string.h>

#include "harness/spec/spec_yaml.h"

static void set_all(struct yaml_reader *r, struct config *cfg)
{
    const yaml_node_t *root = yaml_root(r);
    if (!root)
        return; /* an empty file sets nothing */
    struct yaml_map map;
    yaml_flatten(r, root, "want a mapping of configuration keys", 1, &map);
    for (int i = 0; i < map.count; i++) {
        if (strcmp(map.entries[i].key, "sweep") == 0) {
            yaml_fault_at(r, map.entries[i].key_node, "this file is a sweep: 'taper run' and 'taper submit' take it");
            break;
        }
        const struct config_key *key = yaml_key(r, &map.entries[i]);
        const char *value = key ? yaml_scalar(r, map.entries[i].value, key->name) : NULL;
        if (value)
            yaml_set(r, cfg, key, value, map.entries[i].value);
    }
    free(map.entries);
}

int config_load_yaml(struct config *cfg, const char *path, FILE *report, struct error *err)
{
    char *text = NULL;
    size_t size = 0;
    int status = yaml_read_file(path, &text, &size, err);
    if (status)
        return status;
    struct yaml_reader r;
    struct config set = *cfg;
    if (yaml_reader_load(&r, path, text, size) && r.fault_count == 0)
        set_all(&r, &set);
    status = yaml_reader_report(&r, report, err);
    if (!status)
        *cfg = set;
    yaml_reader_fini(&r);
    free(text);
    return status;
}
