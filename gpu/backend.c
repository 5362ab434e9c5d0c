#include "gpu/backend.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

/* ----------------------------------------------------------------------------------------- lifecycle */

int backend_create(struct backend **out, const struct backend_options *options, struct error *err)
{
    struct backend *be = memory_alloc(1, sizeof *be);
    be->half = options->precision != PRECISION_FP32;
    int status = device_open(&be->device, options->device, err);
    if (status) {
        free(be);
        return status;
    }
    *out = be;
    return STATUS_OK;
}

void backend_destroy(struct backend *be)
{
    if (!be)
        return;
    backend_forget_graphs(be);
    device_close(be->device); /* and with it all of its memory */
    for (int i = 0; i < be->table_count; i++)
        free(be->tables[i].segments);
    regions_clear(&be->regions);
    free(be);
}

void *backend_stream(struct backend *be)
{
    return device_stream(be->device);
}

void backend_begin(struct backend *be, const char *op)
{
    device_begin(be->device, op);
    be->scratch.current = 0;
    be->scratch.used = 0;
}

void backend_end(struct backend *be)
{
    device_check(be->device);
}

int backend_sync(struct backend *be, struct error *err)
{
    device_begin(be->device, NULL);
    return device_take_fault(be->device, err);
}

/* -------------------------------------------------------------------------------------------- memory */

/* Device memory, with the failure as text: what was asked for, and what there is. */
static void *allocate(struct backend *be, size_t bytes, struct error *err)
{
    size_t free_bytes = 0, total_bytes = 0;
    void *memory = bytes > SIZE_MAX / 2 ? NULL : device_allocate(be->device, bytes);
    if (memory)
        return memory;
    device_memory(be->device, &free_bytes, &total_bytes);
    error_set(err, STATUS_MEMORY, "out of memory: %zu bytes asked for, %zu of %zu free on the device", bytes,
              free_bytes, total_bytes);
    return NULL;
}

void *backend_memory(struct backend *be, size_t bytes)
{
    struct error err = {0};
    if (device_failed(be->device))
        return NULL;
    if (be->capturing) {
        device_fail(be->device, "%zu bytes asked for while recording: the work is not that of the first run", bytes);
        return NULL;
    }
    void *memory = allocate(be, bytes, &err);
    if (!memory)
        device_fail_as(be->device, err.status, "%s", err.text);
    return memory;
}

void *backend_alloc(struct backend *be, size_t bytes, struct error *err)
{
    void *memory = allocate(be, bytes ? bytes : 1, err);
    if (memory)
        regions_add(&be->regions, memory, bytes ? bytes : 1);
    return memory;
}

static void forget(struct backend *be, struct recording *r)
{
    device_graph_free(be->device, r->graph);
    regions_snapshot_free(&r->after);
    *r = (struct recording){0};
}

/* A recording goes with any memory that was there when it was made: it may hold its address. */
static void forget_recordings_of(struct backend *be, const struct region *region)
{
    for (int key = 0; key < GRAPH_KEYS; key++)
        for (int i = 0; i < be->recordings[key].after.count; i++)
            if (be->recordings[key].after.at[i].id == region->id) {
                forget(be, &be->recordings[key]);
                break;
            }
}

void backend_release(struct backend *be, void *memory)
{
    struct region *region = memory ? regions_find(&be->regions, memory) : NULL;
    if (!region)
        return;
    forget_recordings_of(be, region);
    device_release(be->device, region->twin);
    regions_remove(&be->regions, memory);
    device_release(be->device, memory);
}

void *backend_scratch(struct backend *be, size_t bytes)
{
    struct scratch *s = &be->scratch;
    bytes = (bytes + GPU_SCRATCH_ALIGN - 1) / GPU_SCRATCH_ALIGN * GPU_SCRATCH_ALIGN;
    for (; s->current < s->count; s->current++, s->used = 0)
        if (s->bytes[s->current] - s->used >= bytes) {
            void *at = s->chunks[s->current] + s->used;
            s->used += bytes;
            return at;
        }
    if (s->count == GPU_SCRATCH_PIECES) {
        device_fail(be->device, "scratch memory in more than %d pieces", GPU_SCRATCH_PIECES);
        return NULL;
    }
    size_t whole = bytes > GPU_SCRATCH_LEAST ? bytes : GPU_SCRATCH_LEAST;
    void *chunk = backend_memory(be, whole);
    if (!chunk)
        return NULL;
    s->chunks[s->count] = chunk;
    s->bytes[s->count] = whole;
    s->current = s->count++;
    s->used = bytes;
    return chunk;
}

/* ----------------------------------------------------------------------------------------- precision */

static void convert(void *arg, float *full, uint16_t *half, size_t count, unsigned format)
{
    struct backend *be = arg;
    if (device_failed(be->device))
        return;
    if (format == FORMAT_HALF)
        kernel_to_half(backend_stream(be), half, full, count);
    else
        kernel_to_full(backend_stream(be), full, half, count);
}

/* The region of a tensor in bf16 mode, with its twin; NULL after a failure. */
static struct region *twinned(struct backend *be, const float *p)
{
    struct region *r = regions_find(&be->regions, p);
    if (!r) {
        device_fail(be->device, "a tensor at %p that this backend did not allocate", (const void *)p);
        return NULL;
    }
    if (!r->twin)
        r->twin = backend_memory(be, (r->bytes + 1) / 2 + GPU_SCRATCH_ALIGN);
    return r->twin ? r : NULL;
}

uint16_t *backend_twin(struct backend *be, const float *p)
{
    const struct region *r = regions_find(&be->regions, p);
    return r && r->twin ? region_half(r, p) : NULL;
}

const float *read_full(struct backend *be, const float *p, size_t count)
{
    struct region *r = be->half ? regions_find(&be->regions, p) : NULL;
    if (r && r->count)
        region_require(r, p, count, FORMAT_FULL, convert, be);
    return p;
}

const uint16_t *read_half(struct backend *be, const float *p, size_t count)
{
    struct region *r = twinned(be, p);
    if (!r)
        return NULL;
    region_require(r, p, count, FORMAT_HALF, convert, be);
    return region_half(r, p);
}

struct view read_any(struct backend *be, const float *p, size_t count)
{
    struct region *r = be->half && p ? regions_find(&be->regions, p) : NULL;
    if (r && r->count && region_has(r, p, count, FORMAT_HALF))
        return (struct view){region_half(r, p), 1};
    return (struct view){p ? read_full(be, p, count) : NULL, 0};
}

const void *read_operand(struct backend *be, const float *p, size_t count)
{
    return be->half ? (const void *)read_half(be, p, count) : (const void *)p;
}

float *write_full(struct backend *be, float *p, size_t count)
{
    struct region *r = be->half ? regions_find(&be->regions, p) : NULL;
    if (r && r->count)
        region_mark(r, p, count, FORMAT_FULL);
    return p;
}

static struct sink write_formats(struct backend *be, float *p, size_t count, unsigned formats)
{
    struct region *r = be->half ? twinned(be, p) : NULL;
    if (!be->half)
        return (struct sink){p, NULL};
    if (!r)
        return (struct sink){NULL, NULL};
    region_mark(r, p, count, formats);
    return (struct sink){formats & FORMAT_FULL ? p : NULL, region_half(r, p)};
}

struct sink write_half(struct backend *be, float *p, size_t count)
{
    return write_formats(be, p, count, FORMAT_HALF);
}

struct sink write_both(struct backend *be, float *p, size_t count)
{
    return write_formats(be, p, count, FORMAT_BOTH);
}

/* ------------------------------------------------------------------------------------------- copies */

/* Whole fp32 elements that a byte range touches: a range that holds something else has no spans there. */
static size_t elements(size_t bytes)
{
    return (bytes + sizeof(float) - 1) / sizeof(float);
}

void backend_upload(struct backend *be, void *to, const void *from, size_t bytes)
{
    if (!bytes)
        return;
    backend_begin(be, "upload");
    write_full(be, to, elements(bytes));
    device_upload(be->device, to, from, bytes);
}

void backend_download(struct backend *be, void *to, const void *from, size_t bytes)
{
    if (!bytes)
        return;
    backend_begin(be, "download");
    read_full(be, from, elements(bytes));
    device_download(be->device, to, from, bytes);
}

void backend_copy(struct backend *be, void *to, const void *from, size_t bytes)
{
    if (!bytes)
        return;
    backend_begin(be, "copy");
    read_full(be, from, elements(bytes));
    write_full(be, to, elements(bytes));
    device_copy(be->device, to, from, bytes);
}

void backend_zero(struct backend *be, void *memory, size_t bytes)
{
    if (!bytes)
        return;
    backend_begin(be, "zero");
    write_full(be, memory, elements(bytes));
    device_zero(be->device, memory, bytes);
}

/* ------------------------------------------------------------------------------------------- graphs */

void backend_forget_graphs(struct backend *be)
{
    for (int key = 0; key < GRAPH_KEYS; key++)
        forget(be, &be->recordings[key]);
}

static void record(struct backend *be, struct recording *r, void (*body)(void *arg), void *arg)
{
    r->state = regions_state(&be->regions);
    device_begin(be->device, "replay");
    device_capture_begin(be->device);
    be->capturing = true;
    body(arg);
    be->capturing = false;
    device_begin(be->device, "replay");
    r->graph = device_capture_end(be->device);
    regions_save(&be->regions, &r->after);
}

/* The first run is a plain one: it makes plans and memory that cannot be made while recording. The second is recorded
 * and launched, later ones are launched. When tensors are valid in other precisions than at the recording, or the epoch
 * is another, it all starts again. */
void backend_replay(struct backend *be, int key, uint64_t epoch, void (*body)(void *arg), void *arg)
{
    struct recording *r = &be->recordings[key];
    if (be->capturing || device_failed(be->device)) {
        body(arg);
        return;
    }
    if ((r->graph && r->state != regions_state(&be->regions)) || (r->warm && r->epoch != epoch))
        forget(be, r);
    r->epoch = epoch;
    if (!r->warm) {
        r->warm = true;
        body(arg);
        return;
    }
    if (!r->graph)
        record(be, r, body, arg);
    device_begin(be->device, "replay");
    if (r->graph) {
        device_graph_launch(be->device, r->graph);
        regions_restore(&be->regions, &r->after);
    }
}

/* --------------------------------------------------------------------------------------------- tiles */

static struct tile *cut_tiles(const struct param_segment *segments, int count, int *tile_count)
{
    size_t most = 0;
    for (int i = 0; i < count; i++)
        most += segments[i].size / TILE_FLOATS + 1;
    struct tile *tiles = memory_alloc(most + 1, sizeof *tiles);
    *tile_count = 0;
    for (int i = 0; i < count; i++)
        for (size_t at = 0; at < segments[i].size; at += TILE_FLOATS) {
            size_t size = segments[i].size - at;
            tiles[(*tile_count)++] = (struct tile){
                .offset = segments[i].offset + at,
                .size = (int32_t)(size < TILE_FLOATS ? size : TILE_FLOATS),
                .decay = segments[i].decay,
                .counter = (int32_t)segments[i].counter,
            };
        }
    return tiles;
}

static bool same_segments(const struct tile_table *t, const struct param_segment *segments, int count)
{
    if (t->segment_count != count)
        return false;
    for (int i = 0; i < count; i++) {
        const struct param_segment *a = &t->segments[i], *b = &segments[i];
        if (a->offset != b->offset || a->size != b->size || a->decay != b->decay || a->counter != b->counter)
            return false;
    }
    return true;
}

const struct tile_table *backend_tiles(struct backend *be, const struct param_segment *segments, int count)
{
    for (int i = 0; i < be->table_count; i++)
        if (same_segments(&be->tables[i], segments, count))
            return &be->tables[i];
    if (be->table_count == TILE_TABLES) {
        device_fail(be->device, "more than %d lists of segments", TILE_TABLES);
        return NULL;
    }
    struct tile_table *t = &be->tables[be->table_count];
    struct tile *tiles = cut_tiles(segments, count, &t->count);
    t->tiles = backend_memory(be, ((size_t)t->count + 1) * sizeof *tiles);
    if (t->tiles) {
        device_upload(be->device, t->tiles, tiles, (size_t)t->count * sizeof *tiles);
        t->segments = memory_alloc((size_t)count + 1, sizeof *t->segments);
        memcpy(t->segments, segments, (size_t)count * sizeof *segments);
        t->segment_count = count;
        be->table_count++;
    }
    free(tiles);
    return t->tiles ? t : NULL;
}
