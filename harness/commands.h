/* Every verb's row, for the table in command.c. */
#ifndef TAPER_HARNESS_COMMANDS_H
#define TAPER_HARNESS_COMMANDS_H

#include "harness/command.h"

extern const struct command cmd_data;
extern const struct command cmd_debug;
extern const struct command cmd_help;
extern const struct command cmd_plot;
extern const struct command cmd_query;
extern const struct command cmd_table;
extern const struct command cmd_train;
extern const struct command cmd_version;

#endif
