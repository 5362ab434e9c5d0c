/* A limited address space (ulimit -v): OpenBLAS maps its buffers again and again when they do not fit, for ever and
 * without a word. What may do that goes between these two. */
#ifndef TAPER_CORE_CPU_ADDRESS_SPACE_H
#define TAPER_CORE_CPU_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether there is a limit; `to` then says so in words (room bytes). */
bool address_space_limited(char *to, size_t room);

/* From here to the end, the calling thread may use half a second of processor time; then the process says what the
 * limit is and ends as one whose memory ran out (exit status 5). Nothing happens where there is no limit. Not from two
 * threads at once. */
void address_space_guard(void);
void address_space_release(void);

#endif
