/* The table of executors, and the pool of those that run on this machine. */
#include <stddef.h>

#include "harness/queue/executor.h"

static const struct executor_kind kinds[] = {{"local", executor_local_create, NULL},
                                             {"slurm", executor_slurm_create, executor_slurm_check}};

const struct executor_kind *executor_kind_at(int i)
{
    return i >= 0 && (size_t)i < sizeof kinds / sizeof kinds[0] ? &kinds[i] : NULL;
}

static int slots_pool_widest(struct executor *ex, int device)
{
    return slots_widest(ex->slots, device);
}

static int slots_pool_room(struct executor *ex, int device)
{
    return slots_free(ex->slots, device);
}

static bool slots_pool_take(struct executor *ex, const struct slots_wish *wish, struct slots_grant *grant)
{
    return slots_take(ex->slots, wish, grant);
}

static void slots_pool_give(struct executor *ex, const struct slots_grant *grant)
{
    slots_give(ex->slots, grant);
}

static void slots_pool_regain(struct executor *ex, const char *name, struct slots_grant *grant)
{
    slots_adopt(ex->slots, name, grant);
}

static void slots_pool_refresh(struct executor *ex)
{
    slots_refresh(ex->slots);
}

void executor_use_slots(struct executor *ex, struct slots *slots)
{
    ex->slots = slots;
    ex->widest = slots_pool_widest;
    ex->room = slots_pool_room;
    ex->take = slots_pool_take;
    ex->give = slots_pool_give;
    ex->regain = slots_pool_regain;
    ex->refresh = slots_pool_refresh;
}
