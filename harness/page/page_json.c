#include <stdlib.h>

#include <jansson.h>

#include "harness/daemon/standing.h"
#include "harness/page/page_internal.h"
#include "harness/page/page_parts.h"
#include "harness/results/run_compare.h"
#include "harness/results/run_list.h"
#include "harness/results/table.h"

static int put_json(struct page_call *c, json_t *all, size_t digits, struct error *err)
{
    int code = json_dumpf(all, c->out, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    json_decref(all);
    fputc('\n', c->out);
    return code == 0 ? STATUS_OK : error_set(err, STATUS_FAILED, "cannot write the answer");
}

int page_json_status(struct page_call *c, struct error *err)
{
    json_t *all = NULL;
    int status = standing_collect(c->reader->store, c->home, page_parameter(c, "sweep"), &all, err);
    return status ? status : put_json(c, all, 9, err);
}

int page_json_runs(struct page_call *c, struct error *err)
{
    struct result_rows rows = {0};
    int status = page_reader_prepare(c->reader, page_parameter(c, "sweep"), NULL, err);
    if (!status)
        status = run_list_make(&rows, &c->reader->from, err);
    if (!status)
        status = result_rows_print(&rows, c->out, LISTING_JSON, 0, err);
    result_rows_fini(&rows);
    return status;
}

int page_json_run(struct page_call *c, struct error *err)
{
    struct store_run run;
    json_t *all = NULL;
    int status = page_need_run(c, "run", &run, &all, err);
    return status ? status : put_json(c, all, 17, err);
}

int page_json_compare(struct page_call *c, struct error *err)
{
    const char *a = NULL, *b = NULL;
    struct run_compare pair = {0};
    int status = page_need(c, "a", &a, err);
    if (!status)
        status = page_need(c, "b", &b, err);
    if (!status)
        status = run_compare_make(&pair, c->reader->store, a, b, err);
    json_t *all = status ? NULL : run_compare_json(&pair);
    run_compare_fini(&pair);
    return status ? status : put_json(c, all, 17, err);
}

int page_json_table(struct page_call *c, struct error *err)
{
    const char *id = NULL, *sweep = page_parameter(c, "sweep");
    struct table t = {0};
    int status = page_need(c, "id", &id, err);
    if (!status)
        status = page_reader_prepare(c->reader, sweep, NULL, err);
    if (!status)
        status = table_make(&t, &c->reader->from, id, sweep, err);
    if (!status)
        status = table_print(&t, TABLE_JSON, c->out, err);
    table_fini(&t);
    return status;
}
