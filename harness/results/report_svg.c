#include "harness/results/report_svg.h"

#include <stdbool.h>
#include <string.h>

#include "harness/results/table_text.h"

/* The length of an element <name>...</name> at p with no other inside; 0 when there is none. */
static size_t element(const char *p, const char *open, const char *close)
{
    if (strncmp(p, open, strlen(open)) != 0)
        return 0;
    const char *end = strstr(p, close);
    return end ? (size_t)(end + strlen(close) - p) : 0;
}

/* gnuplot writes the ids of its markers and filters in single quotes, and refers to these alone. */
static size_t rewrite(FILE *out, const char *p, const char *prefix)
{
    static const char *const references[] = {"id='", "xlink:href='#", "url(#"};
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
        if (strncmp(p, references[i], strlen(references[i])) == 0) {
            fprintf(out, "%s%s-", references[i], prefix);
            return strlen(references[i]);
        }
    if (strncmp(p, " id=\"", 5) == 0 && strchr(p + 5, '"'))
        return (size_t)(strchr(p + 5, '"') + 1 - p);
    size_t title = element(p, "<title>", "</title>");
    return title ? title : element(p, "<desc>", "</desc>");
}

void report_put_svg(FILE *out, const char *svg, const char *prefix, const char *label)
{
    const char *p = strstr(svg, "<svg");
    if (!p)
        return;
    p += strlen("<svg");
    fputs("<svg role=\"img\" aria-label=\"", out);
    table_put_html(out, label);
    fputc('"', out);
    while (*p) {
        size_t used = rewrite(out, p, prefix);
        if (!used)
            fputc(*p++, out);
        p += used;
    }
}
