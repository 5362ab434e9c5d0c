#include <string.h>

#include "harness/page/page_internal.h"

#define HTML   "text/html; charset=utf-8"
#define JSON   "application/json"
#define SCRIPT "text/javascript; charset=utf-8"
#define IMAGE  "image/svg+xml"
#define STYLE  "text/css; charset=utf-8"

static const struct page_route routes[] = {
    {"/", HTML, true, page_html_sweeps},
    {"/sweep", HTML, true, page_html_sweep},
    {"/run", HTML, true, page_html_run},
    {"/paper", HTML, true, page_html_paper},
    {"/figure.svg", IMAGE, false, page_figure_svg},
    {"/figure.png", "image/png", false, page_figure_png},
    {"/api/status.json", JSON, true, page_json_status},
    {"/api/runs.json", JSON, true, page_json_runs},
    {"/api/run.json", JSON, true, page_json_run},
    {"/api/compare.json", JSON, true, page_json_compare},
    {"/api/table.json", JSON, true, page_json_table},
    {"/api/curves.json", JSON, true, page_json_curves},
    {"/assets/page.css", STYLE, false, page_asset_style},
    {"/assets/page.js", SCRIPT, false, page_asset_script},
    {"/assets/curves.js", SCRIPT, false, page_asset_curves},
    {"/assets/icon.svg", IMAGE, false, page_asset_icon},
    {"/assets/dygraph.js", SCRIPT, false, page_asset_dygraphs},
    {"/assets/dygraph.css", STYLE, false, page_asset_dygraphs_style},
};

const struct page_route *page_route_find(const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    return NULL;
}
