#include "harness/base/terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { COLUMNS_USUAL = 80, ROWS_USUAL = 24 };

static int number_of(const char *variable, int usual)
{
    const char *text = getenv(variable);
    long value = text ? strtol(text, NULL, 10) : 0;
    return value > 0 && value < 100000 ? (int)value : usual;
}

struct terminal terminal_of(int fd)
{
    struct winsize size = {0};
    if (!isatty(fd))
        return (struct terminal){0};
    bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
    return (struct terminal){
        .columns = known && size.ws_col > 0 ? size.ws_col : number_of("COLUMNS", COLUMNS_USUAL),
        .rows = known && size.ws_row > 0 ? size.ws_row : number_of("LINES", ROWS_USUAL),
    };
}

bool terminal_colours(int fd)
{
    const char *never = getenv("NO_COLOR"), *kind = getenv("TERM");
    return isatty(fd) && !(never && never[0]) && kind && strcmp(kind, "dumb") != 0;
}

/* One code point of UTF-8; a byte that is none counts as one. *used: its bytes. */
static wchar_t decode(const unsigned char *text, int *used)
{
    int more = text[0] >= 0xf0 ? 3 : text[0] >= 0xe0 ? 2 : text[0] >= 0xc0 ? 1 : 0;
    wchar_t code = more == 3 ? text[0] & 7 : more == 2 ? text[0] & 15 : more == 1 ? text[0] & 31 : text[0];
    for (int i = 1; i <= more; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            *used = 1;
            return text[0];
        }
        code = code << 6 | (text[i] & 0x3f);
    }
    *used = 1 + more;
    return code;
}

/* Bytes up to the letter that goes beyond the limit; *width: the columns of those. */
static size_t walk(const char *text, int limit, int *width)
{
    const unsigned char *p = (const unsigned char *)text;
    int used;
    for (*width = 0; *p; p += used) {
        int w = wcwidth(decode(p, &used));
        w = w < 0 ? 1 : w; /* outside a UTF-8 locale wcwidth knows nothing beyond ASCII */
        if (*width > limit - w)
            break;
        *width += w;
    }
    return (size_t)((const char *)p - text);
}

int terminal_width(const char *text)
{
    int width;
    walk(text, INT_MAX, &width);
    return width;
}

size_t terminal_cut(const char *text, int columns)
{
    int width;
    return walk(text, columns, &width);
}
