#include "harness/daemon/daemon_submit.h"

#include <stdlib.h>

#include "core/base/memory.h"

struct submission {
    struct submission *next;
    struct submissions *owner;
    struct server_client *client; /* NULL: gone */
    json_t *request;
    uv_work_t work;
    /* What the thread has between being queued and being over. */
    struct submit_job *job;
    struct error err;
};

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

static void free_work(uv_work_t *work, int status)
{
    (void)status;
    free(work);
}

void submissions_init(struct submissions *s, uv_loop_t *loop, submission_ready *ready, void *arg)
{
    *s = (struct submissions){.loop = loop, .ready = ready, .arg = arg};
    uv_queue_work(loop, memory_alloc(1, sizeof(uv_work_t)), do_nothing, free_work);
}

static void on_thread(uv_work_t *work)
{
    struct submission *it = work->data;
    submit_job_prepare(it->job, &it->err);
}

static void on_over(uv_work_t *work, int status)
{
    struct submission *it = work->data;
    struct submissions *s = it->owner;
    struct submission **at = &s->first;
    while (*at != it)
        at = &(*at)->next;
    *at = it->next;
    s->count--;
    if (it->client && status == 0) {
        struct submit_job *job = it->job;
        it->job = NULL;
        s->ready(s->arg, it->client, it->request, job, it->err.status ? &it->err : NULL);
    }
    submit_job_destroy(it->job);
    json_decref(it->request);
    free(it);
}

int submissions_begin(struct submissions *s, struct server_client *client, json_t *request, struct error *err)
{
    struct submit_job *job;
    if (s->count == SUBMISSIONS_MOST)
        return error_set(err, STATUS_FAILED, "too many sweeps are being read at once (%d): try again later",
                         SUBMISSIONS_MOST);
    int status = submit_job_create(&job, request, err);
    if (status)
        return status;
    struct submission *it = memory_alloc(1, sizeof *it);
    *it = (struct submission){
        .next = s->first, .owner = s, .client = client, .request = json_incref(request), .job = job};
    it->work.data = it;
    s->first = it;
    s->count++;
    uv_queue_work(s->loop, &it->work, on_thread, on_over);
    return STATUS_OK;
}

void submissions_gone(struct submissions *s, const struct server_client *client)
{
    for (struct submission *it = s->first; it; it = it->next)
        if (it->client == client)
            it->client = NULL;
}

bool submissions_end(struct submissions *s)
{
    bool busy = false;
    for (struct submission *it = s->first; it; it = it->next) {
        it->client = NULL;
        busy |= uv_cancel((uv_req_t *)&it->work) != 0;
    }
    return !busy;
}
