#include "harness/page/page_html.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/version.h"
#include "harness/base/format.h"
#include "harness/results/table_text.h"

void page_text(FILE *out, const char *text)
{
    if (text)
        table_put_html(out, text);
}

void page_element(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    page_text(out, text);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* Whatever is no letter or digit, as %xx. */
static void put_encoded(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("-_.~", *p))
            fputc(*p, out);
        else
            fprintf(out, "%%%02x", *p);
}

void page_address(FILE *out, const char *path, ...)
{
    va_list pairs;
    const char *name, *between = "?";
    fputs(path, out);
    va_start(pairs, path);
    while ((name = va_arg(pairs, const char *))) {
        const char *value = va_arg(pairs, const char *);
        if (!value)
            continue;
        fprintf(out, "%s%s=", between, name);
        put_encoded(out, value);
        between = "&amp;";
    }
    va_end(pairs);
}

void page_link_to(FILE *out, const char *path, const char *name, const char *value, const char *text)
{
    fputs("<a href=\"", out);
    page_address(out, path, name, value, NULL);
    fputs("\">", out);
    page_text(out, text);
    fputs("</a>", out);
}

void page_begin(struct page_call *c, const char *title, const char *sweep)
{
    static const char *const siblings[][2] = {{"/sweep", "Runs and curves"}, {"/paper", "Tables and figures"}};
    FILE *out = c->out;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    page_text(out, title);
    fputs(" – taper</title>\n<link rel=\"icon\" href=\"/assets/icon.svg\">\n", out);
    if (page_has_dygraphs())
        fputs("<link rel=\"stylesheet\" href=\"/assets/dygraph.css\">\n<script defer "
              "src=\"/assets/dygraph.js\"></script>\n",
              out);
    fputs("<link rel=\"stylesheet\" href=\"/assets/page.css\">\n<script defer "
          "src=\"/assets/page.js\"></script>\n<script defer src=\"/assets/curves.js\"></script>\n</head>\n"
          "<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header class=\"bar\">\n<a class=\"brand\" "
          "href=\"/\">taper</a>\n<nav aria-label=\"Pages\">\n",
          out);
    for (size_t i = 0; sweep && i < sizeof siblings / sizeof siblings[0]; i++) {
        page_link_to(out, siblings[i][0], "name", sweep, siblings[i][1]);
        fputc('\n', out);
    }
    fputs("</nav>\n<span id=\"live\" class=\"small\" role=\"status\"></span>\n</header>\n<main id=\"main\">\n", out);
    page_element(out, "h1", title);
}

void page_end(struct page_call *c)
{
    fputs("</main>\n<footer class=\"small\">", c->out);
    page_text(c->out, c->home->alone ? c->home->database : c->home->dir);
    fprintf(c->out, " &middot; taper %s (%s)</footer>\n</body>\n</html>\n", version_string(), version_revision());
}

void page_state(FILE *out, const char *state)
{
    fputs("<span class=\"state ", out);
    page_text(out, state);
    fputs("\">", out);
    page_text(out, state);
    fputs("</span>", out);
}

void page_progress(FILE *out, double done, double all)
{
    double part = all > 0 ? fmin(1, fmax(0, done / all)) : 0;
    fprintf(out, "<progress max=\"1\" value=\"%.4f\" aria-label=\"%.0f of %.0f\"></progress>", part, done, all);
}

static void put_real(FILE *out, double number)
{
    char fixed[32], whole[32];
    fprintf(out, "<span title=\"%s\">%s</span>", format_real(whole, number), format_fixed(fixed, number, 4));
}

void page_number(FILE *out, const json_t *value)
{
    if (json_is_real(value))
        put_real(out, json_real_value(value));
    else if (json_is_integer(value))
        fprintf(out, "%lld", (long long)json_integer_value(value));
    else
        page_text(out, json_string_value(value));
}

void page_value(FILE *out, const struct result_value *v, bool loss)
{
    char text[32];
    if (v->type == RESULT_TEXT)
        page_text(out, v->text);
    else if (v->type == RESULT_REAL && loss)
        put_real(out, v->number);
    else if (v->type != RESULT_NULL)
        fputs(format_real(text, v->number), out);
}

const char *page_field(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

double page_field_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}
