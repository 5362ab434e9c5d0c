/* Letters that no font of this machine has, where the image is drawn here (PNG, PDF): the names of panels and lines are
 * spelled in code points instead of empty boxes. An SVG is drawn by whoever looks at it, with their fonts. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_FONT_H
#define TAPER_HARNESS_RESULTS_PLOT_FONT_H

#include "harness/results/plot_data.h"

/* Spell names in `d` that fontconfig (fc-list) knows no font for, or finds nothing out about. True when any was. */
bool plot_font_spell(struct plot_data *d);

/* The same of one text on the heap. */
bool plot_font_spell_text(char **text);

/* "U+65E5 U+672C" for the letters beyond Latin, Greek and Cyrillic of a name, the others as they are; on the heap. */
char *plot_font_spelled(const char *name);

#endif
