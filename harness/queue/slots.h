/* The ledger of what runs may use: CPU slots and GPUs, two pools that know nothing of each other.
 *
 * The CPU pool divides the processors the process may use among its slots. The GPU pool has some units on each GPU, and
 * perhaps a bound on all of them; a run takes its units on one GPU, with the memory that it will need there: what runs
 * share a GPU must fit beside each other, whether they have taken it yet or not. A GPU on which others use memory is
 * left alone until they do not, and one that is set aside until it is taken back. A grant is named in text ("cpu:0,1",
 * "gpu:GPU-5a..:0"), by which it is taken again after a restart. One thread. */
#ifndef TAPER_HARNESS_QUEUE_SLOTS_H
#define TAPER_HARNESS_QUEUE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "core/base/error.h"

enum { SLOTS_MOST = 1024, SLOTS_NAME = 8192, SLOTS_DEVICE = 96, SLOTS_WHY = 512 };

struct slots_options {
    int cpu;              /* CPU slots; -1: one for every four processors, at least one; 0: none */
    int gpu_runs;         /* slots of a GPU; 0: leave GPUs alone */
    int gpu_total;        /* slots of all GPUs, spread evenly (gpu_runs is then ignored); 0: no bound */
    const char *gpu_list; /* which GPUs (gpu_choice_listed); NULL: all that are visible. Copied, as is: */
    const char *visible;  /* what CUDA_VISIBLE_DEVICES says (gpu_choice_visible); NULL: it is not set */
    uint64_t gpu_foreign; /* bytes others may use on a GPU before it counts as busy */
    /* Whether a process is one of our workers' (NULL: none is). */
    bool (*owns)(void *arg, pid_t pid);
    void *arg;
};

struct slots_grant {
    int pool; /* enum device_kind */
    int count;
    int units[SLOTS_MOST];     /* which */
    char device[SLOTS_DEVICE]; /* "cpu", or the GPU's id */
    char name[SLOTS_NAME];
    char processors[SLOTS_NAME]; /* "0-3,8"; "" : any */
    int threads;                 /* 0: no opinion */
    uint64_t bytes;              /* of a GPU's memory, that are promised to it */
};

struct slots_wish {
    int pool, count;
    uint64_t bytes;    /* of a GPU's memory; 0: unknown, nobody counts them */
    const char *avoid; /* a GPU that is only taken where there is no other that would do, free or not; NULL: none */
};

struct slots;

/* STATUS_BAD_INPUT: the options name GPUs that are not here, or not visible. */
int slots_check(const struct slots_options *options, struct error *err);

struct slots *slots_create(const struct slots_options *options);
void slots_destroy(struct slots *s); /* NULL is fine */

/* Slots of a pool in all, most that one run can have, and free now (a busy GPU has none). */
int slots_total(const struct slots *s, int pool);
int slots_widest(const struct slots *s, int pool);
int slots_free(const struct slots *s, int pool);

/* Why there are no GPUs, or not those that were meant; "" otherwise. Lives as long as the slots, until refreshed. */
const char *slots_missing(const struct slots *s);

/* Ask the driver again who uses what. Cheap without GPUs. */
void slots_refresh(struct slots *s);

/* Take what is wished for; false when there is not that much, on one device, now. Memory binds only where runs share a
 * GPU: to a GPU that none of ours uses the run goes if the whole of it is large enough. */
bool slots_take(struct slots *s, const struct slots_wish *wish, struct slots_grant *grant);

/* The memory of the largest GPU, in bytes; 0: there is none, or it is unknown. */
uint64_t slots_largest(const struct slots *s);

/* What a grant's GPU has left to promise; 0 for one of the CPU. Promise so much more to the grant, whatever is left. */
uint64_t slots_memory_left(const struct slots *s, const struct slots_grant *grant);
void slots_promise(struct slots *s, struct slots_grant *grant, uint64_t bytes);

/* Give a GPU no more runs (what is there goes on), and why, since (UTC us); NULL takes it back. Also one that is not
 * here just now. */
void slots_set_aside(struct slots *s, const char *device, const char *why, int64_t since);

/* There are GPUs, and every one is set aside. */
bool slots_all_aside(const struct slots *s);

/* Take again what a grant of this name had, even if that is taken twice or no longer exists (what runs, runs). */
void slots_adopt(struct slots *s, const char *name, struct slots_grant *grant);

void slots_give(struct slots *s, const struct slots_grant *grant);

/* {"cpu":{"processors":8,"slots":[{"slot":0,"processors":"0-3","threads":4,"used":true}]},
 *  "gpu":{"driver":"","missing":"...","hidden":0,"slots":8,"devices":[{"id":..,"index":..,"name":..,"mig":..,"total":..,
 *  "used":..,"foreign":..,"promised":..,"busy":..,"runs":..,"taken":..,"aside":null or why,"since":null or UTC us}]}}.
 * hidden: GPUs of this machine that are not ours to use. A new reference. */
json_t *slots_to_json(const struct slots *s);

/* "2 slots on the CPU, 8 on 8 GPUs (1 each)". */
void slots_summary(const struct slots *s, char *to, size_t room);

#endif
