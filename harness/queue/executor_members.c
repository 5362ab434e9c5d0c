#include "harness/queue/executor_members.h"

#include <stdlib.h>

#include "core/base/memory.h"

void members_add(struct members *m, const char *dir, int place, int attempt, char *handle)
{
    const size_t count = (size_t)m->count + 1;
    m->at = memory_resize(m->at, count, sizeof *m->at);
    m->handles = memory_resize(m->handles, count, sizeof *m->handles);
    m->at[m->count] = (struct member){.dir = memory_string(dir), .place = place, .attempt = attempt};
    m->handles[m->count++] = handle;
}

void members_release(struct members *m)
{
    for (int i = 0; i < m->count; i++) {
        free(m->at[i].dir);
        free(m->handles[i]);
    }
    free(m->at);
    free(m->handles);
    *m = (struct members){0};
}

int members_unreported(const struct members *m)
{
    int n = 0;
    for (int i = 0; i < m->count; i++)
        n += !m->at[i].reported;
    return n;
}

void member_report(struct executor *executor, struct executor_job *job, struct member *m,
                   const struct executor_end *end)
{
    m->reported = true;
    executor->on_end(executor->arg, job, m->place, end);
}
