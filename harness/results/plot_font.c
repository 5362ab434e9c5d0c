#include "harness/results/plot_font.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/memory.h"

enum { KNOWN_BELOW = 0x530 }; /* Latin, Greek and Cyrillic: any font that gnuplot draws with */

/* The next code point of valid UTF-8; advances *text. */
static uint32_t next_point(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    uint32_t point = more == 3 ? *p & 7u : more == 2 ? *p & 15u : more == 1 ? *p & 31u : *p;
    p++;
    for (; more > 0 && (*p & 0xc0) == 0x80; more--)
        point = point << 6 | (*p++ & 0x3fu);
    *text = (const char *)p;
    return point;
}

/* One font or more for all letters of the name, says fc-list. */
static bool has_font(const char *name)
{
    char *command = memory_string("fc-list ':charset=");
    bool any = false;
    for (const char *p = name; *p;) {
        uint32_t point = next_point(&p);
        if (point < KNOWN_BELOW)
            continue;
        char *longer = memory_format("%s%s%x", command, any ? " " : "", point);
        free(command);
        command = longer;
        any = true;
    }
    char *whole = memory_format("%s' family 2>/dev/null", command);
    FILE *fonts = any ? popen(whole, "re") : NULL;
    bool found = !any || (fonts && fgetc(fonts) != EOF);
    while (fonts && fgetc(fonts) != EOF)
        ;
    if (fonts)
        pclose(fonts);
    free(whole);
    free(command);
    return found;
}

char *plot_font_spelled(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    bool spelled = false;
    FILE *out = open_memstream(&text, &size);
    for (const char *p = name, *begin = name; *p; begin = p) {
        uint32_t point = next_point(&p);
        if (point >= KNOWN_BELOW)
            fprintf(out, "%sU+%04X", spelled ? " " : "", point);
        else
            fwrite(begin, 1, (size_t)(p - begin), out);
        spelled = point >= KNOWN_BELOW;
    }
    fclose(out);
    return text;
}

bool plot_font_spell_text(char **text)
{
    if (has_font(*text))
        return false;
    char *spelled = plot_font_spelled(*text);
    free(*text);
    *text = spelled;
    return true;
}

static bool spell(char **names, int count)
{
    bool any = false;
    for (int i = 0; i < count; i++)
        any |= plot_font_spell_text(&names[i]);
    return any;
}

bool plot_font_spell(struct plot_data *d)
{
    bool lines = spell(d->series_names, d->series);
    return spell(d->column_names, d->columns) || lines;
}
