/* A run: how it stands, its configuration and that of another beside it, attempts, sites, log, samples, events. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/base/format.h"
#include "harness/daemon/standing.h"
#include "harness/page/page_html.h"
#include "harness/page/page_parts.h"
#include "harness/results/run_compare.h"

enum { TAIL_BYTES = 65536 };

static bool is_time(const char *name)
{
    static const char *const times[] = {"created", "started", "ended", "not_before", "cancel", "time"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (strcmp(times[i], name) == 0)
            return true;
    return false;
}

/* An object's texts and numbers, a line each; what is empty is left out. */
static void put_object(FILE *out, const json_t *object)
{
    const char *name;
    json_t *value;
    char text[32];
    fputs("<dl>\n", out);
    json_object_foreach((json_t *)object, name, value)
    {
        bool time = is_time(name);
        if (json_is_null(value) || json_is_object(value) || (json_is_string(value) && !json_string_length(value)) ||
            (time && json_integer_value(value) == 0))
            continue;
        page_element(out, "dt", name);
        fputs("<dd>", out);
        if (time)
            page_text(out, format_time(text, json_integer_value(value)));
        else if (json_is_real(value))
            fputs(format_real(text, json_real_value(value)), out);
        else if (json_is_boolean(value))
            fputs(json_is_true(value) ? "true" : "false", out);
        else
            page_number(out, value);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
}

static void put_folded(FILE *out, const char *title, const json_t *object)
{
    fputs("<details><summary>", out);
    page_text(out, title);
    fputs("</summary>\n", out);
    put_object(out, object);
    fputs("</details>\n", out);
}

/* A list of objects as a table: these of their fields. */
static void put_table(FILE *out, const char *title, const json_t *list, const char *const *fields)
{
    size_t i;
    const json_t *row;
    char text[32];
    if (json_array_size(list) == 0)
        return;
    page_element(out, "h2", title);
    fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
    for (const char *const *f = fields; *f; f++)
        page_element(out,
                     json_is_number(json_object_get(json_array_get(list, 0), *f)) && !is_time(*f)
                         ? "th scope=\"col\" class=\"n\""
                         : "th scope=\"col\"",
                     *f);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (i = 0; (row = json_array_get(list, i)); i++) {
        fputs("<tr>", out);
        for (const char *const *f = fields; *f; f++) {
            const json_t *value = json_object_get(row, *f);
            bool time = is_time(*f);
            fprintf(out, "<td%s>",
                    json_is_number(value) && !time ? " class=\"n\""
                    : strcmp(*f, "text") == 0      ? " class=\"note\""
                                                   : "");
            if (time)
                page_text(out, format_time(text, json_integer_value(value)));
            else
                page_number(out, value);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* The end of a file of the run's directory; nothing where there is none. */
static void put_tail(struct page_call *c, const char *id, const char *name, const char *title)
{
    char *path = home_run_file(c->home, id, name), *bytes = memory_alloc(TAIL_BYTES + 1, 1);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool there = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    off_t from = there && st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t n = there ? pread(fd, bytes, TAIL_BYTES, from) : 0;
    if (n > 0) {
        char *text = bytes;
        for (ssize_t i = 0; i < n; i++) /* no text has one */
            bytes[i] = bytes[i] ? bytes[i] : ' ';
        if (from && strchr(text, '\n'))
            text = strchr(text, '\n') + 1;
        page_element(c->out, "h2", title);
        fputs("<pre class=\"tail\" tabindex=\"0\">", c->out);
        page_text(c->out, text);
        fputs("</pre>\n", c->out);
    }
    if (fd >= 0)
        close(fd);
    free(bytes);
    free(path);
}

/* Why it is not done, of the last attempt. */
static void put_why(FILE *out, const json_t *all)
{
    static const char *const from[] = {"outcome_text", "text", "cause"};
    const json_t *attempts = json_object_get(all, "attempts");
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    const char *state = page_field(json_object_get(all, "run"), "state");
    const json_t *decisions = json_object_get(all, "decisions");
    const json_t *decided = json_array_get(decisions, json_array_size(decisions) - 1);
    if (strcmp(state, "paused") == 0 && decided)
        page_element(out, "p", page_field(decided, "why"));
    for (size_t i = 0; strcmp(state, "failed") == 0 && i < sizeof from / sizeof from[0]; i++)
        if (page_field(last, from[i]) && *page_field(last, from[i])) {
            page_element(out, "p class=\"bad\"", page_field(last, from[i]));
            return;
        }
}

static void put_standing(FILE *out, const json_t *all)
{
    const json_t *run = json_object_get(all, "run");
    static const char *const losses[] = {"val_loss", "loss"};
    fputs("<p>", out);
    page_state(out, page_field(run, "state"));
    fputc(' ', out);
    page_progress(out, page_field_number(run, "step"), page_field_number(run, "steps"));
    fprintf(out, " step %.0f of %.0f", page_field_number(run, "step"), page_field_number(run, "steps"));
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (!json_is_null(json_object_get(run, losses[i]))) {
            fprintf(out, " &middot; %s ", losses[i]);
            page_number(out, json_object_get(run, losses[i]));
        }
    fputs("</p>\n", out);
    put_why(out, all);
}

static void put_rows(FILE *out, const struct result_rows *rows, const char *const *headings)
{
    fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
    for (int k = 0; k < rows->columns; k++) {
        const struct result_value *first = result_at(rows, 0, k);
        bool number = first->type == RESULT_INTEGER || first->type == RESULT_REAL;
        page_element(out, number ? "th scope=\"col\" class=\"n\"" : "th scope=\"col\"",
                     headings ? headings[k] : rows->names[k]);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int r = 0; r < rows->rows; r++) {
        fputs("<tr>", out);
        for (int k = 0; k < rows->columns; k++) {
            const struct result_value *v = result_at(rows, r, k);
            fprintf(out, "<td%s>", v->type == RESULT_INTEGER || v->type == RESULT_REAL ? " class=\"n\"" : "");
            page_value(out, v, true);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* The other runs of its sweep, to choose one to stand beside it. */
static int put_choice(struct page_call *c, const struct store_run *run, struct error *err)
{
    struct result_rows rows;
    FILE *out = c->out;
    const char *against = page_parameter(c, "against");
    int status = result_query(
        &rows, c->reader->store, "the other runs",
        "SELECT run, variant, seed, point FROM run_in_sweep WHERE sweep = :sweep ORDER BY position", run->sweep, err);
    if (status)
        return status;
    fputs("<form class=\"filter\" action=\"/run\"><input type=\"hidden\" name=\"id\" value=\"", out);
    page_text(out, run->id);
    fputs("\"><label>Compare with <select name=\"against\"><option value=\"\"></option>", out);
    for (int r = 0; r < rows.rows; r++) {
        const char *id = result_text(&rows, r, 0), *point = result_text(&rows, r, 3);
        if (strcmp(id, run->id) == 0)
            continue;
        char *name = memory_format("%s, seed %.0f %s", result_text(&rows, r, 1), result_number(&rows, r, 2),
                                   strcmp(point, "{}") ? point : "");
        fprintf(out, "<option value=\"%s\"%s>", id, against && strcmp(against, id) == 0 ? " selected" : "");
        page_text(out, name);
        fputs("</option>", out);
        free(name);
    }
    fputs("</select></label> <button>Compare</button></form>\n", out);
    result_rows_fini(&rows);
    return STATUS_OK;
}

static int put_comparison(struct page_call *c, const struct store_run *run, struct error *err)
{
    static const char *const headings[] = {"key", "this run", "the other"};
    static const char *const evals[] = {"step", "split", "this run", "the other"};
    const char *against = page_parameter(c, "against");
    struct run_compare pair = {0};
    if (!against || !*against)
        return STATUS_OK;
    int status = run_compare_make(&pair, c->reader->store, run->id, against, err);
    if (!status) {
        char *title =
            memory_format("Beside %s/%s/%lld", pair.run[1].sweep, pair.run[1].variant, (long long)pair.run[1].seed);
        page_element(c->out, "h3", title);
        free(title);
        if (pair.rows[COMPARE_KEYS].rows)
            put_rows(c->out, &pair.rows[COMPARE_KEYS], headings);
        else
            fputs("<p class=\"none\">No key of the configuration differs.</p>\n", c->out);
        if (pair.rows[COMPARE_LOSSES].rows)
            put_rows(c->out, &pair.rows[COMPARE_LOSSES], evals);
    }
    run_compare_fini(&pair);
    return status;
}

static int put_sites(struct page_call *c, const char *id, struct error *err)
{
    struct result_rows rows;
    char *sql =
        memory_format("SELECT site, step, c, agreement, scale_mean, gamma_norm, gamma_tilde_norm FROM "
                      "site_step_numeric WHERE run = '%s' AND step = (SELECT max(step) FROM site_step WHERE run = "
                      "'%s') ORDER BY site NOT LIKE 'blocks.%%', CAST(substr(site, 8) AS INTEGER), site",
                      id, id);
    int status = result_query(&rows, c->reader->store, "the sites", sql, NULL, err);
    free(sql);
    if (!status && rows.rows) {
        page_element(c->out, "h2", "Sites, at the last logged step");
        put_rows(c->out, &rows, NULL);
    }
    result_rows_fini(&rows);
    return status;
}

static int put_body(struct page_call *c, const struct store_run *run, json_t *all, struct error *err)
{
    static const char *const attempts[] = {"attempt", "started", "ended", "cause", "text",
                                           "device",  "host",    "slot",  NULL};
    static const char *const evals[] = {"step", "split", "loss", "tokens", NULL};
    static const char *const rungs[] = {"time", "sweep",  "bracket", "rung", "step", "metric",
                                        "rank", "ranked", "verdict", "why",  NULL};
    static const char *const events[] = {"time", "kind", "step", "text", NULL};
    FILE *out = c->out;
    char *title = memory_format("%s, seed %lld", run->variant, (long long)run->seed);
    page_begin(c, title, run->sweep);
    free(title);
    fputs("<p class=\"lead\">", out);
    page_text(out, run->id);
    fputs(" of sweep ", out);
    page_link_to(out, "/sweep", "name", run->sweep, run->sweep);
    fputs("</p>\n<div id=\"fresh\">\n", out);
    put_standing(out, all);
    fputs("</div>\n", out);
    int status = page_put_curves(c, run->sweep, run->id, err);
    page_element(out, "h2", "Configuration");
    if (!status)
        status = put_choice(c, run, err);
    if (!status)
        status = put_comparison(c, run, err);
    if (status)
        return status;
    put_folded(out, "Every key", json_object_get(all, "config"));
    put_folded(out, "In the queue", json_object_get(all, "run"));
    fputs("<div id=\"fresh-log\">\n", out);
    put_table(out, "Evaluations", json_object_get(all, "evals"), evals);
    status = put_sites(c, run->id, err);
    put_table(out, "Rungs of its search", json_object_get(all, "decisions"), rungs);
    put_table(out, "Attempts", json_object_get(all, "attempts"), attempts);
    put_tail(c, run->id, RUNDIR_LOG, "The log's end");
    put_tail(c, run->id, RUNDIR_SAMPLES, "Samples");
    put_table(out, "Events", json_object_get(all, "events"), events);
    fputs("</div>\n", out);
    page_end(c);
    return status;
}

int page_need_run(struct page_call *c, const char *name, struct store_run *run, json_t **all, struct error *err)
{
    const char *word = NULL;
    int status = page_need(c, name, &word, err);
    if (!status)
        status = store_run_find(c->reader->store, word, run, err);
    return status ? status : standing_run(c->reader->store, c->home, run->id, all, err);
}

int page_html_run(struct page_call *c, struct error *err)
{
    struct store_run run;
    json_t *all = NULL;
    int status = page_need_run(c, "id", &run, &all, err);
    if (!status)
        status = put_body(c, &run, all, err);
    json_decref(all);
    return status;
}
