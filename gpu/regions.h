/* What the backend has allocated, and in which precision each part of it is valid.
 *
 * The ops table speaks fp32. In bf16 mode an allocation gets a twin of half the size in which the same elements stand
 * as bf16, and producers write whichever precision their consumers read. Here is remembered which of the two is
 * current: fp32 unless said otherwise. A consumer that needs the other one has it converted first, so that every
 * sequence of ops is right, and the usual ones need no conversion. Bookkeeping on the host only; not thread-safe. */
#ifndef TAPER_GPU_REGIONS_H
#define TAPER_GPU_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMAT_FULL = 1, FORMAT_HALF = 2, FORMAT_BOTH = 3 };

/* Elements begin..end-1 of a region are valid in these formats. Sorted; what no span covers is FORMAT_FULL. */
struct span {
    size_t begin, end;
    unsigned formats;
};

struct region {
    uint64_t id; /* never used again */
    char *base;
    size_t bytes;
    uint16_t *twin; /* NULL until somebody asks */
    struct span *spans;
    int count, room;
};

struct regions {
    struct region *at;
    int count, room;
    uint64_t ids;
};

/* Remember an allocation; forget one (twin first taken out by the caller); forget all. */
void regions_add(struct regions *r, void *base, size_t bytes);
void regions_remove(struct regions *r, const void *base);
void regions_clear(struct regions *r);

/* The region that holds an address, NULL when it is not ours. */
struct region *regions_find(const struct regions *r, const void *address);

/* count elements from an fp32 address on were written in these formats, and are no longer valid in others. */
void region_mark(struct region *r, const float *at, size_t count, unsigned formats);

/* Is every one of the elements valid in the format? */
bool region_has(const struct region *r, const float *at, size_t count, unsigned format);

/* Call convert for every run of elements that is not valid in the format, and mark it FORMAT_BOTH. */
typedef void region_convert(void *arg, float *full, uint16_t *half, size_t count, unsigned format);
void region_require(struct region *r, const float *at, size_t count, unsigned format, region_convert *convert,
                    void *arg);

/* The twin of an fp32 address. */
uint16_t *region_half(const struct region *r, const float *at);

/* A number that changes with what is valid where. */
uint64_t regions_state(const struct regions *r);

/* The spans of all regions at one time. Restoring leaves regions alone that were added since. */
struct regions_snapshot {
    struct region *at; /* copies; base and twin are not owned */
    int count;
};

void regions_save(const struct regions *r, struct regions_snapshot *to);
void regions_restore(struct regions *r, const struct regions_snapshot *from);
void regions_snapshot_free(struct regions_snapshot *s); /* fine on a zeroed one */

#endif
