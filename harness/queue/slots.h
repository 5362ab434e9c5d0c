/* The ledger of what runs may use: CPU slots and GPUs, two pools that know nothing of each other.
 *
 * The CPU pool divides the processors the process may use among its slots. The GPU pool has `runs` units a GPU; a run
 * takes its units on one GPU. A GPU on which others use memory is left alone until they do not. A grant is named in
 * text ("cpu:0,1", "gpu:GPU-5a..:0"), by which it is taken again after a restart. One thread. */
#ifndef TAPER_HARNESS_QUEUE_SLOTS_H
#define TAPER_HARNESS_QUEUE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "core/base/error.h"

enum { SLOTS_MOST = 1024, SLOTS_NAME = 8192, SLOTS_DEVICE = 96 };

struct slots_options {
    int cpu;              /* CPU slots; -1: one for every four processors, at least one; 0: none */
    int gpu_runs;         /* runs on a GPU at a time; 0: leave GPUs alone */
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
};

struct slots;

struct slots *slots_create(const struct slots_options *options);
void slots_destroy(struct slots *s); /* NULL is fine */

/* Slots of a pool in all, most that one run can have, and free now (a busy GPU has none). */
int slots_total(const struct slots *s, int pool);
int slots_widest(const struct slots *s, int pool);
int slots_free(const struct slots *s, int pool);

/* Ask the driver again who uses what. Cheap without GPUs. */
void slots_refresh(struct slots *s);

/* Take `count` slots; false when there are not that many, on one device, now. */
bool slots_take(struct slots *s, int pool, int count, struct slots_grant *grant);

/* Take again what a grant of this name had, even if that is taken twice or no longer exists (what runs, runs). */
void slots_adopt(struct slots *s, const char *name, struct slots_grant *grant);

void slots_give(struct slots *s, const struct slots_grant *grant);

/* {"cpu":{"processors":8,"slots":[{"slot":0,"processors":"0-3","threads":4,"used":true}]},
 *  "gpu":{"driver":"","missing":"...","devices":[{"id":..,"name":..,"mig":..,"total":..,"used":..,"foreign":..,
 *  "busy":..,"runs":..,"taken":..}]}}. A new reference. */
json_t *slots_to_json(const struct slots *s);

#endif
