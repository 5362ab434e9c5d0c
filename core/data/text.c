#include "core/data/text.h"

#include <errno.h>
#include <fts.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/data/text_internal.h"
#include "core/data/text_shape.h"

static const char separator[] = TEXT_SEPARATOR;
enum { SEPARATOR = sizeof separator - 1, DIGEST_PIECE = 64 << 20 };

struct text_files {
    struct file_map *maps;
    size_t count, capacity;
    struct text_document *documents; /* what text->documents points to */
    size_t document_capacity;
    char **paths; /* [count] */
    void **kept;  /* documents that no map holds */
    size_t kept_count, kept_capacity;
    char *warning; /* of the first place that looks like a separator and is none */
    size_t strays;
};

void text_add_document(struct text *text, const unsigned char *bytes, size_t length)
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
static void add_closed(struct text *text, const unsigned char *bytes, size_t length, bool carriage)
{
    if (length && bytes[length - 1] == '\n' && !only_newlines(bytes, length)) {
        length--;
        if (carriage && length && bytes[length - 1] == '\r')
            length--;
    }
    text_add_document(text, bytes, length);
    text->closed = true;
}

/* A separator line: where it begins, and where what follows it does. */
struct separator_line {
    size_t begin, after;
    bool newline, carriage; /* at its end */
};

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t';
}

/* Is the spelt separator at `at` a line of its own? */
static bool is_line(const unsigned char *bytes, size_t size, size_t at, struct separator_line *line)
{
    size_t begin = at, end = at + SEPARATOR;
    while (begin > 0 && is_blank(bytes[begin - 1]))
        begin--;
    while (end < size && is_blank(bytes[end]))
        end++;
    line->carriage = end < size && bytes[end] == '\r' && (end + 1 == size || bytes[end + 1] == '\n');
    end += line->carriage;
    line->newline = end < size && bytes[end] == '\n';
    line->begin = begin;
    line->after = end + line->newline;
    return (begin == 0 || bytes[begin - 1] == '\n') && (end == size || line->newline);
}

/* The next separator line at or after `from`; *stray is set to the first spelt one on the way that is none (SIZE_MAX
 * when there is none). */
static bool find_separator(const unsigned char *bytes, size_t size, size_t from, struct separator_line *line,
                           size_t *stray, size_t *strays)
{
    const unsigned char *at = bytes + from;
    while ((at = memmem(at, size - (size_t)(at - bytes), separator, SEPARATOR))) {
        if (is_line(bytes, size, (size_t)(at - bytes), line))
            return true;
        if (!*strays)
            *stray = (size_t)(at - bytes);
        ++*strays;
        at += SEPARATOR;
    }
    return false;
}

bool text_has_separator(const unsigned char *bytes, size_t length)
{
    struct separator_line line;
    size_t stray, strays = 0;
    return find_separator(bytes, length, 0, &line, &stray, &strays);
}

static void note_strays(struct text_files *files, const char *path, const struct file_map *map, size_t stray,
                        size_t strays)
{
    size_t line = 1;
    if (!files->strays && strays) {
        for (size_t i = 0; i < stray; i++)
            line += map->data[i] == '\n';
        files->warning = memory_format(
            "%s:%zu: " TEXT_SEPARATOR " inside a line is text; a separator is a line of its own", path, line);
    }
    files->strays += strays;
}

/* Cut one file; `last` when no file follows it. */
static void cut_file(struct text *text, const char *path, const struct file_map *map, bool last)
{
    size_t at = 0, stray = 0, strays = 0;
    struct separator_line found;
    while (at < map->size && find_separator(map->data, map->size, at, &found, &stray, &strays)) {
        add_closed(text, map->data + at, found.begin - at, found.carriage);
        text->bare_end = last && found.after == map->size && !found.newline;
        at = found.after;
    }
    note_strays(text->files, path, map, stray, strays);
    if (at == map->size)
        return;
    if (!last) {
        add_closed(text, map->data + at, map->size - at, false);
        return;
    }
    text_add_document(text, map->data + at, map->size - at);
    text->closed = false;
    text->bare_end = false;
}

void text_keep(struct text *text, void *memory)
{
    struct text_files *files = text->files;
    if (files->kept_count == files->kept_capacity) {
        files->kept_capacity = files->kept_capacity ? 2 * files->kept_capacity : 64;
        files->kept = memory_resize(files->kept, files->kept_capacity, sizeof *files->kept);
    }
    files->kept[files->kept_count++] = memory;
}

const char *text_warning(const struct text *text)
{
    return text->files->warning;
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
        files->paths = memory_resize(files->paths, files->capacity, sizeof *files->paths);
    }
    files->paths[files->count] = memory_string(path);
    files->maps[files->count++] = map;
    return text_shape_check(map.data, map.size, path, err);
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

static int cut_files(struct text *text, const char *field, struct error *err)
{
    const struct text_files *files = text->files;
    int status = STATUS_OK;
    for (size_t i = 0; i < files->count && !status; i++) {
        const struct file_map *map = &files->maps[i];
        if (field)
            status = text_cut_lines(text, files->paths[i], map, field, err);
        else if (text_shape_is_json_lines(map->data, map->size))
            status = error_set(err, STATUS_BAD_INPUT,
                               "%s: want a plain text, got JSON lines: --field NAME reads one of their fields, and "
                               "`taper data text --field NAME` makes a text of it",
                               files->paths[i]);
        else
            cut_file(text, files->paths[i], map, i + 1 == files->count);
    }
    return status;
}

int text_open(struct text *text, const char *path, struct error *err)
{
    return text_open_field(text, path, NULL, err);
}

int text_open_field(struct text *text, const char *path, const char *field, struct error *err)
{
    *text = (struct text){.files = memory_alloc(1, sizeof *text->files)};
    struct stat st;
    bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    int status = directory ? add_directory(text->files, path, err) : add_file(text->files, path, err);
    if (!status && text->files->count == 0)
        status = error_set(
            err, STATUS_BAD_INPUT,
            directory ? "%s: no text: every file in it is empty, or it has none" : "%s: the file is empty", path);
    if (!status)
        status = cut_files(text, field, err);
    if (!status && text->count == 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: no line of JSON in it", path);
    if (status)
        text_close(text);
    return status;
}

void text_close(struct text *text)
{
    if (text->files) {
        for (size_t i = 0; i < text->files->count; i++) {
            file_map_close(&text->files->maps[i]);
            free(text->files->paths[i]);
        }
        for (size_t i = 0; i < text->files->kept_count; i++)
            free(text->files->kept[i]);
        free(text->files->maps);
        free(text->files->paths);
        free(text->files->kept);
        free(text->files->documents);
        free(text->files->warning);
        free(text->files);
    }
    *text = (struct text){0};
}

/* A document's bytes, in pieces, so that what is said of the progress follows a big one too. */
static void digest_document(crypto_generichash_state *state, const struct text_document *d, uint64_t *done,
                            uint64_t total, const struct progress *progress)
{
    uint64_t before = *done / DIGEST_PIECE;
    for (size_t at = 0; at < d->length;) {
        size_t piece = d->length - at < DIGEST_PIECE ? d->length - at : DIGEST_PIECE;
        crypto_generichash_update(state, d->bytes + at, piece);
        at += piece;
        *done += piece;
        if (progress && progress->report && *done / DIGEST_PIECE != before)
            progress->report(progress->arg, "reading the text", *done, total);
        before = *done / DIGEST_PIECE;
    }
}

void text_digest(const struct text *text, const struct progress *progress, unsigned char digest[TEXT_DIGEST_BYTES])
{
    static const unsigned char break_line[] = "\n" TEXT_SEPARATOR "\n";
    crypto_generichash_state state;
    uint64_t done = 0;
    crypto_generichash_init(&state, NULL, 0, TEXT_DIGEST_BYTES);
    for (size_t i = 0; i < text->count; i++) {
        const struct text_document *d = &text->documents[i];
        digest_document(&state, d, &done, text->bytes, progress);
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
