/* Text from a model, token by token. */
#ifndef TAPER_CORE_GENERATE_H
#define TAPER_CORE_GENERATE_H

#include "core/data/tokenizer.h"
#include "core/model.h"

struct generate_options {
    const char *prompt;      /* encoded as text; empty: starts from <|endoftext|> */
    int64_t tokens;          /* most tokens to draw; generation ends earlier at <|endoftext|> */
    double temperature;      /* 0: the most likely token */
    double top_p;            /* 1: off */
    int top_k;               /* 0: off */
    uint64_t seed;
    /* Called with the bytes of the prompt, then of each token; a non-zero status ends generation and is returned. */
    int (*sink)(void *arg, const unsigned char *bytes, size_t length, struct error *err);
    void *arg;
};

/* Generate at gate `gate`. Windows longer than the context slide: the model sees the last context tokens. */
int generate(struct model *m, const struct tokenizer *tokenizer, double gate, const struct generate_options *options,
             struct error *err);

#endif
