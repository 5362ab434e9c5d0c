#include "core/data/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/data/cache.h"
#include "core/data/fetch_curl.h"
#include "core/data/novels.h"
#include "core/base/file.h"
#include "core/base/memory.h"

enum { SUM_HEX = 64 };

static const struct fetch_file tinystories_files[] = {
    {"train", "TinyStoriesV2-GPT4-train.txt"},
    {"valid", "TinyStoriesV2-GPT4-valid.txt"},
};

static const struct fetch_file novels_files[] = {{"train", "novels.txt"}};

/* Eldan and Li 2023, "TinyStories: how small can language models be and still speak coherent English?" */
static const struct fetch_set sets[] = {
    {"tinystories", "https://huggingface.co/datasets/roneneldan/TinyStories/resolve/main", "TAPER_TINYSTORIES_URL",
     fetch_curl, tinystories_files, 2},
    {"novels", "apt:" NOVELS_PACKAGE, "TAPER_NOVELS_URL", novels_receive, novels_files, 1},
};

const struct fetch_set *fetch_find(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(sets[i].name, name) == 0)
            return &sets[i];
    return NULL;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int fetch_directory(const struct fetch_set *set, char **out, struct error *err)
{
    char *cache = NULL;
    *out = NULL;
    int status = cache_directory(&cache, err);
    if (!status)
        *out = file_join(cache, set->name);
    free(cache);
    return status;
}

/* ---- checksums ---- */

static int file_sum(const char *path, char hex[SUM_HEX + 1], struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(sum, map.data, map.size);
    file_map_close(&map);
    sodium_bin2hex(hex, SUM_HEX + 1, sum, sizeof sum);
    return STATUS_OK;
}

/* 64 hex digits, in lower case. */
static bool parse_sum(const char *text, size_t length, char hex[SUM_HEX + 1])
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    size_t bytes;
    if (length != SUM_HEX || sodium_hex2bin(sum, sizeof sum, text, length, NULL, &bytes, NULL) != 0 ||
        bytes != sizeof sum)
        return false;
    sodium_bin2hex(hex, SUM_HEX + 1, sum, sizeof sum);
    return true;
}

/* The recorded sum of a file, in FILE.sha256: "HEX  NAME". *found is false when nothing was recorded. */
static int read_record(const char *path, char hex[SUM_HEX + 1], bool *found, struct error *err)
{
    char *record = memory_format("%s.sha256", path);
    struct file_map map = {0};
    int status = STATUS_OK;
    *found = access(record, F_OK) == 0;
    if (*found) {
        status = file_map_open(&map, record, err);
        const char *space = status ? NULL : memchr(map.data, ' ', map.size);
        if (!status && (!space || !parse_sum((const char *)map.data, (size_t)(space - (const char *)map.data), hex)))
            status = error_set(err, STATUS_BAD_INPUT, "%s: want a SHA-256 as sha256sum prints it", record);
        file_map_close(&map);
    }
    free(record);
    return status;
}

static int write_record(const char *path, const char *name, const char *hex, struct error *err)
{
    char *record = memory_format("%s.sha256", path), *line = memory_format("%s  %s\n", hex, name);
    int status = file_write_all(record, line, strlen(line), err);
    free(record);
    free(line);
    return status;
}

/* ---- the cache ---- */

static int lock_part(struct fetch_download *d, struct error *err)
{
    d->lock = open(d->part, O_RDWR | O_CREAT, 0666); /* inherited by curl on purpose */
    if (d->lock < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot create", d->part);
    if (flock(d->lock, LOCK_EX | LOCK_NB) != 0) {
        int status = errno == EWOULDBLOCK
                         ? error_set(err, STATUS_FAILED, "%s: another process is downloading this file", d->part)
                         : error_errno(err, STATUS_FAILED, errno, "%s: cannot lock", d->part);
        close(d->lock);
        return status;
    }
    return STATUS_OK;
}

/* The part is whole: compare it with the sum wanted ("" for any), record its own, and give it its name. */
static int accept_part(const struct fetch_download *d, const char *path, const char *name, const char *want,
                       struct error *err)
{
    char sum[SUM_HEX + 1];
    int status = file_sum(d->part, sum, err);
    if (status)
        return status;
    if (want[0] && strcmp(want, sum) != 0) {
        char *bad = memory_format("%s.bad", d->part);
        rename(d->part, bad);
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: wrong SHA-256: want %s, got %s (kept as %s)", d->url, want, sum, bad);
        free(bad);
        return status;
    }
    if (fsync(d->lock) != 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot write", d->part);
    status = write_record(path, name, sum, err);
    if (!status && rename(d->part, path) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot rename to %s", d->part, path);
    return status;
}

typedef int receive(struct fetch_download *d, struct error *err);

static int download_file(receive *by, const char *url, const char *path, const char *name, const char *want,
                         const struct progress *progress, struct error *err)
{
    char *part = memory_format("%s.part", path);
    struct fetch_download d = {
        .url = url, .part = part, .headers = memory_format("%s.headers", path), .progress = progress};
    int status = lock_part(&d, err);
    if (!status) {
        if (access(path, F_OK) != 0) { /* else the process that held the lock has just finished it */
            status = by(&d, err);
            if (!status)
                status = accept_part(&d, path, name, want, err);
        } else {
            unlink(part);
        }
        unlink(d.headers);
        close(d.lock);
    }
    free(d.headers);
    free(part);
    return status;
}

/* A file that is there against the sum wanted, "" for the recorded one. */
static int check_file(const char *path, const char *want, struct error *err)
{
    char sum[SUM_HEX + 1], recorded[SUM_HEX + 1] = "";
    bool found;
    int status = read_record(path, recorded, &found, err);
    if (!status && !want[0] && !found)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: no recorded SHA-256 (%s.sha256) to check it against; "
                         "remove the file and fetch it again, or give its sum",
                         path, path);
    if (!status)
        status = file_sum(path, sum, err);
    if (!status && strcmp(want[0] ? want : recorded, sum) != 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: wrong SHA-256: want %s (%s), got %s", path,
                           want[0] ? want : recorded, want[0] ? "as given" : "recorded when it was fetched", sum);
    return status;
}

int fetch_get(const struct fetch_set *set, const struct fetch_file *file, const char *base, const char *sha256,
              char **path, const struct progress *progress, struct error *err)
{
    char *directory, want[SUM_HEX + 1] = "";
    *path = NULL;
    if (sha256 && !parse_sum(sha256, strlen(sha256), want))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a SHA-256 of 64 hex digits, got '%s'", file->split, sha256);
    int status = fetch_directory(set, &directory, err);
    if (status)
        return status;
    *path = file_join(directory, file->name);
    if (!base)
        base = variable(set->environment);
    receive *by = base ? fetch_curl : set->receive;
    if (!base)
        base = set->base;
    char *url = file_join(base, file->name);
    if (access(*path, F_OK) == 0) {
        status = check_file(*path, want, err);
        if (!status && want[0]) /* a file put there by hand: what was given is now what is recorded */
            status = write_record(*path, file->name, want, err);
    } else {
        status = file_make_directories(directory, err);
        if (!status)
            status = download_file(by, url, *path, file->name, want, progress, err);
    }
    free(url);
    free(directory);
    if (status) {
        free(*path);
        *path = NULL;
    }
    return status;
}

int fetch_use(const struct fetch_set *set, const struct fetch_file *file, char **path, struct error *err)
{
    char *directory;
    *path = NULL;
    int status = fetch_directory(set, &directory, err);
    if (status)
        return status;
    *path = file_join(directory, file->name);
    if (access(*path, F_OK) != 0)
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: not there: 'taper data fetch %s' downloads it", *path, set->name);
    else
        status = check_file(*path, "", err);
    free(directory);
    if (status) {
        free(*path);
        *path = NULL;
    }
    return status;
}
