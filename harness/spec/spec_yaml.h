/* Reading YAML strictly: faults collected with their places, mappings flattened through merge keys, within limits.
 *
 * Used by the sweep (spec.c) and by the configuration file (config_yaml.c). libyaml parses; the nodes are its own. */
#ifndef TAPER_HARNESS_SPEC_SPEC_YAML_H
#define TAPER_HARNESS_SPEC_SPEC_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <yaml.h>

#include "core/config/config.h"
#include "core/base/error.h"

struct yaml_fault {
    int line, column, order; /* from 1; order keeps equal places stable */
    char *text;
};

struct yaml_reader {
    const char *path; /* names the file in faults; not owned */
    yaml_document_t document;
    bool loaded;
    struct yaml_fault *faults;
    int fault_count;     /* kept */
    int faults_left_out; /* past the most that are kept */
    long visited;        /* nodes, against SPEC_NODES_MOST */
    bool exhausted;      /* the limit was reached and reported */
};

/* One key of a flattened mapping; nodes belong to the document. */
struct yaml_entry {
    const char *key;
    const yaml_node_t *key_node, *value;
};

struct yaml_map {
    struct yaml_entry *entries;
    int count;
};

/* Parse one document. Syntax faults go to the reader; true when there is a document to walk. */
bool yaml_reader_load(struct yaml_reader *r, const char *path, const char *text, size_t size);
void yaml_reader_fini(struct yaml_reader *r);

/* Record a fault at a node. */
void yaml_fault_at(struct yaml_reader *r, const yaml_node_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void yaml_fault_place(struct yaml_reader *r, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* STATUS_OK without faults. Else STATUS_BAD_INPUT: sorted by place to `report`, a line each, and their number to err;
 * with report NULL as many whole lines as fit go to err. */
int yaml_reader_report(struct yaml_reader *r, FILE *report, struct error *err);

const yaml_node_t *yaml_root(struct yaml_reader *r); /* NULL for an empty document */
const yaml_node_t *yaml_item(struct yaml_reader *r, const yaml_node_t *sequence, int i);
int yaml_items(const yaml_node_t *sequence);

/* The keys of a mapping, explicit ones first in the order written, then merged ones ("<<"; explicit wins, then the
 * earlier merged). Faults: not a mapping (`what` says what it should be), keys that are no scalars, doubled keys, bad
 * merges, limits. The caller frees entries; the map is empty after a fault that leaves nothing to read. */
void yaml_flatten(struct yaml_reader *r, const yaml_node_t *node, const char *what, int depth, struct yaml_map *map);

/* A scalar's text, NULL after a fault: not a scalar, a NUL inside, a tag, or (plain) nothing at all. */
const char *yaml_scalar(struct yaml_reader *r, const yaml_node_t *node, const char *key);

/* The row of an entry's key; NULL and a fault when there is none. */
const struct config_key *yaml_key(struct yaml_reader *r, const struct yaml_entry *entry);

/* config_set, with the fault recorded at `at`. */
bool yaml_set(struct yaml_reader *r, struct config *cfg, const struct config_key *key, const char *text,
              const yaml_node_t *at);

/* The fault of a key that is none of `words` (NULL ends them), with the nearest one. */
void yaml_unknown_key(struct yaml_reader *r, const struct yaml_entry *entry, const char *section,
                      const char *const *words);

/* The text of a whole file within SPEC_FILE_MOST; on the heap, NUL-terminated. */
/* path "-": standard input, which is read once, and is the same text whenever it is asked for again. */
int yaml_read_file(const char *path, char **text, size_t *size, struct error *err);

#endif
