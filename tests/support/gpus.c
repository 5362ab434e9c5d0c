#include "tests/support/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static char folder[] = "/tmp/taper-gpus.XXXXXX";
static char *library, *listing;

int gpus_make(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    library = file_join(folder, "libnvidia-ml.so.1");
    listing = file_join(folder, "gpus");
    char *command = memory_format("cc -shared -fPIC -o %s tests/support/nvml/nvml.c", library);
    int code = system(command);
    free(command);
    setenv("TAPER_NVML", library, 1);
    setenv("FAKE_NVML", listing, 1);
    return code;
}

int gpus_drop(void **state)
{
    (void)state;
    unlink(library);
    unlink(listing);
    free(library);
    free(listing);
    return rmdir(folder);
}

const char *gpus_library(void)
{
    return library;
}

void gpus_are(const char *text)
{
    assert_int_equal(file_write_all(listing, text, strlen(text), NULL), STATUS_OK);
}
