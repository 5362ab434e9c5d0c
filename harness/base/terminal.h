/* The terminal that output goes to: its size, and how much of it a text takes. */
#ifndef TAPER_HARNESS_BASE_TERMINAL_H
#define TAPER_HARNESS_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct terminal {
    int columns, rows; /* 0: no terminal */
};

/* Of a descriptor; COLUMNS and LINES win where the system does not know. */
struct terminal terminal_of(int fd);

/* May it be coloured? On a terminal, unless NO_COLOR says no or it is a dumb one. */
bool terminal_colours(int fd);

/* Columns that a text of one line takes. Outside a UTF-8 locale one each. */
int terminal_width(const char *text);

/* How many bytes of it fit into so many columns: whole letters. */
size_t terminal_cut(const char *text, int columns);

#endif
