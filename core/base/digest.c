#include "core/base/digest.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/file.h"
#include "core/base/memory.h"

void digest_begin(struct digest *d)
{
    d->state = XXH3_createState();
    if (!d->state)
        memory_exhausted("a digest");
    XXH3_128bits_reset(d->state);
}

void digest_add(struct digest *d, const void *bytes, size_t size)
{
    if (size)
        XXH3_128bits_update(d->state, bytes, size);
}

void digest_end(struct digest *d, char out[DIGEST_TEXT])
{
    XXH128_hash_t sum = XXH3_128bits_digest(d->state);
    snprintf(out, DIGEST_TEXT, DIGEST_PREFIX "%016llx%016llx", (unsigned long long)sum.high64,
             (unsigned long long)sum.low64);
    XXH3_freeState(d->state);
    d->state = NULL;
}

int digest_file(const char *path, char out[DIGEST_TEXT], struct error *err)
{
    struct file_map map;
    struct digest d;
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    digest_begin(&d);
    digest_add(&d, map.data, map.size);
    digest_end(&d, out);
    file_map_close(&map);
    return STATUS_OK;
}

bool digest_is(const char *text)
{
    const size_t prefix = strlen(DIGEST_PREFIX);
    return text && strncmp(text, DIGEST_PREFIX, prefix) == 0 && strlen(text) == DIGEST_TEXT - 1 &&
           strspn(text + prefix, "0123456789abcdef") == DIGEST_TEXT - 1 - prefix;
}
