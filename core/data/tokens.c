#include "core/data/tokens.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/parallel.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are mapped as they are: little-endian");

static const char magic[8] = {'T', 'A', 'P', 'E', 'R', 'T', 'O', 'K'};

enum { VERSION = 1, FLAG_BARE_END = 1, HEADER_BYTES = 128, BATCH_BYTES = 4 << 20 /* of text, a thread */ };

/* The first bytes of the file, as docs/formats.md lays them out. */
struct header {
    char magic[8];
    uint32_t version, width;
    uint64_t count;
    uint32_t vocab, end_of_text, flags, reserved;
    unsigned char tokenizer_digest[TOKENIZER_DIGEST_BYTES], text_digest[TEXT_DIGEST_BYTES];
    unsigned char zero[8];
    unsigned char check[16]; /* BLAKE2b-128 of what is before it */
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "the header's layout has no padding");

static void header_check(const struct header *h, unsigned char check[sizeof h->check])
{
    crypto_generichash(check, sizeof h->check, (const unsigned char *)h, offsetof(struct header, check), NULL, 0);
}

/* ---- reading ---- */

static int check_header(const struct header *h, const char *path, uint64_t size, struct error *err)
{
    static const unsigned char zero[sizeof h->zero];
    unsigned char check[sizeof h->check];
    header_check(h, check);
    if (h->version != VERSION)
        return error_set(err, STATUS_BAD_INPUT, "%s: token file of version %u; this program reads version %d", path,
                         h->version, VERSION);
    if (memcmp(check, h->check, sizeof check) != 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: damaged token file: the header does not match its checksum", path);
    if ((h->width != 2 && h->width != 4) || h->vocab == 0 || h->end_of_text >= h->vocab ||
        (h->width == 2 && h->vocab > 65536) || (h->flags & ~(uint32_t)FLAG_BARE_END) || h->reserved != 0 ||
        memcmp(h->zero, zero, sizeof zero) != 0)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: the token file's header makes no sense: width %u, vocabulary %u, end of text %u, flags %u", path,
            h->width, h->vocab, h->end_of_text, h->flags);
    if (h->count > (UINT64_MAX - HEADER_BYTES) / h->width || HEADER_BYTES + h->count * h->width != size)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: the header promises %llu ids of %u bytes after %d bytes; the file has %llu bytes", path,
                         (unsigned long long)h->count, h->width, HEADER_BYTES, (unsigned long long)size);
    return STATUS_OK;
}

static int check_ids(const struct tokens *t, const char *path, struct error *err)
{
    uint32_t most = 0;
    if (t->narrow) {
        uint16_t high = 0;
        for (uint64_t i = 0; i < t->count; i++)
            high = t->narrow[i] > high ? t->narrow[i] : high;
        most = high;
    } else {
        for (uint64_t i = 0; i < t->count; i++)
            most = t->wide[i] > most ? t->wide[i] : most;
    }
    if (t->count == 0 || most < t->vocab)
        return STATUS_OK;
    uint64_t at = 0;
    while (tokens_get(t, at) < t->vocab)
        at++;
    return error_set(err, STATUS_BAD_INPUT, "%s: id %u at position %llu is outside the vocabulary of %u", path,
                     tokens_get(t, at), (unsigned long long)at, t->vocab);
}

int tokens_open(struct tokens *tokens, const char *path, struct error *err)
{
    *tokens = (struct tokens){0};
    struct file_map map;
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    tokens->map = map;
    struct header h = {0};
    memcpy(&h, map.data, map.size < sizeof h ? map.size : sizeof h);
    if (map.size < sizeof magic || memcmp(h.magic, magic, sizeof magic) != 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: not a token file", path);
    else if (map.size < sizeof h)
        status = error_set(err, STATUS_BAD_INPUT, "%s: truncated token file: the header wants %d bytes, got %zu", path,
                           HEADER_BYTES, map.size);
    else
        status = check_header(&h, path, map.size, err);
    if (!status) {
        const void *ids = map.data + HEADER_BYTES;
        tokens->narrow = h.width == 2 ? ids : NULL;
        tokens->wide = h.width == 4 ? ids : NULL;
        tokens->count = h.count;
        tokens->width = h.width;
        tokens->vocab = h.vocab;
        tokens->end_of_text = h.end_of_text;
        tokens->bare_end = h.flags & FLAG_BARE_END;
        memcpy(tokens->tokenizer_digest, h.tokenizer_digest, sizeof h.tokenizer_digest);
        memcpy(tokens->text_digest, h.text_digest, sizeof h.text_digest);
        status = check_ids(tokens, path, err);
    }
    if (status)
        tokens_close(tokens);
    return status;
}

void tokens_close(struct tokens *tokens)
{
    file_map_close(&tokens->map);
    *tokens = (struct tokens){0};
}

uint32_t tokens_get(const struct tokens *tokens, uint64_t i)
{
    return tokens->narrow ? tokens->narrow[i] : tokens->wide[i];
}

void tokens_read(const struct tokens *tokens, uint64_t at, uint64_t count, int32_t *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = tokens->narrow ? tokens->narrow[at + i] : (int32_t)tokens->wide[at + i];
}

int tokens_check_tokenizer(const struct tokens *tokens, const struct tokenizer *t, const char *path, struct error *err)
{
    if (memcmp(tokens->tokenizer_digest, tokenizer_digest(t), TOKENIZER_DIGEST_BYTES) == 0)
        return STATUS_OK;
    char want[2 * TOKENIZER_DIGEST_BYTES + 1], got[sizeof want];
    sodium_bin2hex(want, sizeof want, tokens->tokenizer_digest, TOKENIZER_DIGEST_BYTES);
    sodium_bin2hex(got, sizeof got, tokenizer_digest(t), TOKENIZER_DIGEST_BYTES);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: encoded with another tokenizer: want the one of digest %s (%u tokens), got %s (%u tokens)",
                     path, want, tokens->vocab, got, tokenizer_vocab_size(t));
}

int tokens_decode(const struct tokens *tokens, const struct tokenizer *t, const char *path, FILE *out,
                  struct error *err)
{
    int status = tokens_check_tokenizer(tokens, t, path, err);
    if (status)
        return status;
    bool newlines_only = true; /* in the document so far: text.h says what that changes */
    size_t before = 0, begun = 0;
    tokenizer_before(t, &before); /* ids that are no part of the document they stand in front of */
    for (uint64_t i = 0; i < tokens->count && !ferror(out); i++) {
        uint32_t id = tokens_get(tokens, i);
        size_t length;
        const unsigned char *bytes = tokenizer_decode_bytes(t, id, &length);
        if (begun < before) {
            begun++;
            continue;
        }
        if (id != tokens->end_of_text) {
            for (size_t k = 0; k < length && newlines_only; k++)
                newlines_only = bytes[k] == '\n';
            fwrite(bytes, 1, length, out);
            continue;
        }
        if (!newlines_only)
            putc('\n', out);
        fputs(TEXT_SEPARATOR, out);
        if (i + 1 < tokens->count || !tokens->bare_end)
            putc('\n', out);
        newlines_only = true;
        begun = 0;
    }
    if (fflush(out) != 0 || ferror(out))
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot write the text", path);
    return STATUS_OK;
}

/* ---- writing ---- */

struct encoding {
    const struct tokenizer *t;
    const struct text *text;
    uint32_t width;
    size_t *bounds; /* [threads + 1]: the batch's documents */
    struct encoding_thread {
        struct encoder *encoder;
        uint32_t *ids; /* the share's ids; narrowed in place when width is 2 */
        size_t count, capacity;
        int status;
        struct error err;
    } * threads;
};

static void encode_share(void *arg, int thread, int threads)
{
    (void)threads;
    struct encoding *e = arg;
    struct encoding_thread *own = &e->threads[thread];
    const struct text *text = e->text;
    size_t begin = e->bounds[thread], end = e->bounds[thread + 1], room = 0;
    for (size_t i = begin; i < end; i++)
        room += tokenizer_room(e->t, text->documents[i].length) + 1;
    if (room > own->capacity) {
        own->capacity = room;
        free(own->ids);
        own->ids = memory_alloc(room, sizeof *own->ids);
    }
    own->count = 0;
    for (size_t i = begin; i < end && !own->status; i++) {
        size_t count;
        own->status = tokenizer_encode(own->encoder, text->documents[i].bytes, text->documents[i].length,
                                       own->ids + own->count, &count, &own->err);
        own->count += count;
        if (i + 1 < text->count || text->closed)
            own->ids[own->count++] = tokenizer_end_of_text(e->t);
    }
    if (e->width == 2)
        for (size_t i = 0; i < own->count; i++) {
            uint16_t id = (uint16_t)own->ids[i];
            memcpy((unsigned char *)own->ids + 2 * i, &id, 2);
        }
}

static int encode_batches(struct encoding *e, int threads, FILE *out, uint64_t *count, const struct progress *progress,
                          struct error *err)
{
    uint64_t done = 0;
    for (size_t at = 0; at < e->text->count; at = e->bounds[threads]) {
        text_split(e->text, at, (uint64_t)threads * BATCH_BYTES, threads, e->bounds);
        parallel_run(threads, encode_share, e);
        for (int i = 0; i < threads; i++) {
            struct encoding_thread *own = &e->threads[i];
            if (own->status) {
                if (err)
                    *err = own->err;
                return own->status;
            }
            if (own->count && fwrite(own->ids, e->width, own->count, out) != own->count)
                return error_errno(err, STATUS_FAILED, errno, "cannot write the ids");
            *count += own->count;
        }
        for (size_t i = at; i < e->bounds[threads]; i++)
            done += e->text->documents[i].length;
        if (progress && progress->report)
            progress->report(progress->arg, "encoding", done, e->text->bytes);
    }
    return STATUS_OK;
}

static int encode_text(FILE *out, struct header *h, const struct tokenizer *t, const struct text *text, int threads,
                       const struct progress *progress, struct error *err)
{
    struct encoding e = {.t = t, .text = text, .width = h->width};
    e.bounds = memory_alloc((size_t)threads + 1, sizeof *e.bounds);
    e.threads = memory_alloc((size_t)threads, sizeof *e.threads);
    int status = STATUS_OK;
    for (int i = 0; i < threads && !status; i++)
        status = encoder_create(&e.threads[i].encoder, t, err);
    if (!status)
        status = encode_batches(&e, threads, out, &h->count, progress, err);
    for (int i = 0; i < threads; i++) {
        encoder_destroy(e.threads[i].encoder);
        free(e.threads[i].ids);
    }
    free(e.threads);
    free(e.bounds);
    return status;
}

int tokens_write(const char *path, const struct tokenizer *t, const struct text *text, int threads, uint64_t *count,
                 const struct progress *progress, struct error *err)
{
    struct header h = {.version = VERSION,
                       .width = tokenizer_vocab_size(t) <= 65536 ? 2 : 4,
                       .vocab = tokenizer_vocab_size(t),
                       .end_of_text = tokenizer_end_of_text(t),
                       .flags = text->bare_end ? FLAG_BARE_END : 0};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.tokenizer_digest, tokenizer_digest(t), sizeof h.tokenizer_digest);
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    fwrite(&h, sizeof h, 1, w.stream); /* room; written again when the count is known */
    status = encode_text(w.stream, &h, t, text, threads < 1 ? 1 : threads, progress, err);
    if (status) {
        error_wrap(err, "%s", path);
        file_abandon(&w);
        return status;
    }
    text_digest(text, NULL, h.text_digest);
    header_check(&h, h.check);
    if (fseeko(w.stream, 0, SEEK_SET) != 0 || fwrite(&h, sizeof h, 1, w.stream) != 1) {
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write", path);
        file_abandon(&w);
        return status;
    }
    if (count)
        *count = h.count;
    return file_commit(&w, err);
}
