/* What the training loop writes to its journal. */
#include <math.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/train/train_internal.h"

/* step_ms: the time of every step since the row before, this one's last. */
static json_t *take_times(struct run *r)
{
    json_t *times = json_array();
    for (size_t i = 0; i < r->pending; i++)
        json_array_append_new(times, journal_number(r->pending_ms[i]));
    r->pending = 0;
    return times;
}

void run_log_time(struct run *r, double ms)
{
    if (r->pending == r->pending_room) {
        r->pending_room = r->pending_room ? 2 * r->pending_room : 64;
        r->pending_ms = memory_resize(r->pending_ms, r->pending_room, sizeof *r->pending_ms);
    }
    r->pending_ms[r->pending++] = ms;
}

int run_log_step(struct run *r, const struct step_report *report, struct error *err)
{
    const struct config *cfg = r->cfg;
    if (!report->logged)
        return STATUS_OK;
    json_t *line = json_object(), *sites = json_array();
    json_object_set_new(line, "step", json_integer(report->step));
    json_object_set_new(line, "tokens", json_integer(report->step * cfg->accumulate * cfg->batch * cfg->context));
    json_object_set_new(line, "lr", journal_number(report->lr));
    json_object_set_new(line, "gate", journal_number(report->gate));
    json_object_set_new(line, "grad_norm", journal_number(report->grad_norm));
    probe_step_to_json(&report->stats, line);
    json_object_set_new(line, "ms", journal_number(r->pending_ms[r->pending - 1]));
    json_object_set_new(line, "step_ms", take_times(r));
    for (int i = 0; i < r->model.table.site_count; i++)
        json_array_append_new(sites, probe_site_to_json(r->model.table.sites[i].name, &report->sites[i]));
    json_object_set_new(line, "site_step", sites);
    return journal_append(&r->journal, "step", line, err);
}

int run_log_eval(struct run *r, double loss, int64_t tokens, struct error *err)
{
    json_t *line = json_pack("{s:I, s:s, s:o, s:I}", "step", (json_int_t)r->trainer.step, "split", "valid", "loss",
                             journal_number(loss), "tokens", (json_int_t)tokens);
    return journal_append(&r->journal, "eval", line, err);
}

int run_log_event(struct run *r, const char *kind, const char *text, struct error *err)
{
    json_t *line = json_pack("{s:I, s:s, s:s}", "step", (json_int_t)r->trainer.step, "kind", kind, "text", text);
    return journal_append(&r->journal, "event", line ? line : json_object(), err);
}

int run_log_end(struct run *r, const char *state, const char *text, struct error *err)
{
    double loss = r->result->val_loss;
    json_t *line = json_pack("{s:I, s:s, s:o, s:I, s:s, s:s}", "step", (json_int_t)r->trainer.step, "state", state,
                             "val_loss", isnan(loss) && strcmp(state, "done") != 0 ? json_null() : journal_number(loss),
                             "params", (json_int_t)r->model.table.parameters, "device", r->ops->name, "text", text);
    return journal_append(&r->journal, "run", line ? line : json_object(), err);
}

void run_show(const struct run *r, const char *phase)
{
    const struct config *cfg = r->cfg;
    if (!r->options->progress)
        return;
    double tokens = (double)(cfg->accumulate * cfg->batch * cfg->context);
    bool timed = r->recent_ms > 0;
    r->options->progress(r->options->progress_arg,
                         &(struct train_progress){
                             .step = r->trainer.step,
                             .steps = cfg->steps,
                             .loss = r->last_loss,
                             .gate = r->trainer.model ? schedule_mean_gate(r->trainer.schedule, cfg, &r->model.table,
                                                                           r->trainer.step > 0 ? r->trainer.step : 1)
                                                      : 1,
                             .tokens_per_s = timed ? tokens / r->recent_ms * 1000 : NAN,
                             .seconds_left = timed ? (double)(cfg->steps - r->trainer.step) * r->recent_ms / 1000 : NAN,
                             .phase = phase,
                         });
}
