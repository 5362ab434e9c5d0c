/* Text from a model, token by token. */
#ifndef TAPER_CORE_DECODE_GENERATE_H
#define TAPER_CORE_DECODE_GENERATE_H

#include "core/data/tokenizer.h"
#include "core/decode/decoder.h"
#include "core/model/model.h"

struct generate_options {
    const char *prompt; /* encoded as text; empty: starts from <|endoftext|> */
    int64_t tokens;     /* most tokens to draw; generation ends earlier at <|endoftext|> */
    double temperature; /* 0: the most likely token */
    double top_p;       /* 1: off */
    int top_k;          /* 0: off */
    uint64_t seed;
    int threads; /* as decoder_options' */
    enum decoder_weights weights;
    bool no_cache; /* run the whole window for every token: slow, for comparison */
    /* Called with the bytes of the prompt, then of each token; a non-zero status ends generation and is returned. */
    int (*sink)(void *arg, const unsigned char *bytes, size_t length, struct error *err);
    void *arg;
};

struct generate_result {
    int64_t prompt, drawn;   /* tokens */
    double prompt_s, draw_s; /* seconds: reading the prompt, and all after */
};

/* Generate with the model as its sites stand. A text longer than the context slides: the model sees its last context/2
 * to context tokens (generate_window_start), with or without the cache. `result` may be NULL. */
int generate(struct model *m, const struct tokenizer *tokenizer, const struct generate_options *options,
             struct generate_result *result, struct error *err);

/* Where the window begins that sees `count` tokens: 0 while they fit, then in jumps of half the context, so that the
 * cache is rebuilt once in that many tokens and not at each. */
int64_t generate_window_start(int64_t count, int64_t context);

#endif
