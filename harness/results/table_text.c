/* Tables of results as Markdown and TeX, and what all formats share. */
#include "harness/results/table_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"

enum { NUMBER = 64 };

static char *number(char to[NUMBER], const struct layout_column *c, double value)
{
    char plain[32];
    format_fixed(plain, value, c->digits);
    if (c->style == STYLE_EXPONENT && value != 0)
        snprintf(to, NUMBER, "%.*e", c->digits, value);
    else if (c->style == STYLE_EXPONENT)
        snprintf(to, NUMBER, "0");
    else
        snprintf(to, NUMBER, "%s%s%s", c->style == STYLE_PERCENT && plain[0] != '-' ? "+" : "", plain,
                 c->style == STYLE_TIMES ? "×" : "");
    return to;
}

static char *summary_text(const struct layout_column *c, const struct table_cell *cell)
{
    char mean[NUMBER], low[NUMBER], high[NUMBER];
    const struct summary *s = &cell->sums;
    if (s->n == 0)
        return memory_string("–");
    number(mean, c, s->mean);
    if (c->kind == COLUMN_MEAN)
        return s->n < 2 ? memory_string(mean) : memory_format("%s ± %s", mean, number(low, c, s->std));
    if (s->n < 2)
        return memory_format("%s (n = 1)", mean);
    return memory_format("%s [%s, %s]", mean, number(low, c, s->mean - cell->half_width),
                         number(high, c, s->mean + cell->half_width));
}

char *table_cell_text(const struct layout_column *c, const struct table_cell *cell)
{
    char text[NUMBER];
    if (c->kind == COLUMN_MEAN || c->kind == COLUMN_CHANGE)
        return summary_text(c, cell);
    if (c->kind == COLUMN_COUNT)
        return cell->count == cell->of ? memory_format("%d", cell->count)
                                       : memory_format("%d of %d", cell->count, cell->of);
    if (cell->text && *cell->text)
        return memory_string(cell->text);
    if (isnan(cell->value))
        return memory_string(c->kind == COLUMN_NOTES ? "" : "–");
    if (cell->whole && c->kind == COLUMN_TEXT)
        return memory_format("%.0f", cell->value);
    return memory_string(number(text, c, cell->value));
}

int table_text_length(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

bool table_column_is_numeric(const struct layout_column *c)
{
    return c->kind != COLUMN_TEXT && c->kind != COLUMN_NOTES;
}

char *table_small_print(const struct table *t)
{
    char *sweep = t->sweep ? memory_format("Sweep %s", t->sweep) : memory_string("All sweeps");
    char *text = memory_format("%s, %s.%s%s%s %s", sweep, t->runs, *t->once ? " " : "", t->once, *t->once ? "." : "",
                               t->program);
    free(sweep);
    return text;
}

/* Escape by a table of characters; bytes of UTF-8 pass. */
static void put_mapped(FILE *out, const char *text, const char *const map[128])
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p < 128 && map[*p])
            fputs(map[*p], out);
        else
            fputc(*p, out);
}

void table_put_markdown(FILE *out, const char *text)
{
    static const char *const map[128] = {
        ['|'] = "\\|", ['*'] = "\\*", ['_'] = "\\_", ['<'] = "&lt;", ['`'] = "\\`", ['\\'] = "\\\\", ['\n'] = " "};
    put_mapped(out, text, map);
}

void table_put_html(FILE *out, const char *text)
{
    static const char *const map[128] = {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    put_mapped(out, text, map);
}

void table_put_tex(FILE *out, const char *text)
{
    static const char *const map[128] = {
        ['&'] = "\\&",
        ['%'] = "\\%",
        ['$'] = "\\$",
        ['#'] = "\\#",
        ['_'] = "\\_",
        ['{'] = "\\{",
        ['}'] = "\\}",
        ['~'] = "\\textasciitilde{}",
        ['^'] = "\\textasciicircum{}",
        ['\\'] = "\\textbackslash{}",
        ['<'] = "$<$",
        ['>'] = "$>$",
        ['|'] = "$|$",
        ['\n'] = " ",
    };
    static const struct {
        const char *utf8, *tex;
    } symbols[] = {{"±", "$\\pm$"}, {"×", "$\\times$"}, {"–", "--"}, {"≤", "$\\le$"}, {"²", "$^2$"}};
    for (const char *p = text; *p;) {
        size_t used = 0;
        bool sign = *p == '-' && p[1] >= '0' && p[1] <= '9' && (p == text || strchr(" [(", p[-1]));
        for (size_t i = 0; !used && i < sizeof symbols / sizeof symbols[0]; i++)
            if (strncmp(p, symbols[i].utf8, strlen(symbols[i].utf8)) == 0) {
                fputs(symbols[i].tex, out);
                used = strlen(symbols[i].utf8);
            }
        if (!used && sign) {
            fputs("$-$", out);
            used = 1;
        }
        if (!used) {
            char one[2] = {*p, '\0'};
            put_mapped(out, one, map);
            used = 1;
        }
        p += used;
    }
}

/* --------------------------------------------------------------------------------------------- Markdown */

/* A cell as Markdown, escaped, on the heap. */
static char *markdown(const char *text)
{
    char *escaped = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&escaped, &size);
    table_put_markdown(memory, text);
    fclose(memory);
    return escaped;
}

static void markdown_line(FILE *out, const struct table_layout *l, char *const *cells, const int *widths)
{
    for (int c = 0; c < l->column_count; c++) {
        int pad = widths[c] - table_text_length(cells[c]);
        bool right = table_column_is_numeric(&l->columns[c]);
        fprintf(out, "| %*s%s%*s ", right ? pad : 0, "", cells[c], right ? 0 : pad, "");
    }
    fputs("|\n", out);
}

static void markdown_table(const struct table *t, FILE *out)
{
    const struct table_layout *l = &t->layout;
    int columns = l->column_count, *widths = memory_alloc((size_t)columns, sizeof *widths);
    char **cells = memory_alloc((size_t)(t->rows + 1) * (size_t)columns, sizeof *cells);
    for (int i = 0; i < (t->rows + 1) * columns; i++) {
        const struct layout_column *column = &l->columns[i % columns];
        char *text = i < columns ? memory_string(column->head) : table_cell_text(column, &t->cells[i - columns]);
        cells[i] = markdown(text);
        free(text);
        int length = table_text_length(cells[i]);
        widths[i % columns] = length > widths[i % columns] ? length : widths[i % columns];
    }
    markdown_line(out, l, cells, widths);
    for (int c = 0; c < columns; c++) {
        fputs("|-", out);
        for (int i = 0; i < widths[c]; i++)
            fputc('-', out);
        fputc(table_column_is_numeric(&l->columns[c]) ? ':' : '-', out);
    }
    fputs("|\n", out);
    for (int r = 1; r <= t->rows; r++)
        markdown_line(out, l, cells + r * columns, widths);
    for (int i = 0; i < (t->rows + 1) * columns; i++)
        free(cells[i]);
    free(cells);
    free(widths);
}

static void print_markdown(const struct table *t, FILE *out)
{
    char *small = table_small_print(t);
    fputs("**", out);
    table_put_markdown(out, t->layout.title);
    fputs("**\n\n", out);
    if (t->rows > 0)
        markdown_table(t, out);
    else
        fprintf(out, "No rows: %s\n", t->layout.empty);
    fputc('\n', out);
    for (int i = 0; t->rows > 0 && i < t->layout.note_count; i++)
        fprintf(out, "%s\n\n", t->layout.notes[i]);
    fprintf(out, "%s\n", small);
    free(small);
}

/* --------------------------------------------------------------------------------------------- TeX */

static void print_tex(const struct table *t, FILE *out)
{
    const struct table_layout *l = &t->layout;
    char *small = table_small_print(t);
    fprintf(out, "%% %s: wants the package booktabs\n\\begin{table}\n\\centering\n\\caption{", l->id);
    table_put_tex(out, l->title);
    fprintf(out, "}\n\\label{%s}\n\\begin{tabular}{", l->id);
    for (int c = 0; c < l->column_count; c++)
        fputc(table_column_is_numeric(&l->columns[c]) ? 'r' : 'l', out);
    fputs("}\n\\toprule\n", out);
    for (int c = 0; c < l->column_count; c++) {
        fputs(c ? " & " : "", out);
        table_put_tex(out, l->columns[c].head);
    }
    fputs(" \\\\\n\\midrule\n", out);
    for (int i = 0; i < t->rows * l->column_count; i++) {
        char *text = table_cell_text(&l->columns[i % l->column_count], &t->cells[i]);
        fputs(i % l->column_count ? " & " : "", out);
        table_put_tex(out, text);
        fputs(i % l->column_count == l->column_count - 1 ? " \\\\\n" : "", out);
        free(text);
    }
    if (t->rows == 0) {
        fprintf(out, "\\multicolumn{%d}{l}{No rows: ", l->column_count);
        table_put_tex(out, l->empty);
        fputs("} \\\\\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n\\par\\smallskip\\footnotesize\n", out);
    for (int i = 0; t->rows > 0 && i < l->note_count; i++) {
        table_put_tex(out, l->notes[i]);
        fputs("\\par\n", out);
    }
    table_put_tex(out, small);
    fputs("\n\\end{table}\n", out);
    free(small);
}

int table_print(const struct table *t, enum table_format format, FILE *out, struct error *err)
{
    static void (*const printers[])(const struct table *, FILE *) = {print_markdown, table_print_csv, print_tex,
                                                                     table_print_json, table_print_html};
    printers[format](t, out);
    return ferror(out) ? error_set(err, STATUS_FAILED, "cannot write the table") : STATUS_OK;
}
