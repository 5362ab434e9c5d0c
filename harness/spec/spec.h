/* A sweep: a YAML file that stands for a list of runs.
 *
 * Loading is strict, and reports every fault of the file at once, as FILE:LINE:COLUMN: text. A scalar is typed by
 * its key, never by how YAML would read it, so quoted and plain are the same. Anchors, aliases and merge keys work.
 *
 * A run's configuration is the defaults, then base, then its grid point, then its variant, later ones winning.
 * Order of the runs: grid points as an odometer over the keys as written, the last one turning fastest, and for each
 * point every variant in the order written. So the variants of one point, which are compared with each other, start
 * together. Without variants there is one, named "default"; without a grid there is one point. With `search` all that
 * is there once for each sample, whose values belong to the point: sample 0 first, with its whole grid.
 *
 * Paths in data.corpus, data.tokenizer, data.valid and init.from are made absolute, from the directory the caller is
 * in, since a worker runs elsewhere. */
#ifndef TAPER_HARNESS_SPEC_SPEC_H
#define TAPER_HARNESS_SPEC_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "core/config/config.h"
#include "core/base/error.h"

enum {
    SPEC_FILE_MOST = 1 << 20,  /* bytes */
    SPEC_DEPTH_MOST = 16,      /* nesting of collections, through aliases too */
    SPEC_NODES_MOST = 1 << 18, /* nodes visited, each alias counted again: what bounds alias bombs */
    SPEC_KEYS_MOST = 1024,     /* keys of one mapping, merged ones too */
    SPEC_RUNS_MOST = 100000,   /* points of the grid times variants, before exclude */
    SPEC_NAME = 65,            /* sweep and variant names: at most 64 bytes */
    SPEC_BENCH_MOST = 32,      /* values of one bench list */
    SPEC_PACK_MOST = 64,       /* runs that share a worker */
    SPEC_RUNGS_MOST = 16,      /* of a search */
};

#define SPEC_STOP_METRIC "eval.loss"

enum spec_bench_kind { BENCH_DECODE, BENCH_LAST_TOKEN, BENCH_KINDS }; /* "decode", "last-token" */

struct spec_bench {
    int batches, contexts; /* both 0: this kind was not asked for */
    int64_t batch[SPEC_BENCH_MOST], context[SPEC_BENCH_MOST];
};

/* What a finished run does next. */
struct spec_after {
    bool fold;
    struct spec_bench bench[BENCH_KINDS];
};

/* How its runs are scheduled. */
struct spec_limits {
    int64_t slots;      /* slots a worker takes; default 1 */
    int64_t pack;       /* runs of equal shape that share a worker, at most; default 1 */
    int64_t retries;    /* attempts after the first failed one; default 2 */
    int64_t timeout_us; /* of one attempt; 0: none, the default */
    int64_t priority;   /* higher first; default 0 */
    bool fail_fast;     /* the first run that fails for good cancels the others */
};

/* Which runs of a search are paused on the way (store_search.h): at each rung all of a bracket are compared by their
 * validation loss, and the best go on. */
enum spec_policy { SPEC_STOP_NONE, SPEC_STOP_HALVING, SPEC_STOP_MEDIAN };

struct spec_rung {
    struct config_length length;
    char text[32]; /* as written */
};

struct spec_stop {
    enum spec_policy policy;
    int keep, of; /* halving: so many of so many go on */
    struct spec_rung rungs[SPEC_RUNGS_MOST];
    int rung_count;
    int line, column;
};

/* Holds where the key has one of the values. */
struct spec_condition {
    const struct config_key *key;
    char **values; /* as text that config_set takes */
    int count;
};

/* A key of the grid, or one that `search` draws: then it has a value for each sample, and only where its conditions
 * hold. Those of the grid come first. */
struct spec_axis {
    const struct config_key *key;
    char **values; /* as text that config_set takes */
    int count;
    bool sampled;
    struct spec_condition *conditions;
    int condition_count;
};

struct spec_pair {
    const struct config_key *key;
    char *value;
};

struct spec_variant {
    char name[SPEC_NAME];
    int line, column;
    struct spec_pair *pairs;
    int count;
};

/* What initial_resolve makes of an init.from, once for all runs that ask the same. */
struct spec_initial {
    char *from, *tokenizer, *digest;  /* as given */
    char *its_tokenizer, *its_digest; /* as resolved */
};

struct spec {
    char name[SPEC_NAME];
    char *about, *path, *text;   /* path as given, text: the YAML itself */
    char compare[2 * SPEC_NAME]; /* what its results are compared with, VARIANT or SWEEP/VARIANT; "": not said */
    struct config base;          /* defaults and base, not finished */
    struct spec_axis *axes;
    struct spec_variant *variants;
    int axis_count, variant_count;
    int64_t samples; /* of `search`; 1 without */
    struct spec_stop stop;
    struct spec_initial *initials;
    int initial_count;
    struct spec_after after;
    struct spec_limits limits;
    char *slurm;     /* what its jobs are given on Slurm, as JSON (spec_slurm.h); NULL: nothing */
    int64_t *points; /* run i: grid point * variant_count + variant, excluded ones left out */
    int64_t run_count;
};

/* Load and expand. On failure STATUS_BAD_INPUT, and the spec is empty: every fault goes to `report`, a line each, in
 * the order of the file, and err says how many; with report NULL err holds as many of them as fit. */
int spec_load(struct spec *spec, const char *path, FILE *report, struct error *err);

/* The same from memory; `path` names the text in faults, relative paths are taken from `directory`. */
int spec_parse(struct spec *spec, const char *text, size_t size, const char *path, const char *directory, FILE *report,
               struct error *err);

void spec_fini(struct spec *spec); /* fine on a zeroed one */

/* The finished configuration of run i in 0..run_count-1. Returns its variant's index. */
int spec_run(const struct spec *spec, int64_t i, struct config *cfg);

/* The run whose result run i begins with (init.run): that of the variant it names, at the same point; -1 for none. */
int64_t spec_run_needed(const struct spec *spec, int64_t i);

/* Give the configuration of such a run the name of the one it needs, which is then in its own name. */
void spec_begin_with(struct config *cfg, const char *needed);

/* The grid values of run i, as text, axis by axis (points into the spec). */
const char *spec_run_value(const struct spec *spec, int64_t i, int axis);

/* Which of an axis' values run i has, from 0: of a drawn key the sample, also where its conditions do not hold. */
int spec_run_place(const struct spec *spec, int64_t i, int axis);

/* The grid point of run i as JSON, {"gate.end":"40%","seed":1}: the axes of more than one value, in the order written,
 * as the grid has them whatever a variant makes of them; "{}" when there are none. On the heap. The points borrow the
 * spec. */
struct spec_points;
struct spec_points *spec_points_create(const struct spec *spec);
char *spec_point(const struct spec_points *points, int64_t i);
void spec_points_destroy(struct spec_points *points); /* NULL is fine */

/* The bracket of run i, those it is compared with at the rungs of a search: its variant, and the point's keys that are
 * not drawn, without seeds: "all" or "all {\"model.size\":\"1M\"}". On the heap. */
char *spec_bracket(const struct spec_points *points, int64_t i);

/* {"policy":"halving","metric":"eval.loss","rungs":["10%","25%"],"keep":[1,3]}; "" when nothing is stopped. On the
 * heap. */
char *spec_stop_json(const struct spec_stop *stop);

/* `after` as JSON, {"fold":true,"bench":{"decode":{"batch":[1,16],"context":[512]}}}, as runs carry it (a new
 * reference), and the reverse; `where` names the source in errors. */
json_t *spec_after_to_json(const struct spec_after *after);
int spec_after_from_json(struct spec_after *after, const json_t *object, const char *where, struct error *err);
const char *spec_bench_name(enum spec_bench_kind kind);

/* `compare` of a sweep's text as it was submitted, into `to`; "" when it says nothing. */
void spec_text_compare(const char *text, char *to, size_t room);

/* The text of a length of time: 12h, 30m, 90s, 2d, 1h30m; to microseconds. Returns 0, or -1 when it is none. */
int spec_duration(const char *text, int64_t *us);

#endif
