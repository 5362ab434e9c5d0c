/* The paper's tables and figures as of now. A figure is drawn when it is asked for, one at a time, and kept until the
 * data are others. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/page/page_html.h"
#include "harness/results/plot_figure.h"
#include "harness/results/table.h"

enum { IMAGES = 64 };

/* Drawings that were asked for; the oldest gives way. */
static struct {
    pthread_mutex_t lock; /* also of the drawing itself: gnuplot runs once at a time */
    struct image {
        char *key, *bytes;
        size_t size;
    } kept[IMAGES];
    int next;
} images = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct image *find_image(const char *key)
{
    for (int i = 0; i < IMAGES; i++)
        if (images.kept[i].key && strcmp(images.kept[i].key, key) == 0)
            return &images.kept[i];
    return NULL;
}

/* key and bytes are taken. */
static void keep_image(char *key, char *bytes, size_t size)
{
    struct image *old = &images.kept[images.next];
    free(old->key);
    free(old->bytes);
    *old = (struct image){key, bytes, size};
    images.next = (images.next + 1) % IMAGES;
}

/* What keeps it from being drawn, as a picture: the page has a place for one. */
static void put_excuse(FILE *out, const char *text)
{
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"80\" viewBox=\"0 0 720 80\"><rect "
          "width=\"720\" "
          "height=\"80\" fill=\"#f5f5f5\"/><foreignObject x=\"16\" y=\"12\" width=\"688\" height=\"60\"><p "
          "xmlns=\"http://www.w3.org/1999/xhtml\" style=\"margin:0;font:14px sans-serif;color:#5b5b5b\">",
          out);
    page_text(out, text);
    fputs("</p></foreignObject></svg>\n", out);
}

static int draw(struct page_call *c, const char *id, const char *sweep, int number, enum plot_format format,
                struct error *err)
{
    struct plot_image image = {0};
    struct error why = {0};
    bool empty = false;
    char *version = NULL;
    int status = page_reader_stamp(c->reader, &version, err);
    if (status)
        return status;
    char *key = memory_format("%s|%s|%d|%d|%s", id, sweep, number, (int)format, version);
    free(version);
    const struct image *known = find_image(key);
    if (known) {
        fwrite(known->bytes, 1, known->size, c->out);
        free(key);
        return STATUS_OK;
    }
    status = page_reader_prepare(c->reader, sweep, NULL, err);
    if (!status &&
        plot_figure_make(&image, &c->reader->from, id, sweep, number, format, false, &empty, &why) == STATUS_OK) {
        fwrite(image.bytes, 1, image.size, c->out);
        keep_image(key, image.bytes, image.size);
        image.bytes = NULL;
        key = NULL;
    } else if (!status && empty && format == PLOT_SVG) {
        put_excuse(c->out, why.text);
    } else if (!status) {
        status = error_set(err, empty ? STATUS_BAD_INPUT : why.status, "%s", why.text);
    }
    free(key);
    plot_image_fini(&image);
    return status;
}

static int answer_image(struct page_call *c, enum plot_format format, struct error *err)
{
    const char *id = NULL, *sweep = NULL;
    long long number = 0;
    int status = page_need(c, "id", &id, err);
    if (!status)
        status = page_need(c, "sweep", &sweep, err);
    if (!status)
        status = page_integer(c, "page", 0, 99, 0, &number, err);
    if (!status && !catalogue_find(id, true))
        status = error_set(err, STATUS_BAD_INPUT, "no figure '%s'", id);
    if (status)
        return status;
    /* Not with a connection in hand while others draw: the tables would wait for the figures. */
    pthread_mutex_lock(&images.lock);
    status = page_take_reader(c, err);
    if (!status)
        status = draw(c, id, sweep, (int)number, format, err);
    pthread_mutex_unlock(&images.lock);
    /* gnuplot's own styles stand in the drawing. */
    c->policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
    return status;
}

int page_figure_svg(struct page_call *c, struct error *err)
{
    return answer_image(c, PLOT_SVG, err);
}

int page_figure_png(struct page_call *c, struct error *err)
{
    return answer_image(c, PLOT_PNG, err);
}

static void put_figure(FILE *out, const struct catalogue_entry *e, const char *sweep)
{
    fprintf(out, "<figure class=\"paper\" id=\"%s\">\n<img loading=\"lazy\" src=\"", e->id);
    page_address(out, "/figure.svg", "id", e->id, "sweep", sweep, NULL);
    fputs("\" alt=\"", out);
    page_text(out, e->title);
    fputs(". ", out);
    page_text(out, e->caption);
    fputs("\">\n<figcaption><b>", out);
    page_text(out, e->title);
    fputs("</b> ", out);
    page_text(out, e->caption);
    fputs(" <a href=\"", out);
    page_address(out, "/figure.svg", "id", e->id, "sweep", sweep, NULL);
    fprintf(out, "\" download=\"%s.svg\">SVG</a> <a href=\"", e->id);
    page_address(out, "/figure.png", "id", e->id, "sweep", sweep, NULL);
    fprintf(out, "\" download=\"%s.png\">PNG</a></figcaption>\n</figure>\n", e->id);
}

static void put_table(struct page_call *c, const char *id, const char *sweep)
{
    struct table t = {0};
    struct error why = {0};
    fprintf(c->out, "<section id=\"%s\">\n", id);
    if (table_make(&t, &c->reader->from, id, sweep, &why) == STATUS_OK) {
        page_element(c->out, "h3", t.layout.title);
        table_print(&t, TABLE_HTML, c->out, &why);
    }
    if (why.status)
        page_element(c->out, "p class=\"none\"", why.text);
    table_fini(&t);
    fputs("</section>\n", c->out);
}

int page_html_paper(struct page_call *c, struct error *err)
{
    const char *sweep = NULL;
    const struct catalogue_entry *e;
    int status = page_need(c, "name", &sweep, err);
    if (!status)
        status = page_reader_prepare(c->reader, sweep, NULL, err);
    if (status)
        return status;
    char *title = memory_format("Tables and figures of %s", sweep);
    page_begin(c, title, sweep);
    free(title);
    fputs("<p class=\"lead\">As of now: a run that is not done yet is missing, and said to "
          "be.</p>\n<h2>Figures</h2>\n<div "
          "class=\"figures\">\n",
          c->out);
    for (int i = 0; (e = catalogue_figure(i)); i++)
        put_figure(c->out, e, sweep);
    fputs("</div>\n<h2>Tables</h2>\n", c->out);
    for (int i = 0; table_id(i); i++)
        if (strcmp(table_id(i), "table-runs") != 0) /* the sweep's own page has every run */
            put_table(c, table_id(i), sweep);
    page_end(c);
    return STATUS_OK;
}
