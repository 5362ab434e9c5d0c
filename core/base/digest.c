#include "core/base/digest.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_file(struct digest *d, const char *directory, const char *name, struct error *err)
{
    struct stat st;
    struct file_map map;
    char *path = file_join(directory, name);
    int status = STATUS_OK;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        free(path);
        return STATUS_OK;
    }
    status = file_map_open(&map, path, err);
    free(path);
    if (status)
        return status;
    const uint64_t size = map.size;
    digest_add(d, name, strlen(name) + 1);
    digest_add(d, &size, sizeof size);
    digest_add(d, map.data, map.size);
    file_map_close(&map);
    return STATUS_OK;
}

int digest_directory(const char *path, char out[DIGEST_TEXT], struct error *err)
{
    struct dirent **entries;
    struct digest d;
    int status = STATUS_OK, count = scandir(path, &entries, is_visible, by_bytes);
    if (count < 0)
        return error_errno(err, STATUS_BAD_INPUT, errno, "%s: cannot read", path);
    digest_begin(&d);
    for (int i = 0; i < count; i++) {
        if (!status)
            status = add_file(&d, path, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    digest_end(&d, out);
    return status;
}

bool digest_is(const char *text)
{
    const size_t prefix = strlen(DIGEST_PREFIX);
    return text && strncmp(text, DIGEST_PREFIX, prefix) == 0 && strlen(text) == DIGEST_TEXT - 1 &&
           strspn(text + prefix, "0123456789abcdef") == DIGEST_TEXT - 1 - prefix;
}
