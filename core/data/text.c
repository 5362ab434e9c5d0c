#include "core/data/text.h"

#include <errno.h>
#include <fts.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static const char separator[] = TEXT_SEPARATOR;
enum { SEPARATOR = sizeof separator - 1 };

struct text_files {
    struct file_map *maps;
    size_t count, capacity;
    struct text_document *documents; /* what text->documents points to */
    size_t document_capacity;
};

static void add_document(struct text *text, const unsigned char *bytes, size_t length)
{
    struct text_files *files = text->files;
    if (text->count == files->document_capacity) {
        files->document_capacity = files->document_capacity ? 2 * files->document_capacity : 64;
        files->documents = memory_resize(files->documents, files->document_capacity, sizeof *files->documents);
        text->documents = files->documents;
    }
    files->documents[text->count++] = (struct text_document){bytes, length};
    text->bytes += length;
}

static bool only_newlines(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != '\n')
            return false;
    return true;
}

/* A document before a separator line: its last newline goes, unless nothing but newlines would be left. */
static void add_closed(struct text *text, const unsigned char *bytes, size_t length)
{
    if (length && bytes[length - 1] == '\n' && !only_newlines(bytes, length))
        length--;
    add_document(text, bytes, length);
    text->closed = true;
}

/* The next separator line at or after `from`, NULL when there is none. */
static const unsigned char *find_separator(const struct file_map *map, size_t from)
{
    const unsigned char *end = map->data + map->size, *at = map->data + from;
    while ((at = memmem(at, (size_t)(end - at), separator, SEPARATOR))) {
        const unsigned char *after = at + SEPARATOR;
        if ((at == map->data || at[-1] == '\n') && (after == end || *after == '\n'))
            return at;
        at = after;
    }
    return NULL;
}

/* Cut one file; `last` when no file follows it. */
static void cut_file(struct text *text, const struct file_map *map, bool last)
{
    size_t at = 0;
    const unsigned char *found;
    while (at < map->size && (found = find_separator(map, at))) {
        size_t begin = (size_t)(found - map->data), after = begin + SEPARATOR;
        add_closed(text, map->data + at, begin - at);
        text->bare_end = last && after == map->size;
        at = after == map->size ? after : after + 1;
    }
    if (at == map->size)
        return;
    if (!last) {
        add_closed(text, map->data + at, map->size - at);
        return;
    }
    add_document(text, map->data + at, map->size - at);
    text->closed = false;
    text->bare_end = false;
}

static int add_file(struct text_files *files, const char *path, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, path, err);
    if (status || map.size == 0) /* an empty file adds nothing */
        return status;
    if (files->count == files->capacity) {
        files->capacity = files->capacity ? 2 * files->capacity : 8;
        files->maps = memory_resize(files->maps, files->capacity, sizeof *files->maps);
    }
    files->maps[files->count++] = map;
    return STATUS_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_entry(struct text_files *files, FTS *walk, FTSENT *entry, struct error *err)
{
    if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
        fts_set(walk, entry, FTS_SKIP);
        return STATUS_OK;
    }
    switch (entry->fts_info) {
    case FTS_F:
        return add_file(files, entry->fts_path, err);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
    case FTS_SLNONE:
        errno = entry->fts_errno ? entry->fts_errno : ENOENT;
        return error_errno(err, STATUS_BAD_INPUT, errno, "%s", entry->fts_path);
    case FTS_DC:
        return error_set(err, STATUS_BAD_INPUT, "%s: a link that leads back into the directory above it",
                         entry->fts_path);
    default:
        return STATUS_OK;
    }
}

static int add_directory(struct text_files *files, const char *path, struct error *err)
{
    char *copy = memory_string(path), *roots[] = {copy, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    int status = STATUS_OK;
    if (!walk)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot read the directory", path);
    while (!status) {
        errno = 0;
        FTSENT *entry = fts_read(walk);
        if (!entry) {
            if (errno)
                status = error_errno(err, STATUS_FAILED, errno, "%s: cannot read the directory", path);
            break;
        }
        status = add_entry(files, walk, entry, err);
    }
    if (walk)
        fts_close(walk);
    free(copy);
    return status;
}

int text_open(struct text *text, const char *path, struct error *err)
{
    *text = (struct text){.files = memory_alloc(1, sizeof *text->files)};
    struct stat st;
    bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    int status = directory ? add_directory(text->files, path, err) : add_file(text->files, path, err);
    if (!status && text->files->count == 0)
        status = error_set(
            err, STATUS_BAD_INPUT,
            directory ? "%s: no text: every file in it is empty, or it has none" : "%s: the file is empty", path);
    for (size_t i = 0; !status && i < text->files->count; i++)
        cut_file(text, &text->files->maps[i], i + 1 == text->files->count);
    if (status)
        text_close(text);
    return status;
}

void text_close(struct text *text)
{
    if (text->files) {
        for (size_t i = 0; i < text->files->count; i++)
            file_map_close(&text->files->maps[i]);
        free(text->files->maps);
        free(text->files->documents);
        free(text->files);
    }
    *text = (struct text){0};
}

void text_digest(const struct text *text, unsigned char digest[TEXT_DIGEST_BYTES])
{
    static const unsigned char break_line[] = "\n" TEXT_SEPARATOR "\n";
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, TEXT_DIGEST_BYTES);
    for (size_t i = 0; i < text->count; i++) {
        const struct text_document *d = &text->documents[i];
        crypto_generichash_update(&state, d->bytes, d->length);
        bool last = i + 1 == text->count;
        if (last && !text->closed)
            break;
        size_t skip = only_newlines(d->bytes, d->length), drop = last && text->bare_end;
        crypto_generichash_update(&state, break_line + skip, sizeof break_line - 1 - skip - drop);
    }
    crypto_generichash_final(&state, digest, TEXT_DIGEST_BYTES);
}

void text_split(const struct text *text, size_t from, uint64_t most, int threads, size_t *bounds)
{
    /* A document counts one byte more than it has, so that many empty ones are spread too. */
    size_t end = from;
    uint64_t total = 0;
    while (end < text->count && (end == from || total + text->documents[end].length + 1 <= most))
        total += text->documents[end++].length + 1;
    uint64_t done = 0;
    size_t at = from;
    bounds[0] = from;
    for (int i = 1; i < threads; i++) {
        uint64_t goal = (uint64_t)((double)total * i / threads);
        while (at < end && done < goal)
            done += text->documents[at++].length + 1;
        bounds[i] = at;
    }
    bounds[threads] = end;
}
