#include "harness/queue/slurm_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum slurm_phase phase;
    enum outcome outcome;
} states[] = {
    {"PENDING", SLURM_PENDING, OUTCOME_LOST},       {"CONFIGURING", SLURM_PENDING, OUTCOME_LOST},
    {"REQUEUED", SLURM_PENDING, OUTCOME_LOST},      {"REQUEUE_HOLD", SLURM_PENDING, OUTCOME_LOST},
    {"REQUEUE_FED", SLURM_PENDING, OUTCOME_LOST},   {"SPECIAL_EXIT", SLURM_PENDING, OUTCOME_LOST},
    {"RESV_DEL_HOLD", SLURM_PENDING, OUTCOME_LOST}, {"RUNNING", SLURM_RUNNING, OUTCOME_LOST},
    {"SUSPENDED", SLURM_RUNNING, OUTCOME_LOST},     {"STOPPED", SLURM_RUNNING, OUTCOME_LOST},
    {"RESIZING", SLURM_RUNNING, OUTCOME_LOST},      {"SIGNALING", SLURM_RUNNING, OUTCOME_LOST},
    {"COMPLETING", SLURM_ENDING, OUTCOME_LOST},     {"STAGE_OUT", SLURM_ENDING, OUTCOME_LOST},
    {"COMPLETED", SLURM_OVER, OUTCOME_FAILED}, /* a worker that did its work says so */
    {"FAILED", SLURM_OVER, OUTCOME_FAILED},         {"CANCELLED", SLURM_OVER, OUTCOME_REVOKED},
    {"REVOKED", SLURM_OVER, OUTCOME_REVOKED},       {"TIMEOUT", SLURM_OVER, OUTCOME_TIME_LIMIT},
    {"DEADLINE", SLURM_OVER, OUTCOME_TIME_LIMIT},   {"PREEMPTED", SLURM_OVER, OUTCOME_PREEMPTED},
    {"NODE_FAIL", SLURM_OVER, OUTCOME_NODE},        {"BOOT_FAIL", SLURM_OVER, OUTCOME_NODE},
    {"OUT_OF_MEMORY", SLURM_OVER, OUTCOME_MEMORY},
};

/* A state may have something after it: "CANCELLED by 1000". One that is not known is taken for running: it is not
 * finished, and it is asked for again. */
static void set_state(struct slurm_row *row, const char *text, size_t length)
{
    snprintf(row->state, sizeof row->state, "%.*s", (int)length, text);
    row->state[strcspn(row->state, " +")] = '\0';
    row->phase = SLURM_RUNNING;
    row->outcome = OUTCOME_LOST;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strcmp(states[i].name, row->state) == 0) {
            row->phase = states[i].phase;
            row->outcome = states[i].outcome;
        }
}

double slurm_seconds(const char *text)
{
    double total = 0, part = 0;
    bool days = strchr(text, '-') != NULL;
    int colons = 0;
    if (!*text || strspn(text, "0123456789-:") != strlen(text))
        return 0;
    for (const char *p = text; *p; p++)
        colons += *p == ':';
    for (const char *p = text; *p; p++) {
        if (*p >= '0' && *p <= '9') {
            part = 10 * part + (*p - '0');
        } else {
            total = (total + part) * (*p == '-' ? 24 : 60);
            part = 0;
        }
    }
    total += part;
    for (; days && colons < 2; colons++) /* D-HH, D-HH:MM */
        total *= 60;
    return total;
}

static void set_text(char *to, size_t room, const char *text, size_t length)
{
    bool none = (length == 4 && strncmp(text, "None", 4) == 0) || (length == 6 && strncmp(text, "(null)", 6) == 0);
    snprintf(to, room, "%.*s", none ? 0 : (int)length, text);
}

/* Split a line at '|' into `count` fields, the last one up to the end of the line. */
static bool split(const char *line, size_t length, int count, const char **fields, size_t *lengths)
{
    for (int i = 0; i < count; i++) {
        const char *bar = memchr(line, '|', length);
        if (!bar != (i == count - 1))
            return false;
        fields[i] = line;
        lengths[i] = bar ? (size_t)(bar - line) : length;
        length -= bar ? lengths[i] + 1 : length;
        line += bar ? lengths[i] + 1 : lengths[i];
    }
    return true;
}

static void set_seconds(double *to, const char *text, size_t length)
{
    char copy[40];
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    *to = slurm_seconds(copy);
}

bool slurm_row_next(const char **at, struct slurm_row *row)
{
    while (**at) {
        const char *line = *at, *f[7];
        size_t length = strcspn(line, "\n"), n[7];
        *at = line + length + (line[length] == '\n');
        if (!split(line, length, 7, f, n) || n[0] == 0 || n[0] >= SLURM_ID || n[1] >= SLURM_NAME)
            continue;
        *row = (struct slurm_row){0};
        snprintf(row->id, sizeof row->id, "%.*s", (int)n[0], f[0]);
        snprintf(row->name, sizeof row->name, "%.*s", (int)n[1], f[1]);
        set_state(row, f[2], n[2]);
        set_text(row->reason, sizeof row->reason, f[3], n[3]);
        set_text(row->nodes, sizeof row->nodes, f[4], n[4]);
        set_seconds(&row->used, f[5], n[5]);
        set_seconds(&row->limit, f[6], n[6]);
        return true;
    }
    return false;
}

/* The value of " KEY=" up to the next blank. */
static const char *field(const char *text, const char *key, size_t *length)
{
    const char *at = text;
    while ((at = strstr(at, key)) && at != text && at[-1] != ' ')
        at++;
    at = at ? at + strlen(key) : "";
    *length = strcspn(at, " \n");
    return at;
}

bool slurm_row_of_scontrol(const char *text, struct slurm_row *row)
{
    size_t n;
    const char *at = field(text, "JobId=", &n);
    *row = (struct slurm_row){0};
    if (n == 0 || n >= SLURM_ID)
        return false;
    snprintf(row->id, sizeof row->id, "%.*s", (int)n, at);
    at = field(text, "JobName=", &n);
    snprintf(row->name, sizeof row->name, "%.*s", (int)n, at);
    at = field(text, "JobState=", &n);
    set_state(row, at, n);
    at = field(text, "Reason=", &n);
    set_text(row->reason, sizeof row->reason, at, n);
    at = field(text, "NodeList=", &n);
    set_text(row->nodes, sizeof row->nodes, at, n);
    at = field(text, "RunTime=", &n);
    set_seconds(&row->used, at, n);
    at = field(text, "TimeLimit=", &n);
    set_seconds(&row->limit, at, n);
    row->code = (int)strtol(field(text, "ExitCode=", &n), NULL, 10);
    return row->state[0] != '\0';
}

bool slurm_row_of_sacct(const char *text, struct slurm_row *row)
{
    const char *f[3];
    size_t n[3];
    *row = (struct slurm_row){0};
    if (!split(text, strcspn(text, "\n"), 3, f, n) || n[0] == 0 || n[0] >= SLURM_ID)
        return false;
    snprintf(row->id, sizeof row->id, "%.*s", (int)n[0], f[0]);
    snprintf(row->name, sizeof row->name, "%.*s", (int)n[1], f[1]);
    set_state(row, f[2], n[2]);
    return row->state[0] != '\0';
}

enum outcome slurm_never(const struct slurm_row *row)
{
    static const char *const refused[] = {"BadConstraints", "InvalidAccount", "InvalidQOS", NULL};
    if (row->phase != SLURM_PENDING)
        return OUTCOME_COUNT;
    if (strcmp(row->reason, "DependencyNeverSatisfied") == 0)
        return OUTCOME_DEPENDENCY;
    for (int i = 0; refused[i]; i++)
        if (strcmp(row->reason, refused[i]) == 0)
            return OUTCOME_REFUSED;
    return OUTCOME_COUNT;
}

bool slurm_refuses(const char *text)
{
    /* As slurm_strerror has them since long, and sbatch's own about its options. */
    static const char *const final[] = {"Invalid partition name",
                                        "Invalid account",
                                        "Invalid qos",
                                        "Requested node configuration is not available",
                                        "Requested time limit is invalid",
                                        "Requested partition configuration not available",
                                        "Invalid generic resource",
                                        "Invalid feature specification",
                                        "Invalid node name",
                                        "Requested reservation is invalid",
                                        "User's group not permitted",
                                        "Access/permission denied",
                                        "Memory specification can not be satisfied",
                                        "Job dependency problem",
                                        "unrecognized option",
                                        "invalid option",
                                        "Invalid --",
                                        NULL};
    for (int i = 0; final[i]; i++)
        if (strcasestr(text, final[i]))
            return true;
    return false;
}
