#include "gpu/regions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

void regions_add(struct regions *r, void *base, size_t bytes)
{
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        r->at = memory_resize(r->at, (size_t)r->room, sizeof *r->at);
    }
    r->at[r->count++] = (struct region){.id = ++r->ids, .base = base, .bytes = bytes};
}

void regions_remove(struct regions *r, const void *base)
{
    for (int i = 0; i < r->count; i++)
        if (r->at[i].base == base) {
            free(r->at[i].spans);
            r->at[i] = r->at[--r->count];
            return;
        }
}

void regions_clear(struct regions *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->at[i].spans);
    free(r->at);
    *r = (struct regions){.ids = r->ids};
}

struct region *regions_find(const struct regions *r, const void *address)
{
    for (int i = 0; i < r->count; i++) {
        uintptr_t base = (uintptr_t)r->at[i].base, at = (uintptr_t)address;
        if (at >= base && at - base < r->at[i].bytes)
            return &r->at[i];
    }
    return NULL;
}

static size_t element(const struct region *r, const float *at)
{
    return (size_t)((const char *)at - r->base) / sizeof(float);
}

uint16_t *region_half(const struct region *r, const float *at)
{
    return r->twin + element(r, at);
}

/* --------------------------------------------------------------------------------------------- spans */

static void insert(struct region *r, int place, struct span s)
{
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        r->spans = memory_resize(r->spans, (size_t)r->room, sizeof *r->spans);
    }
    memmove(r->spans + place + 1, r->spans + place, (size_t)(r->count - place) * sizeof *r->spans);
    r->spans[place] = s;
    r->count++;
}

static void drop(struct region *r, int place)
{
    r->count--;
    memmove(r->spans + place, r->spans + place + 1, (size_t)(r->count - place) * sizeof *r->spans);
}

/* Cut begin..end out of the spans; returns where a span of it belongs. */
static int cut(struct region *r, size_t begin, size_t end)
{
    int place = 0;
    while (place < r->count && r->spans[place].end <= begin)
        place++;
    while (place < r->count && r->spans[place].begin < end) {
        struct span *s = &r->spans[place], tail = {end, s->end, s->formats};
        if (s->begin < begin) {
            s->end = begin;
            place++;
            if (tail.end > end)
                insert(r, place, tail);
        } else if (s->end > end) {
            s->begin = end;
        } else {
            drop(r, place);
        }
    }
    return place;
}

void region_mark(struct region *r, const float *at, size_t count, unsigned formats)
{
    size_t begin = element(r, at), end = begin + count;
    if (count == 0)
        return;
    int place = cut(r, begin, end);
    if (formats == FORMAT_FULL)
        return;
    struct span s = {begin, end, formats};
    if (place < r->count && r->spans[place].begin == end && r->spans[place].formats == formats) { /* join neighbours */
        s.end = r->spans[place].end;
        drop(r, place);
    }
    if (place > 0 && r->spans[place - 1].end == begin && r->spans[place - 1].formats == formats)
        r->spans[place - 1].end = s.end;
    else
        insert(r, place, s);
}

/* The run of equal formats that starts at `from`, up to `end`. */
static struct span run_at(const struct region *r, size_t from, size_t end)
{
    for (int i = 0; i < r->count; i++) {
        const struct span *s = &r->spans[i];
        if (s->end <= from)
            continue;
        if (s->begin > from)
            return (struct span){from, s->begin < end ? s->begin : end, FORMAT_FULL};
        return (struct span){from, s->end < end ? s->end : end, s->formats};
    }
    return (struct span){from, end, FORMAT_FULL};
}

bool region_has(const struct region *r, const float *at, size_t count, unsigned format)
{
    size_t begin = element(r, at), end = begin + count;
    while (begin < end) {
        struct span s = run_at(r, begin, end);
        if (!(s.formats & format))
            return false;
        begin = s.end;
    }
    return true;
}

void region_require(struct region *r, const float *at, size_t count, unsigned format, region_convert *convert,
                    void *arg)
{
    size_t begin = element(r, at), end = begin + count;
    while (begin < end) {
        struct span s = run_at(r, begin, end);
        if (!(s.formats & format)) {
            float *full = (float *)r->base + s.begin;
            convert(arg, full, r->twin + s.begin, s.end - s.begin, format);
            region_mark(r, full, s.end - s.begin, FORMAT_BOTH);
        }
        begin = s.end;
    }
}

/* ------------------------------------------------------------------------------------------ snapshots */

static uint64_t mix(uint64_t state, uint64_t value)
{
    return (state ^ value) * 0x100000001b3u + (state >> 29);
}

uint64_t regions_state(const struct regions *r)
{
    uint64_t sum = 0; /* of one number a region: their order does not count */
    for (int i = 0; i < r->count; i++) {
        const struct region *region = &r->at[i];
        uint64_t state = mix(0xcbf29ce484222325u, region->id);
        for (int s = 0; s < region->count; s++)
            state = mix(mix(mix(state, region->spans[s].begin), region->spans[s].end), region->spans[s].formats);
        sum += region->count ? state : 0;
    }
    return sum;
}

void regions_save(const struct regions *r, struct regions_snapshot *to)
{
    *to = (struct regions_snapshot){.at = memory_alloc((size_t)r->count + 1, sizeof *to->at), .count = r->count};
    for (int i = 0; i < r->count; i++) {
        struct region *copy = &to->at[i];
        *copy = r->at[i];
        copy->spans = memory_alloc((size_t)copy->count + 1, sizeof *copy->spans);
        if (copy->count)
            memcpy(copy->spans, r->at[i].spans, (size_t)copy->count * sizeof *copy->spans);
    }
}

void regions_restore(struct regions *r, const struct regions_snapshot *from)
{
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < from->count; k++)
            if (r->at[i].id == from->at[k].id) {
                const struct region *saved = &from->at[k];
                r->at[i].count = 0;
                for (int s = 0; s < saved->count; s++)
                    insert(&r->at[i], s, saved->spans[s]);
            }
}

void regions_snapshot_free(struct regions_snapshot *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->at[i].spans);
    free(s->at);
    *s = (struct regions_snapshot){0};
}
