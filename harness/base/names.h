/* A list of names for a sentence: "fig-loss, fig-scale". */
#ifndef TAPER_HARNESS_BASE_NAMES_H
#define TAPER_HARNESS_BASE_NAMES_H

struct names {
    char *text; /* on the heap; NULL while there is none */
    int count;
};

void names_add(struct names *n, const char *name);
void names_fini(struct names *n); /* fine on a zeroed one */

#endif
