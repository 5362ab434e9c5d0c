#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "harness/base/embedded.h"
#include "harness/page/page_internal.h"

enum { SYSTEM_FILE_S = 3600 };

static int put_embedded(struct page_call *c, const char *name)
{
    const struct embedded *file = embedded_find(name);
    fwrite(file->text, 1, file->size, c->out);
    return STATUS_OK;
}

int page_asset_style(struct page_call *c, struct error *err)
{
    (void)err;
    put_embedded(c, "results/report.css");
    return put_embedded(c, "harness/page/page.css");
}

int page_asset_script(struct page_call *c, struct error *err)
{
    (void)err;
    return put_embedded(c, "harness/page/page.js");
}

/* Where Debian's libjs-dygraphs has it, or TAPER_DYGRAPHS says; on the heap. */
static char *dygraphs(const char *name)
{
    const char *dir = getenv("TAPER_DYGRAPHS");
    return file_join(dir && *dir ? dir : "/usr/share/javascript/dygraphs", name);
}

bool page_has_dygraphs(void)
{
    char *path = dygraphs("dygraph.min.js");
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

static int put_dygraphs(struct page_call *c, const char *name, struct error *err)
{
    struct file_map file;
    char *path = dygraphs(name);
    int status = file_map_open(&file, path, err);
    free(path);
    if (status)
        return status;
    fwrite(file.data, 1, file.size, c->out);
    file_map_close(&file);
    c->seconds = SYSTEM_FILE_S;
    return STATUS_OK;
}

int page_asset_dygraphs(struct page_call *c, struct error *err)
{
    return put_dygraphs(c, "dygraph.min.js", err);
}

int page_asset_dygraphs_style(struct page_call *c, struct error *err)
{
    return put_dygraphs(c, "dygraph.min.css", err);
}
