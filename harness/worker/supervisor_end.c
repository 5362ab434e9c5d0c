/* exit.json: how an attempt ended, for a daemon that may not have been there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/worker/supervisor.h"

int supervisor_end_write(const char *name, const struct supervisor_end *end, struct error *err)
{
    /* A log line may be cut inside a character, or be no UTF-8 at all. */
    json_t *text = json_string(end->text);
    json_t *object = json_pack("{s:s, s:i, s:s, s:i, s:i, s:b, s:s, s:i, s:f, s:f, s:I, s:f, s:I, s:I, s:o}", "token",
                               end->token, "attempt", end->attempt, "outcome", outcome_name(end->outcome), "code",
                               end->code, "signal", end->signal, "asked", (int)end->asked, "step", end->step, "killed",
                               end->killed, "cpu_user", end->cpu_user, "cpu_system", end->cpu_system, "max_rss",
                               (json_int_t)end->max_rss, "seconds", end->seconds, "started", (json_int_t)end->started,
                               "ended", (json_int_t)end->ended, "text", text ? text : json_string(""));
    char *bytes = object ? json_dumps(object, JSON_COMPACT) : NULL;
    int status =
        bytes ? file_replace(name, bytes, strlen(bytes), err) : error_set(err, STATUS_MEMORY, "%s: cannot write", name);
    free(bytes);
    json_decref(object);
    return status;
}

static int64_t integer_of(const json_t *object, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(object, name));
}

/* Not what a clock could not have counted: more than thirty years, or less than none. */
static double seconds_of(const json_t *object, const char *name)
{
    const double seconds = json_number_value(json_object_get(object, name));
    return seconds >= 0 && seconds <= 1e9 ? seconds : 0;
}

static void text_of(const json_t *object, const char *name, char *to, size_t room)
{
    const char *text = json_string_value(json_object_get(object, name));
    snprintf(to, room, "%s", text ? text : "");
}

/* A worker that outlived the change of its program still writes a "cause": exit, signal, timeout or failed. */
static bool read_outcome(const json_t *object, enum outcome *outcome)
{
    const char *cause = json_string_value(json_object_get(object, "cause"));
    if (cause && strcmp(cause, "exit") == 0) {
        *outcome = outcome_of_exit((int)integer_of(object, "code"), false);
        return true;
    }
    return outcome_parse(json_string_value(json_object_get(object, "outcome")), outcome) ||
           outcome_parse(cause, outcome);
}

int supervisor_end_read(const char *dir, struct supervisor_end *end, struct error *err)
{
    json_error_t where;
    char *path = file_join(dir, RUNDIR_EXIT);
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    *end = (struct supervisor_end){.outcome = OUTCOME_FAILED};
    if (!read_outcome(object, &end->outcome)) {
        int status = error_set(err, STATUS_BAD_INPUT, "%s: %s", path, object ? "no known outcome" : where.text);
        json_decref(object);
        free(path);
        return status;
    }
    text_of(object, "token", end->token, sizeof end->token);
    text_of(object, "step", end->step, sizeof end->step);
    text_of(object, "text", end->text, sizeof end->text);
    end->attempt = (int)integer_of(object, "attempt");
    end->code = (int)integer_of(object, "code");
    end->signal = (int)integer_of(object, "signal");
    end->killed = (int)integer_of(object, "killed");
    end->asked = json_is_true(json_object_get(object, "asked"));
    end->cpu_user = seconds_of(object, "cpu_user");
    end->cpu_system = seconds_of(object, "cpu_system");
    end->seconds = seconds_of(object, "seconds");
    end->max_rss = integer_of(object, "max_rss");
    end->started = integer_of(object, "started");
    end->ended = integer_of(object, "ended");
    json_decref(object);
    free(path);
    return STATUS_OK;
}
