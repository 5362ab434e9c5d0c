/* Shared by the files of the page; nothing else includes it. */
#ifndef TAPER_HARNESS_PAGE_PAGE_INTERNAL_H
#define TAPER_HARNESS_PAGE_PAGE_INTERNAL_H

#include <stdio.h>

#include "harness/page/http_library.h"
#include "harness/page/page.h"
#include "harness/page/page_guard.h"
#include "harness/page/page_readers.h"

enum { PAGE_PARAMETERS = 32 };

/* A question, and the answer as it is made. */
struct page_call {
    struct page *page;
    const struct home *home;
    struct page_reader *reader;                                   /* of routes that read the database */
    const char *names[PAGE_PARAMETERS], *values[PAGE_PARAMETERS]; /* of the query, decoded; nobody vouches for them */
    int count;
    FILE *out;          /* the body */
    const char *type;   /* its content type; as the route says unless changed */
    const char *policy; /* Content-Security-Policy; NULL: that of pages */
    int seconds;        /* for which a browser may keep it; 0: not at all */
};

/* The first parameter of the name; NULL: none. */
const char *page_parameter(const struct page_call *c, const char *name);

/* The same; STATUS_BAD_INPUT when there is none, or it is empty. */
int page_need(const struct page_call *c, const char *name, const char **value, struct error *err);

/* A whole number between bounds, or `fallback` where the parameter is absent. */
int page_integer(const struct page_call *c, const char *name, long long low, long long high, long long fallback,
                 long long *out, struct error *err);

/* Write the answer to c->out. STATUS_BAD_INPUT is told as 404 (what was asked for is not there, or was asked wrongly);
 * everything else as 500. */
typedef int page_answer(struct page_call *c, struct error *err);

struct page_route {
    const char *path; /* whole */
    const char *type;
    bool reads; /* wants a reader */
    page_answer *answer;
};

/* NULL: nothing there. */
const struct page_route *page_route_find(const char *path);

/* Take a reader into c->reader, for routes that have none from the start; it is given back after the answer. */
int page_take_reader(struct page_call *c, struct error *err);

/* Pages: page_sweeps.c, page_sweep.c, page_run.c, page_paper.c (with the figures as images). */
page_answer page_html_sweeps, page_html_sweep, page_html_run, page_html_paper, page_figure_svg, page_figure_png;

/* page_json.c: what `--json` of the verbs prints. */
page_answer page_json_status, page_json_runs, page_json_run, page_json_compare, page_json_table;

/* page_curves.c: numbers to draw, thinned. */
page_answer page_json_curves;

/* page_assets.c: what is compiled in, and dygraphs where this machine has it. */
page_answer page_asset_style, page_asset_script, page_asset_curves, page_asset_icon, page_asset_dygraphs,
    page_asset_dygraphs_style;
bool page_has_dygraphs(void);

#endif
