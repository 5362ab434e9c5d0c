#include "harness/results/plot_page.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

static const char *const paper[] = {"baseline", "internal", "internal+aux", "all", "all+aux"};

enum { PAPER = sizeof paper / sizeof paper[0] };

static int paper_style(const char *name)
{
    for (int i = 0; i < PAPER; i++)
        if (strcmp(paper[i], name) == 0)
            return i + 1;
    return 0;
}

void plot_styles(char *const *names, int count, int *out)
{
    bool taken[PLOT_STYLES + 1] = {false};
    /* Those that no variant of the paper has come first, its own where they are free. */
    static const int order[PLOT_STYLES] = {6, 7, 8, 2, 4, 5, 3, 1};
    for (int i = 0; i < count; i++) {
        out[i] = paper_style(names[i]);
        taken[out[i]] = true;
    }
    for (int i = 0; i < count; i++) /* the baseline of a fine-tuning is drawn as one */
        if (strcmp(names[i], "vanilla") == 0 && !taken[1])
            taken[out[i] = 1] = true;
    for (int i = 0, next = 0; i < count; i++) {
        while (!out[i] && next < PLOT_STYLES && taken[order[next]])
            next++;
        if (!out[i])
            out[i] = next < PLOT_STYLES ? order[next++] : 1 + i % PLOT_STYLES;
    }
}

/* --------------------------------------------------------------------------------------------- pages */

/* Distinct texts in the order they come in, and which pages (by number) each belongs to. */
struct deck {
    const char **text;
    int *page;
    int count, pages;
};

static int deck_find(const struct deck *d, const char *text)
{
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->text[i], text) == 0)
            return i;
    return -1;
}

static void deck_add(struct deck *d, const char *text)
{
    if (deck_find(d, text) >= 0)
        return;
    d->text = memory_resize(d->text, (size_t)d->count + 1, sizeof *d->text);
    d->text[d->count++] = text;
}

/* `most` to a page; where they do not all fit on one, the paper's variants keep to themselves. */
static void deck_deal(struct deck *d, int most, bool lines)
{
    int on_page = 0;
    d->page = memory_alloc((size_t)d->count + 1, sizeof *d->page);
    for (int i = 0; i < d->count; i++) {
        bool parts =
            lines && d->count > most && i > 0 && (paper_style(d->text[i - 1]) != 0) != (paper_style(d->text[i]) != 0);
        if (i > 0 && (on_page == most || parts)) {
            d->pages++;
            on_page = 0;
        }
        d->page[i] = d->pages;
        on_page++;
    }
    d->pages += d->count > 0;
}

static void deck_fini(struct deck *d)
{
    free(d->text);
    free(d->page);
}

static void put_on_page(struct plot_pages *out, int page, int group)
{
    out->group[page] = memory_resize(out->group[page], (size_t)out->groups[page] + 1, sizeof **out->group);
    out->group[page][out->groups[page]++] = group;
}

static void deal_lines(struct plot_pages *out, const struct result_groups *groups, const int *with, int count, int most)
{
    struct deck panels = {0}, lines = {0}, bases = {0};
    for (int i = 0; i < count; i++) {
        deck_add(&panels, groups->group[with[i]].panel);
        if (groups->group[with[i]].baseline)
            deck_add(&bases, groups->group[with[i]].line);
    }
    if (bases.count > 1) /* --vary gives baselines of their own names: lines like the others */
        bases.count = 0;
    for (int i = 0; i < count; i++)
        if (deck_find(&bases, groups->group[with[i]].line) < 0)
            deck_add(&lines, groups->group[with[i]].line);
    out->panels = panels.count;
    out->lines = lines.count + bases.count;
    deck_deal(&panels, most, false);
    deck_deal(&lines, PLOT_STYLES - bases.count, true);
    int line_pages = lines.pages > 0 ? lines.pages : 1;
    out->count = panels.pages * line_pages;
    out->group = memory_alloc((size_t)out->count + 1, sizeof *out->group);
    out->groups = memory_alloc((size_t)out->count + 1, sizeof *out->groups);
    for (int i = 0; i < count; i++) {
        const struct result_group *g = &groups->group[with[i]];
        int line = deck_find(&lines, g->line), first = panels.page[deck_find(&panels, g->panel)] * line_pages;
        for (int p = 0; p < line_pages; p++)
            if (line < 0 || lines.page[line] == p)
                put_on_page(out, first + p, with[i]);
    }
    deck_fini(&panels);
    deck_fini(&lines);
    deck_fini(&bases);
}

void plot_pages_make(struct plot_pages *out, const struct result_groups *groups, const int *with, int with_count,
                     enum figure_plan plan, int most)
{
    *out = (struct plot_pages){0};
    if (plan == FIGURE_LINES) {
        deal_lines(out, groups, with, with_count, most);
        return;
    }
    out->panels = with_count;
    out->count = (with_count + most - 1) / most;
    out->group = memory_alloc((size_t)out->count + 1, sizeof *out->group);
    out->groups = memory_alloc((size_t)out->count + 1, sizeof *out->groups);
    for (int i = 0; i < with_count; i++)
        put_on_page(out, i / most, with[i]);
}

void plot_pages_fini(struct plot_pages *p)
{
    for (int i = 0; i < p->count; i++)
        free(p->group[i]);
    free(p->group);
    free(p->groups);
    *p = (struct plot_pages){0};
}
