#include "core/data/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/data/cache.h"
#include "core/data/fetch_curl.h"
#include "core/data/novels.h"
#include "core/data/text_shape.h"
#include "core/base/file.h"
#include "core/base/memory.h"

enum { SUM_HEX = 64, PAGE_LOOKED_AT = 256, TEXT_LOOKED_AT = 1 << 16 };

/* Sizes and sums as the publisher's large-file records give them. */
static const struct fetch_file tinystories_files[] = {
    {"train", "TinyStoriesV2-GPT4-train.txt", 2227753162,
     "6418d412de72888f52b5142c761ac21a582f7d1166f0bfbdb5f03ccfdec90443"},
    {"valid", "TinyStoriesV2-GPT4-valid.txt", 22502601,
     "6874bae9a4c1a4e7edcf0e53b86c17817e9cf881fc75ff2368da457b80c0585d"},
};

/* Of a package, which apt verifies. */
static const struct fetch_file novels_files[] = {{"train", "novels.txt", 0, NULL}};

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

/* What a download must be; sum "": not known, size 0: not known. */
struct wanted {
    bool made; /* by a receiver of our own, out of a package that was checked: not what a server answered */
    char sum[SUM_HEX + 1];
    long long size;
};

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

/* With the word, behind what blanks and empty lines there are. */
static bool begins(const struct file_map *map, const char *word)
{
    size_t at = 0, length = strlen(word);
    while (at < map->size && at < PAGE_LOOKED_AT && map->data[at] && strchr(" \t\r\n", map->data[at]))
        at++;
    return map->size - at >= length && strncasecmp((const char *)map->data + at, word, length) == 0;
}

/* Can this be a text that somebody published? */
static int look_at(const struct file_map *map, const char *url, struct error *err)
{
    static const char *const pages[] = {"<!doctype", "<html", "<head", "<?xml", "<script", "<meta", "<error"};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (begins(map, pages[i]))
            return error_set(err, STATUS_BAD_INPUT, "%s: want a text, got a page of %zu bytes that begins with %s", url,
                             map->size, pages[i]);
    if (map->size < FETCH_LEAST)
        return error_set(err, STATUS_BAD_INPUT, "%s: want a text of %d bytes or more, got %zu", url, FETCH_LEAST,
                         map->size);
    if (memchr(map->data, '\0', map->size < TEXT_LOOKED_AT ? map->size : TEXT_LOOKED_AT))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a text, got bytes with zeros", url);
    return text_shape_check(map->data, map->size, url, err);
}

static int check_part(const struct fetch_download *d, const struct wanted *want, char sum[SUM_HEX + 1],
                      struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, d->part, err);
    if (status)
        return status;
    if (!want->sum[0] && !want->made)
        status = look_at(&map, d->url, err);
    else if (want->sum[0] && want->size && (long long)map.size != want->size)
        status = error_set(err, STATUS_BAD_INPUT, "%s: want %lld bytes, got %zu", d->url, want->size, map.size);
    file_map_close(&map);
    if (!status)
        status = file_sum(d->part, sum, err);
    if (!status && want->sum[0] && strcmp(want->sum, sum) != 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: wrong SHA-256: want %s, got %s", d->url, want->sum, sum);
    return status;
}

/* The part is whole: is it what is wanted? Then its sum is recorded and it gets its name, else it is set aside. */
static int accept_part(const struct fetch_download *d, const char *path, const char *name, const struct wanted *want,
                       struct error *err)
{
    char sum[SUM_HEX + 1];
    int status = check_part(d, want, sum, err);
    if (status == STATUS_BAD_INPUT) {
        char *bad = memory_format("%s.bad", d->part), *said = memory_string(err ? err->text : "");
        rename(d->part, bad);
        error_set(err, status, "%s (kept as %s)", said, bad);
        free(said);
        free(bad);
    }
    if (status)
        return status;
    if (fsync(d->lock) != 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot write", d->part);
    status = write_record(path, name, sum, err);
    if (!status && rename(d->part, path) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot rename to %s", d->part, path);
    return status;
}

typedef int receive(struct fetch_download *d, struct error *err);

static int download_file(receive *by, const char *url, const char *path, const char *name, const struct wanted *want,
                         const struct progress *progress, struct error *err)
{
    char *part = memory_format("%s.part", path);
    struct fetch_download d = {.url = url,
                               .part = part,
                               .headers = memory_format("%s.headers", path),
                               .most = want->size ? want->size : FETCH_MOST,
                               .progress = progress};
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
    char *directory;
    struct wanted want = {0};
    *path = NULL;
    if (sha256 && !parse_sum(sha256, strlen(sha256), want.sum))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a SHA-256 of 64 hex digits, got '%s'", file->split, sha256);
    int status = fetch_directory(set, &directory, err);
    if (status)
        return status;
    *path = file_join(directory, file->name);
    if (!base)
        base = variable(set->environment);
    const bool own = !base;
    receive *by = own ? set->receive : fetch_curl;
    want.made = by != fetch_curl;
    if (own)
        base = set->base;
    char *url = file_join(base, file->name);
    if (access(*path, F_OK) == 0) {
        status = check_file(*path, want.sum, err);
        if (!status && want.sum[0]) /* a file put there by hand: what was given is now what is recorded */
            status = write_record(*path, file->name, want.sum, err);
    } else {
        if (own && !want.sum[0] && file->sha256) {
            parse_sum(file->sha256, SUM_HEX, want.sum);
            want.size = file->size;
        }
        status = file_make_directories(directory, err);
        if (!status)
            status = download_file(by, url, *path, file->name, &want, progress, err);
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
