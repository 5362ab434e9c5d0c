#include "core/ref/staged.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

void staged_put(struct staged *s, const void *from, size_t bytes)
{
    unsigned slot = s->put++ % STAGED_MOST;
    if (bytes > s->room[slot]) {
        s->slots[slot] = memory_resize(s->slots[slot], bytes, 1);
        s->room[slot] = bytes;
    }
    memcpy(s->slots[slot], from, bytes);
}

void staged_take(struct staged *s, void *to, size_t bytes)
{
    memcpy(to, s->slots[s->taken++ % STAGED_MOST], bytes);
}

void staged_clear(struct staged *s)
{
    for (int i = 0; i < STAGED_MOST; i++)
        free(s->slots[i]);
    *s = (struct staged){0};
}
