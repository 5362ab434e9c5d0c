/* Files that belong to the program and are no part of it. */
#ifndef TAPER_CORE_BASE_BESIDE_H
#define TAPER_CORE_BASE_BESIDE_H

/* The path of one: beside the running program, as it is built, or in ../lib/taper, as it is installed; the first where
 * there is neither. On the heap; the caller frees it. */
char *beside_program(const char *name);

#endif
