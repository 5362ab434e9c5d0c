/* The verbs: every one's row, and the table of them. */
#ifndef TAPER_HARNESS_VERBS_COMMANDS_H
#define TAPER_HARNESS_VERBS_COMMANDS_H

#include "harness/base/command.h"

/* The row of a verb, NULL when there is none. */
const struct command *command_find(const char *name);

/* The verb that a misspelt one may mean, NULL when none is near. */
const struct command *command_nearest(const char *name);

/* The i-th row in the order of `taper help`, NULL past the last. */
const struct command *command_at(int i);

extern const struct command cmd_bench;
extern const struct command cmd_best;
extern const struct command cmd_cancel;
extern const struct command cmd_compare;
extern const struct command cmd_completion;
extern const struct command cmd_daemon;
extern const struct command cmd_data;
extern const struct command cmd_debug;
extern const struct command cmd_devices;
extern const struct command cmd_eval;
extern const struct command cmd_export;
extern const struct command cmd_fold;
extern const struct command cmd_forget;
extern const struct command cmd_generate;
extern const struct command cmd_help;
extern const struct command cmd_import;
extern const struct command cmd_log;
extern const struct command cmd_pause;
extern const struct command cmd_plot;
extern const struct command cmd_query;
extern const struct command cmd_rebuild;
extern const struct command cmd_report;
extern const struct command cmd_resume;
extern const struct command cmd_retry;
extern const struct command cmd_run;
extern const struct command cmd_runs;
extern const struct command cmd_serve;
extern const struct command cmd_show;
extern const struct command cmd_status;
extern const struct command cmd_submit;
extern const struct command cmd_table;
extern const struct command cmd_train;
extern const struct command cmd_version;
extern const struct command cmd_wait;
extern const struct command cmd_worker;

#endif
