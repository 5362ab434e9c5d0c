#include "core/base/spelling.h"

#include <stddef.h>
#include <string.h>

/* Levenshtein's, a row at a time. */
int spelling_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    int row[LONGEST + 1];
    const size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST)
        return LONGEST;
    const size_t apart = m > n ? m - n : n - m;
    if (apart >= SPELLING_FAR)
        return (int)apart;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}
