#include "core/base/beside.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"

char *beside_program(const char *name)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    char *built = file_join(path, name);
    char *installed = memory_format("%s/../lib/taper/%s", path, name);
    bool take = access(built, F_OK) != 0 && access(installed, F_OK) == 0;
    free(take ? built : installed);
    return take ? installed : built;
}
