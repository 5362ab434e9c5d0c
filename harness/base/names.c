#include "harness/base/names.h"

#include <stdlib.h>

#include "core/base/memory.h"

void names_add(struct names *n, const char *name)
{
    char *longer = n->text ? memory_format("%s, %s", n->text, name) : memory_string(name);
    free(n->text);
    n->text = longer;
    n->count++;
}

void names_fini(struct names *n)
{
    free(n->text);
    *n = (struct names){0};
}
