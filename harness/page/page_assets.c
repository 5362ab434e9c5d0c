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

int page_asset_curves(struct page_call *c, struct error *err)
{
    (void)err;
    return put_embedded(c, "harness/page/curves.js");
}

/* Two lines, one that falls and one that follows it. */
int page_asset_icon(struct page_call *c, struct error *err)
{
    (void)err;
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><rect width=\"16\" height=\"16\" rx=\"3\" "
          "fill=\"#0072b2\"/><path d=\"M2 3c4 0 5 8 12 9M2 6c4 0 5 6 12 7\" fill=\"none\" stroke=\"#fff\" "
          "stroke-width=\"1.4\"/></svg>\n",
          c->out);
    c->seconds = SYSTEM_FILE_S;
    return STATUS_OK;
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
