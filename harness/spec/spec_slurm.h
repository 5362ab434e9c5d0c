/* What a sweep may say of its jobs on Slurm (run: slurm:), one row an option: as the file has it, how it is checked,
 * and what sbatch is told. The options of a run are kept as a JSON object of those that were given. */
#ifndef TAPER_HARNESS_SPEC_SPEC_SLURM_H
#define TAPER_HARNESS_SPEC_SPEC_SLURM_H

#include <stddef.h>

enum spec_slurm_kind {
    SLURM_WORD,     /* text without blanks and control characters */
    SLURM_COUNT,    /* a whole number from 1 */
    SLURM_DURATION, /* 12h, 30m: in JSON seconds */
    SLURM_MEMORY,   /* 8G, 500M: as sbatch reads it */
    SLURM_WORDS,    /* a list of texts without blanks and control characters */
    SLURM_EXTRA,    /* a list of sbatch's own options, each from its -- on */
    SLURM_LINES,    /* a list of lines for the batch script */
};

struct spec_slurm_option {
    const char *name;
    enum spec_slurm_kind kind;
    const char *flag; /* of sbatch, without its --; NULL: it is not an option of sbatch's */
};

/* The options there are; NULL past the last. */
const struct spec_slurm_option *spec_slurm_option_at(size_t i);

#endif
