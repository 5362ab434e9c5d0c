#include "core/ref/blocks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

enum { ALIGNMENT = 64 };

/* Stands right before the memory it describes and keeps it aligned. */
struct block {
    struct block *next, *previous;
    char pad[ALIGNMENT - 2 * sizeof(struct block *)];
};

_Static_assert(sizeof(struct block) == ALIGNMENT, "a block header keeps the alignment");

void *blocks_alloc(struct block_list *list, size_t bytes, struct error *err)
{
    struct block *block = bytes <= SIZE_MAX / 2 ? memory_large(sizeof *block + bytes) : NULL;
    if (!block) {
        error_set(err, STATUS_MEMORY, "out of memory: %zu bytes asked for", bytes);
        return NULL;
    }
    memset(block, 0, sizeof *block + bytes);
    block->next = list->first;
    if (list->first)
        list->first->previous = block;
    list->first = block;
    return block + 1;
}

void blocks_release(struct block_list *list, void *memory)
{
    if (!memory)
        return;
    struct block *block = (struct block *)memory - 1;
    if (block->previous)
        block->previous->next = block->next;
    else
        list->first = block->next;
    if (block->next)
        block->next->previous = block->previous;
    free(block);
}

void blocks_release_all(struct block_list *list)
{
    while (list->first) {
        struct block *next = list->first->next;
        free(list->first);
        list->first = next;
    }
}
