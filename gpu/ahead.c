/* Data ahead of the work: sent by the copy stream while the device is busy, taken by the work when its turn comes. */
#include "gpu/backend.h"

#include <string.h>

static bool open_slots(struct backend *be, size_t bytes)
{
    struct device *d = be->device;
    struct ahead *a = &be->ahead;
    for (int i = 0; i < STAGED_MOST && !device_failed(d); i++) {
        struct ahead_slot *s = &a->slots[i];
        s->memory = backend_memory(be, bytes);
        s->host = device_allocate_host(d, bytes);
        if (!s->host)
            device_fail_as(d, STATUS_MEMORY, "out of memory: %zu bytes of page-locked host memory asked for", bytes);
        s->arrived = device_event_create(d);
        s->taken = device_event_create(d);
        if (!device_failed(d)) /* the first copy comes after the zeroing of what it fills */
            device_event_record(d, s->taken, QUEUE_WORK);
    }
    a->room = device_failed(d) ? 0 : bytes;
    return a->room > 0;
}

void backend_stage(struct backend *be, const void *from, size_t bytes)
{
    struct device *d = be->device;
    struct ahead *a = &be->ahead;
    backend_begin(be, "stage");
    if (device_failed(d) || bytes == 0 || (a->room == 0 && !open_slots(be, bytes)))
        return;
    struct ahead_slot *s = &a->slots[a->staged % STAGED_MOST];
    if (bytes > a->room || a->staged - a->taken == STAGED_MOST) {
        device_fail(d, "%zu bytes in slots of %zu, %u of %d taken", bytes, a->room, a->staged - a->taken, STAGED_MOST);
        return;
    }
    a->staged++;
    device_event_synchronize(d, s->arrived);
    memcpy(s->host, from, bytes);
    device_event_wait(d, s->taken, QUEUE_COPY);
    device_send(d, s->memory, s->host, bytes);
    device_event_record(d, s->arrived, QUEUE_COPY);
}

void backend_unstage(struct backend *be, void *to, size_t bytes)
{
    struct device *d = be->device;
    struct ahead *a = &be->ahead;
    backend_begin(be, "unstage");
    if (device_failed(d) || bytes == 0)
        return;
    if (a->staged == a->taken || bytes > a->room) {
        device_fail(d, "%zu bytes in slots of %zu, %u of %d taken", bytes, a->room, a->staged - a->taken, STAGED_MOST);
        return;
    }
    struct ahead_slot *s = &a->slots[a->taken++ % STAGED_MOST];
    device_event_wait(d, s->arrived, QUEUE_WORK);
    write_full(be, to, (bytes + sizeof(float) - 1) / sizeof(float));
    device_copy(d, to, s->memory, bytes);
    device_event_record(d, s->taken, QUEUE_WORK);
}
