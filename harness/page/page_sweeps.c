/* The first page: every sweep, what is running, what failed, what waits. */
#include <math.h>
#include <string.h>

#include "harness/base/format.h"
#include "harness/daemon/standing.h"
#include "harness/page/page_html.h"
#include "harness/page/page_parts.h"

static void put_sweep(FILE *out, const json_t *row)
{
    char text[160];
    const char *name = page_field(row, "sweep");
    const json_t *submitted = json_object_get(row, "submitted");
    fputs("<tr><td>", out);
    page_link_to(out, "/sweep", "name", name, name);
    fputs(json_is_true(json_object_get(row, "paused")) ? " <span class=\"state paused\">paused</span>" : "", out);
    fputs("</td><td>", out);
    page_progress(out, page_field_number(row, "done"), page_field_number(row, "runs"));
    fprintf(out, "</td><td class=\"n\">%.0f</td><td class=\"note\">", page_field_number(row, "runs"));
    page_text(out, status_counts(row, text));
    fprintf(out, "</td><td class=\"n\" data-sort=\"%lld\">", (long long)json_integer_value(submitted));
    page_text(out, format_time(text, json_integer_value(submitted)));
    fputs("</td></tr>\n", out);
}

static void put_sweeps(FILE *out, const json_t *sweeps)
{
    if (json_array_size(sweeps) == 0) {
        fputs("<p class=\"none\">Nothing was submitted to this home yet: <code>taper submit SPEC.yaml</code></p>\n",
              out);
        return;
    }
    fputs(
        "<div class=\"scroll\"><table class=\"sortable\">\n<caption class=\"hidden\">Sweeps</caption>\n<thead><tr><th "
        "scope=\"col\">Sweep</th><th scope=\"col\">Progress</th><th scope=\"col\" class=\"n\">Runs</th><th "
        "scope=\"col\">State</th><th scope=\"col\" class=\"n\">Submitted</th></tr></thead>\n<tbody>\n",
        out);
    for (size_t i = json_array_size(sweeps); i-- > 0;) /* the newest first */
        put_sweep(out, json_array_get(sweeps, i));
    fputs("</tbody></table></div>\n", out);
}

void page_put_live(FILE *out, const json_t *live)
{
    size_t i;
    const json_t *row;
    char left[32];
    if (json_array_size(live) == 0)
        return;
    fputs("<h2>Running</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Run</th><th "
          "scope=\"col\">Variant</th><th scope=\"col\" class=\"n\">Seed</th><th scope=\"col\">Progress</th><th "
          "scope=\"col\" class=\"n\">Step</th><th scope=\"col\" class=\"n\">Loss</th><th scope=\"col\" "
          "class=\"n\">Left</th></tr></thead>\n<tbody>\n",
          out);
    for (i = 0; (row = json_array_get(live, i)); i++) {
        bool stalled = json_is_true(json_object_get(row, "stalled"));
        double step = page_field_number(row, "step"), steps = page_field_number(row, "steps");
        fputs("<tr><td>", out);
        page_link_to(out, "/run", "id", page_field(row, "run"), page_field(row, "run"));
        fputs("</td><td class=\"note\">", out);
        page_text(out, page_field(row, "variant"));
        fprintf(out, "</td><td class=\"n\">%.0f</td><td>", page_field_number(row, "seed"));
        page_progress(out, step, steps);
        fprintf(out, "</td><td class=\"n\">%.0f / %.0f</td><td class=\"n\">", step, steps);
        page_number(out, json_object_get(row, "loss"));
        fputs("</td><td class=\"n\">", out);
        format_duration(left, page_field_number(row, stalled ? "quiet" : "seconds_left"));
        fprintf(out, "%s%s</td></tr>\n", stalled ? "no step for " : "", left);
    }
    fputs("</tbody></table></div>\n", out);
}

void page_put_failures(FILE *out, const json_t *failures)
{
    size_t i;
    const json_t *row;
    if (json_array_size(failures) == 0)
        return;
    fputs("<h2>Failed last</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Run</th><th "
          "scope=\"col\">Variant</th><th scope=\"col\">Cause</th><th scope=\"col\">Why</th></tr></thead>\n<tbody>\n",
          out);
    for (i = 0; (row = json_array_get(failures, i)); i++) {
        fputs("<tr><td>", out);
        page_link_to(out, "/run", "id", page_field(row, "run"), page_field(row, "run"));
        fputs("</td><td class=\"note\">", out);
        page_text(out, page_field(row, "variant"));
        fputs("</td><td>", out);
        page_text(out, page_field(row, "cause"));
        fputs("</td><td class=\"note\">", out);
        page_text(out, page_field(row, "text"));
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

void page_put_waiting(FILE *out, const json_t *waiting)
{
    size_t i;
    const json_t *row;
    if (json_array_size(waiting) == 0)
        return;
    fputs("<h2>Waiting</h2>\n<ul>\n", out);
    for (i = 0; (row = json_array_get(waiting, i)); i++)
        page_element(out, json_is_true(json_object_get(row, "never")) ? "li class=\"bad\"" : "li",
                     page_field(row, "text"));
    fputs("</ul>\n", out);
}

int page_html_sweeps(struct page_call *c, struct error *err)
{
    json_t *all = NULL;
    FILE *out = c->out;
    int status = standing_collect(c->reader->store, c->home, NULL, &all, err);
    if (status)
        return status;
    const json_t *daemon = json_object_get(all, "daemon");
    page_begin(c, "Sweeps", NULL);
    fputs("<div id=\"fresh\">\n", out);
    if (json_is_object(daemon))
        fprintf(out, "<p class=\"lead\">Daemon %.0f, %.0f running.%s</p>\n", page_field_number(daemon, "pid"),
                page_field_number(daemon, "live"),
                json_is_true(json_object_get(all, "paused")) ? " The queue is paused." : "");
    else if (!c->home->alone)
        fputs("<p class=\"lead\">No daemon serves this home.</p>\n", out);
    if (json_is_object(daemon) && *page_field(daemon, "trouble"))
        page_element(out, "p class=\"bad\"", page_field(daemon, "trouble"));
    put_sweeps(out, json_object_get(all, "sweeps"));
    page_put_live(out, json_object_get(all, "live"));
    page_put_waiting(out, json_object_get(all, "waiting"));
    page_put_failures(out, json_object_get(all, "failures"));
    fputs("</div>\n", out);
    page_end(c);
    json_decref(all);
    return STATUS_OK;
}
