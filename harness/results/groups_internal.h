/* Shared by the files that put runs together; nothing else includes it. */
#ifndef TAPER_HARNESS_RESULTS_GROUPS_INTERNAL_H
#define TAPER_HARNESS_RESULTS_GROUPS_INTERNAL_H

#include "harness/results/result_groups.h"

struct groups_keys {
    const char *name[CONFIG_KEYS_MOST]; /* the configuration table's own texts */
    int count;
};

struct groups_made {
    struct store *store;
    const char *sweep;
    const struct result_choice *choice;
    struct groups_keys keys; /* columns k0, k1 ... of the table member */
    bool *distinct, *shown;  /* of these keys: those that tell runs of a variant apart, and after --where */
    bool has_point;          /* sweep_run has the column */
    char *baseline, *other;  /* variant to compare with; the sweep it is from when that is another one */
    bool untapered;          /* every run to compare with has its norms and no auxiliary loss */
};

bool groups_is_seed(const char *key);
bool groups_has_key(const struct groups_keys *keys, const char *name);

/* STATUS_BAD_INPUT unless `key` is "variant" or one of the configuration; `option` names who asks. */
int groups_check_key(const char *option, const char *key, struct error *err);

/* Before there are members: what --compare or the spec says, or the variant named baseline. */
int groups_find_baseline(struct groups_made *made, struct error *err);

/* With the members: the first variant without tapered sites and auxiliary loss, where none is found yet. */
int groups_find_untapered(struct groups_made *made, struct error *err);

/* The column `wanted` of member: what --where asks for. */
int groups_filter(struct groups_made *made, struct error *err);

/* The table run_shown. */
int groups_make_shown(struct groups_made *made, struct error *err);

/* The view ablation over it, after results/groups.sql. */
int groups_make_ablation(struct groups_made *made, struct error *err);

int groups_read(struct result_groups *out, struct groups_made *made, struct error *err);

#endif
