#include "core/data/dataset.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core/data/bpe_train.h"
#include "core/data/cache.h"
#include "core/data/corpus/corpus.h"
#include "core/data/fetch.h"
#include "core/base/memory.h"

enum {
    TRAINER_VERSION = 1, /* raised when the same text would give another tokenizer */
    CUT_VERSION = 2,     /* raised when the same file may have other documents: its digest is taken again */
};

static void digest_text(char out[DATASET_DIGEST], const char *text)
{
    unsigned char bytes[32];
    crypto_generichash(bytes, sizeof bytes, (const unsigned char *)text, strlen(text), NULL, 0);
    sodium_bin2hex(out, DATASET_DIGEST, bytes, sizeof bytes);
}

/* ------------------------------------------------------------------------------------------- sources */

/* Where a split's documents come from. */
struct source {
    char *path;                  /* NULL: the built-in stories, not written yet */
    char digest[DATASET_DIGEST]; /* of the bytes, or of what they are generated from */
};

static int digest_path(const char *key, const char *path, const struct progress *progress, char out[DATASET_DIGEST],
                       struct error *err)
{
    struct text text;
    unsigned char bytes[TEXT_DIGEST_BYTES];
    if (text_open(&text, path, err))
        return error_wrap(err, "%s", key);
    text_digest(&text, progress, bytes);
    text_close(&text);
    sodium_bin2hex(out, DATASET_DIGEST, bytes, sizeof bytes);
    return STATUS_OK;
}

struct digest_call {
    const char *key, *path;
    const struct progress *progress;
};

static int write_digest(void *arg, const char *entry, struct error *err)
{
    const struct digest_call *call = arg;
    char digest[DATASET_DIGEST];
    int status = digest_path(call->key, call->path, call->progress, digest, err);
    return status ? status : file_write_all(entry, digest, DATASET_DIGEST - 1, err);
}

/* A large file is read once, not once a run: its digest is kept under what tells that it has not changed. */
static int digest_once(const char *key, const char *path, const struct progress *progress, char out[DATASET_DIGEST],
                       struct error *err)
{
    struct stat st;
    char real[PATH_MAX], id[DATASET_DIGEST];
    if (!realpath(path, real) || stat(real, &st) != 0 || !S_ISREG(st.st_mode))
        return digest_path(key, path, progress, out, err); /* a directory, or the error of one that is not there */
    char *what = memory_format("cut %d %s %lld %lld %lld.%09ld", CUT_VERSION, real, (long long)st.st_ino,
                               (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    digest_text(id, what);
    char *name = memory_format("digest-%.32s", id), *entry = NULL;
    int status = cache_entry(name, write_digest, &(struct digest_call){key, path, progress}, &entry, err);
    struct file_map map = {0};
    if (!status)
        status = file_map_open(&map, entry, err);
    if (!status && map.size != DATASET_DIGEST - 1)
        status = digest_path(key, path, progress, out, err); /* damaged: do without */
    else if (!status) {
        memcpy(out, map.data, DATASET_DIGEST - 1);
        out[DATASET_DIGEST - 1] = '\0';
    }
    file_map_close(&map);
    free(what);
    free(name);
    free(entry);
    return status;
}

static int source_file(struct source *s, const char *key, const char *path, const struct progress *progress,
                       struct error *err)
{
    s->path = memory_string(path);
    return digest_once(key, path, progress, s->digest, err);
}

static int source_fetched(struct source *s, const char *key, const char *name, const char *split,
                          const struct progress *progress, struct error *err)
{
    const struct fetch_set *set = fetch_find(name);
    for (int i = 0; set && i < set->count; i++)
        if (strcmp(set->files[i].split, split) == 0) {
            if (fetch_use(set, &set->files[i], &s->path, err))
                return error_wrap(err, "%s", key);
            return digest_once(key, s->path, progress, s->digest, err);
        }
    return error_set(err, STATUS_FAILED, "%s: %s has no %s split", key, name, split);
}

/* The validation part of the documents in percent; 0 when validation has a source of its own. */
static double valid_percent(const struct config *cfg)
{
    if (strcmp(cfg->valid, "auto") == 0)
        return strcmp(cfg->corpus, "tinystories") == 0 ? 0 : 5;
    double percent = config_percent(cfg->valid);
    return percent > 0 ? percent : 0;
}

static int find_sources(const struct config *cfg, const struct progress *progress, struct source *train,
                        struct source *valid, struct error *err)
{
    int status;
    *train = *valid = (struct source){0};
    if (strcmp(cfg->corpus, "stories") == 0) {
        char *what = memory_format("stories %d seed %lld size %lld", CORPUS_VERSION, (long long)cfg->corpus_seed,
                                   (long long)cfg->corpus_size);
        digest_text(train->digest, what);
        free(what);
        status = STATUS_OK;
    } else if (fetch_find(cfg->corpus)) {
        status = source_fetched(train, "data.corpus", cfg->corpus, "train", progress, err);
    } else {
        status = source_file(train, "data.corpus", cfg->corpus, progress, err);
    }
    if (status || valid_percent(cfg) > 0)
        return status;
    if (strcmp(cfg->valid, "auto") == 0)
        return source_fetched(valid, "data.valid", cfg->corpus, "valid", progress, err);
    return source_file(valid, "data.valid", cfg->valid, progress, err);
}

static void sources_release(struct source *train, struct source *valid)
{
    free(train->path);
    free(valid->path);
}

/* ------------------------------------------------------------------------------------------- digests */

static void corpus_digest(const struct config *cfg, const struct source *train, const struct source *valid,
                          char out[DATASET_DIGEST])
{
    char *what = valid_percent(cfg) > 0 ? memory_format("%s valid %.17g%%", train->digest, valid_percent(cfg))
                                        : memory_format("%s valid %s", train->digest, valid->digest);
    digest_text(out, what);
    free(what);
}

/* An entry that a text may hold is a class of the loss. */
static int check_classes(const struct config *cfg, int64_t entries, struct error *err)
{
    if (entries <= config_classes(cfg))
        return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "train.vocab: want at least the %lld entries of the tokenizer (data.tokenizer %s), got %lld",
                     (long long)entries, cfg->tokenizer, (long long)cfg->classes);
}

/* auto: a function of the training part and the size; a directory: what the tokenizer does. */
static int tokenizer_identity(const struct config *cfg, const char *corpus, struct tokenizer **loaded,
                              char out[DATASET_DIGEST], struct error *err)
{
    *loaded = NULL;
    if (strcmp(cfg->tokenizer, "auto") == 0) {
        char *what = memory_format("bpe %d vocab %lld of %s", TRAINER_VERSION, (long long)cfg->vocab, corpus);
        digest_text(out, what);
        free(what);
        return check_classes(cfg, cfg->vocab, err);
    }
    if (tokenizer_load(loaded, cfg->tokenizer, err))
        return error_wrap(err, "data.tokenizer");
    if ((int64_t)tokenizer_vocab_size(*loaded) > cfg->vocab) {
        long long found = tokenizer_vocab_size(*loaded);
        tokenizer_destroy(*loaded);
        *loaded = NULL;
        return error_set(err, STATUS_BAD_INPUT,
                         "data.tokenizer: %s has %lld entries, model.vocab is %lld, want at least as many",
                         cfg->tokenizer, found, (long long)cfg->vocab);
    }
    sodium_bin2hex(out, DATASET_DIGEST, tokenizer_digest(*loaded), TOKENIZER_DIGEST_BYTES);
    return check_classes(cfg, tokenizer_vocab_size(*loaded), err);
}

int dataset_digests(const struct config *cfg, char corpus[DATASET_DIGEST], char tokenizer[DATASET_DIGEST],
                    struct error *err)
{
    return dataset_digests_watched(cfg, NULL, corpus, tokenizer, err);
}

int dataset_digests_watched(const struct config *cfg, const struct progress *progress, char corpus[DATASET_DIGEST],
                            char tokenizer[DATASET_DIGEST], struct error *err)
{
    struct source train, valid;
    struct tokenizer *loaded = NULL;
    int status = find_sources(cfg, progress, &train, &valid, err);
    if (!status) {
        corpus_digest(cfg, &train, &valid, corpus);
        status = tokenizer_identity(cfg, corpus, &loaded, tokenizer, err);
    }
    tokenizer_destroy(loaded);
    sources_release(&train, &valid);
    return status;
}

/* ----------------------------------------------------------------------------------- the built-in text */

static int append_text(void *arg, const char *text, size_t length, struct error *err)
{
    struct file_writer *w = arg;
    if (fwrite(text, 1, length, w->stream) != length)
        return error_set(err, STATUS_FAILED, "%s: cannot write", w->path);
    return STATUS_OK;
}

struct stories_call {
    const struct config *cfg;
    int threads;
};

static int write_stories(void *arg, const char *path, struct error *err)
{
    const struct stories_call *call = arg;
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    status = corpus_generate((uint64_t)call->cfg->corpus_seed, (uint64_t)call->cfg->corpus_size, call->threads,
                             append_text, &w, err);
    if (!status)
        return file_commit(&w, err);
    file_abandon(&w);
    return status;
}

/* Give the built-in stories a path, by writing them to the cache. */
static int materialize(struct source *train, const struct config *cfg, int threads, struct error *err)
{
    if (train->path)
        return STATUS_OK;
    char *name = memory_format("stories-%.32s.txt", train->digest);
    int status = cache_entry(name, write_stories, &(struct stories_call){cfg, threads}, &train->path, err);
    free(name);
    return status ? error_wrap(err, "data.corpus: stories") : STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- making */

/* Everything dataset_open has at hand while it works. */
struct making {
    struct dataset *d;
    const struct config *cfg;
    int threads;
    const struct progress *progress;
    struct source train, valid;
    struct text train_text, valid_text; /* opened when first needed */
    size_t split;                       /* documents before it are trained on */
};

static void warn_of(const struct text *text)
{
    if (text->files && text_warning(text))
        fprintf(stderr, "taper: warning: %s\n", text_warning(text));
}

/* The text that was opened must be the one that was digested, now or when its time and size were last seen: what is
 * made of it carries that digest in its name. */
static int open_source(struct text *text, const char *key, const struct source *s, bool given, struct error *err)
{
    unsigned char bytes[TEXT_DIGEST_BYTES];
    char found[DATASET_DIGEST];
    if (text_open(text, s->path, err))
        return error_wrap(err, "%s", key);
    if (!given)
        return STATUS_OK;
    text_digest(text, NULL, bytes);
    sodium_bin2hex(found, sizeof found, bytes, sizeof bytes);
    return strcmp(found, s->digest) == 0
               ? STATUS_OK
               : error_set(err, STATUS_BAD_INPUT, "%s: %s: changed since it was digested: want digest %s, found %s",
                           key, s->path, s->digest, found);
}

static int open_texts(struct making *k, struct error *err)
{
    double percent = valid_percent(k->cfg);
    const bool given = k->train.path != NULL; /* the built-in stories are named by what they are generated from */
    int status;
    if (k->train_text.documents)
        return STATUS_OK;
    status = materialize(&k->train, k->cfg, k->threads, err);
    if (!status)
        status = open_source(&k->train_text, "data.corpus", &k->train, given, err);
    if (!status && percent == 0)
        status = open_source(&k->valid_text, "data.valid", &k->valid, true, err);
    if (status)
        return status;
    warn_of(&k->train_text);
    warn_of(&k->valid_text);
    k->split = k->train_text.count;
    if (percent > 0) {
        size_t part = (size_t)((double)k->train_text.count * percent / 100 + 0.5);
        k->split -= part ? part : 1;
        if (k->split < 1)
            return error_set(err, STATUS_BAD_INPUT,
                             "data.valid: %s has %zu document%s ('%s' separates them); a split wants 2, "
                             "or give a validation file",
                             k->cfg->corpus, k->train_text.count, k->train_text.count == 1 ? "" : "s", TEXT_SEPARATOR);
    }
    return STATUS_OK;
}

/* A part of a text as a text: its last document keeps the separator that follows it. */
static struct text part_of(const struct text *text, size_t from, size_t to)
{
    struct text part = *text;
    part.documents += from;
    part.count = to - from;
    if (to < text->count) {
        part.closed = true;
        part.bare_end = false;
    }
    part.bytes = 0;
    for (size_t i = 0; i < part.count; i++)
        part.bytes += part.documents[i].length;
    return part;
}

static int make_tokenizer(void *arg, const char *path, struct error *err)
{
    struct making *k = arg;
    struct tokenizer *t;
    int status = open_texts(k, err);
    if (status)
        return status;
    struct text part = part_of(&k->train_text, 0, k->split);
    status = tokenizer_train(&t, &part, (uint32_t)k->cfg->vocab, k->threads, k->progress, err);
    if (status) {
        error_wrap(err, "model.vocab %lld, data.corpus %s", (long long)k->cfg->vocab, k->cfg->corpus);
        return status;
    }
    /* A directory cannot replace another atomically, so it is filled beside and renamed once. */
    char *temporary = memory_format("%s.%ld-%ld", path, (long)getpid(), (long)gettid());
    status = tokenizer_save(t, temporary, err);
    if (!status && rename(temporary, path) != 0)
        status = error_set(err, STATUS_FAILED, "%s: cannot rename %s to it", path, temporary);
    free(temporary);
    tokenizer_destroy(t);
    return status;
}

static int find_tokenizer(struct making *k, struct error *err)
{
    if (k->d->tokenizer)
        return STATUS_OK;
    char *name = memory_format("tokenizer-%.32s", k->d->tokenizer_digest), *path = NULL;
    int status = cache_entry(name, make_tokenizer, k, &path, err);
    if (!status)
        status = tokenizer_load(&k->d->tokenizer, path, err);
    free(name);
    free(path);
    return status;
}

static int write_tokens(struct making *k, const struct text *text, const char *path, struct error *err)
{
    return tokens_write(path, k->d->tokenizer, text, k->threads, NULL, k->progress, err);
}

static int make_train_tokens(void *arg, const char *path, struct error *err)
{
    struct making *k = arg;
    int status = open_texts(k, err);
    if (status)
        return status;
    struct text part = part_of(&k->train_text, 0, k->split);
    return write_tokens(k, &part, path, err);
}

static int make_valid_tokens(void *arg, const char *path, struct error *err)
{
    struct making *k = arg;
    int status = open_texts(k, err);
    if (status)
        return status;
    if (valid_percent(k->cfg) == 0)
        return write_tokens(k, &k->valid_text, path, err);
    struct text part = part_of(&k->train_text, k->split, k->train_text.count);
    return write_tokens(k, &part, path, err);
}

static int find_tokens(struct making *k, const char *split, int (*make)(void *, const char *, struct error *),
                       struct tokens *out, char digest[DIGEST_TEXT], struct error *err)
{
    struct digest content;
    char id[DATASET_DIGEST], *path = NULL;
    char *what = memory_format("%s %s %s", split, k->d->corpus_digest, k->d->tokenizer_digest);
    digest_text(id, what);
    char *name = memory_format("tokens-%.32s.bin", id);
    int status = cache_entry(name, make, k, &path, err);
    if (!status)
        status = tokens_open(out, path, err);
    if (!status)
        status = tokens_check_tokenizer(out, k->d->tokenizer, path, err);
    if (!status) {
        digest_begin(&content);
        digest_add(&content, out->map.data, out->map.size);
        digest_end(&content, digest);
    }
    free(what);
    free(name);
    free(path);
    return status;
}

static int check_lengths(const struct making *k, struct error *err)
{
    const struct dataset *d = k->d;
    if ((int64_t)d->train.count <= k->cfg->context)
        return error_set(err, STATUS_BAD_INPUT,
                         "data.corpus: %s has %llu training tokens; a window of model.context %lld "
                         "wants %lld",
                         k->cfg->corpus, (unsigned long long)d->train.count, (long long)k->cfg->context,
                         (long long)k->cfg->context + 1);
    if (d->valid.count < 2)
        return error_set(err, STATUS_BAD_INPUT, "data.valid: %s has %llu validation tokens, want at least 2",
                         k->cfg->valid, (unsigned long long)d->valid.count);
    return STATUS_OK;
}

int dataset_open(struct dataset *d, const struct config *cfg, int threads, const struct progress *progress,
                 struct error *err)
{
    *d = (struct dataset){0};
    struct making k = {.d = d, .cfg = cfg, .threads = threads, .progress = progress};
    int status = find_sources(cfg, progress, &k.train, &k.valid, err);
    if (!status) {
        corpus_digest(cfg, &k.train, &k.valid, d->corpus_digest);
        status = tokenizer_identity(cfg, d->corpus_digest, &d->tokenizer, d->tokenizer_digest, err);
    }
    if (!status)
        status = find_tokenizer(&k, err);
    if (!status)
        status = find_tokens(&k, "train", make_train_tokens, &d->train, d->train_digest, err);
    if (!status)
        status = find_tokens(&k, "valid", make_valid_tokens, &d->valid, d->valid_digest, err);
    if (!status)
        status = check_lengths(&k, err);
    text_close(&k.train_text);
    text_close(&k.valid_text);
    sources_release(&k.train, &k.valid);
    if (status)
        dataset_close(d);
    return status;
}

void dataset_close(struct dataset *d)
{
    tokenizer_destroy(d->tokenizer);
    tokens_close(&d->train);
    tokens_close(&d->valid);
    *d = (struct dataset){0};
}
