/* The tensors of a folder to import: one file, or shards behind an index. */
#ifndef TAPER_CORE_TRAINED_INTEROP_SOURCE_H
#define TAPER_CORE_TRAINED_INTEROP_SOURCE_H

#include "core/trained/interop_internal.h"

struct interop_source {
    char *path; /* of the file or the index, for errors */
    struct safetensors *files;
    int count;
    json_t *index; /* weight_map: name to file name; NULL for one file */
};

/* Open all of it. Every shard that the index names must be there and hold what the index says; no tensor may stand in
 * two. On failure nothing is left open. */
int interop_source_open(struct interop_source *s, const char *dir, struct error *err);
void interop_source_close(struct interop_source *s); /* fine on a zeroed one */

/* The file that holds a tensor, NULL when none does. */
const struct safetensors *interop_source_find(const struct interop_source *s, const char *name);

#endif
