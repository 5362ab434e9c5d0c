/* Numbers, times and durations as text: each is spelled one way, here. Every function fills `to`, which holds 32 bytes,
 * and returns it. */
#ifndef TAPER_HARNESS_BASE_FORMAT_H
#define TAPER_HARNESS_BASE_FORMAT_H

#include <stdint.h>

/* Shortest decimal of a double that reads back the same; NaN, Infinity, -Infinity. */
char *format_real(char *to, double value);

/* With this many decimals, as "3.1416"; with an exponent, as "5.4e23", from a million on (10^15 without decimals),
 * where the digits would say less than their count. */
char *format_fixed(char *to, double value, int digits);

/* Microseconds since 1970 UTC as local "2026-02-03 14:05:06"; "" for 0. */
char *format_time(char *to, int64_t us);

/* Seconds as "12s", "3m20s", "4h05m", "2d03h"; "-" when negative or not finite. */
char *format_duration(char *to, double seconds);

#endif
