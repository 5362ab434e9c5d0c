#include "tests/support/interop_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/trained/saved_model.h"
#include "tests/support/data.h"

char *interop_golden(const char *name, const char *file)
{
    return memory_format("tests/golden/interop/%s%s%s", name, file ? "/" : "", file ? file : "");
}

void interop_copy_file(const char *from_folder, const char *to_folder, const char *name)
{
    size_t size;
    char *from = file_join(from_folder, name);
    unsigned char *bytes = data_file_read(from, &size);
    free(data_file_write(to_folder, name, bytes, size));
    free(bytes);
    free(from);
}

void interop_write_model(const char *path, const struct model *m)
{
    struct error err = {0};
    float *params = model_download(m, m->params), *c = model_download_c(m);
    const struct saved_model_content content = {
        .cfg = &m->cfg, .table = &m->table, .params = params, .c = c, .step = 4};
    if (saved_model_write(path, &content, &err))
        fail_msg("%s", err.text);
    free(params);
    free(c);
}
