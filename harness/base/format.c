#include "harness/base/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *format_real(char *to, double value)
{
    if (isnan(value))
        return memcpy(to, "NaN", 4);
    if (isinf(value))
        return memcpy(to, value > 0 ? "Infinity" : "-Infinity", value > 0 ? 9 : 10);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(to, 32, "%.*g", digits, value);
        if (strtod(to, NULL) == value)
            break;
    }
    return to;
}

char *format_fixed(char *to, double value, int digits)
{
    if (!(fabs(value) >= (digits > 0 ? 1e6 : 1e15)) || isinf(value)) {
        snprintf(to, 32, "%.*f", digits < 15 ? digits : 15, value);
        return to;
    }
    char scientific[32];
    snprintf(scientific, sizeof scientific, "%.1e", value);
    int mantissa = (int)strcspn(scientific, "e");
    snprintf(to, 32, "%.*se%ld", mantissa, scientific, strtol(scientific + mantissa + 1, NULL, 10));
    return to;
}

char *format_time(char *to, int64_t us)
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm local;
    to[0] = '\0';
    if (us > 0 && localtime_r(&seconds, &local) && strftime(to, 32, "%Y-%m-%d %H:%M:%S", &local) == 0)
        to[0] = '\0';
    return to;
}

char *format_duration(char *to, double seconds)
{
    if (!(seconds >= 0) || seconds > 1e9) {
        snprintf(to, 32, "-");
        return to;
    }
    long long s = llround(seconds);
    if (s < 60)
        snprintf(to, 32, "%llds", s);
    else if (s < 3600)
        snprintf(to, 32, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(to, 32, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(to, 32, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return to;
}
