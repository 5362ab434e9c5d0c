#include "harness/base/embedded.h"

#include <string.h>

/* One row a file: a symbol of its own and the path in the source tree, from which make runs. */
/* clang-format off */
#define FILES(ROW)                                                                                                    \
    ROW(schema, "results/schema.sql")                                                                                 \
    ROW(views, "results/views.sql")                                                                                   \
    ROW(table_tinystories, "results/tables/table-tinystories.sql") ROW(table_tinystories_layout, "results/tables/table-tinystories.json")\
    ROW(table_decode, "results/tables/table-decode.sql") ROW(table_decode_layout, "results/tables/table-decode.json") \
    ROW(table_last_token, "results/tables/table-last-token.sql") ROW(table_last_token_layout, "results/tables/table-last-token.json")\
    ROW(table_gpt2, "results/tables/table-gpt2.sql") ROW(table_gpt2_layout, "results/tables/table-gpt2.json")         \
    ROW(table_ablation, "results/tables/table-ablation.sql") ROW(table_ablation_layout, "results/tables/table-ablation.json")\
    ROW(table_runs, "results/tables/table-runs.sql") ROW(table_runs_layout, "results/tables/table-runs.json")         \
    ROW(table_theory, "results/tables/table-theory.sql") ROW(table_theory_layout, "results/tables/table-theory.json") \
    ROW(fig_logit_chasing, "plots/fig-logit-chasing.gp") ROW(fig_logit_chasing_sql, "plots/fig-logit-chasing.sql")    \
    ROW(fig_scale, "plots/fig-scale.gp") ROW(fig_scale_sql, "plots/fig-scale.sql")                                    \
    ROW(fig_radial, "plots/fig-radial.gp") ROW(fig_radial_sql, "plots/fig-radial.sql")                                \
    ROW(fig_loss, "plots/fig-loss.gp") ROW(fig_loss_sql, "plots/fig-loss.sql")                                        \
    ROW(fig_gate, "plots/fig-gate.gp") ROW(fig_gate_sql, "plots/fig-gate.sql")                                        \
    ROW(fig_decode, "plots/fig-decode.gp") ROW(fig_decode_sql, "plots/fig-decode.sql")                                \
    ROW(fig_ablation, "plots/fig-ablation.gp") ROW(fig_ablation_sql, "plots/fig-ablation.sql")                        \
    ROW(style, "plots/style.gp") ROW(lines, "plots/lines.gp")                                                         \
    ROW(report_css, "results/report.css")
/* clang-format on */

/* The assembler reads the file; the pair of labels gives its size, and a NUL is put behind. */
#define INCLUDE(symbol, path)                                                                                          \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".hidden embedded_" #symbol "\n.global embedded_" #symbol "\n"                                             \
            ".hidden embedded_" #symbol "_end\n.global embedded_" #symbol "_end\n"                                     \
            "embedded_" #symbol ":\n.incbin \"" path "\"\n"                                                            \
            "embedded_" #symbol "_end:\n.byte 0\n"                                                                     \
            ".popsection\n");                                                                                          \
    extern const char embedded_##symbol[], embedded_##symbol##_end[];

FILES(INCLUDE)

#define ENTRY(symbol, path) {path, embedded_##symbol, embedded_##symbol##_end},

static const struct {
    const char *name, *begin, *end;
} rows[] = {FILES(ENTRY)};

enum { ROWS = sizeof rows / sizeof rows[0] };

const struct embedded *embedded_at(int i)
{
    static _Thread_local struct embedded found[ROWS];
    if (i < 0 || i >= ROWS)
        return NULL;
    found[i] = (struct embedded){rows[i].name, rows[i].begin, (size_t)(rows[i].end - rows[i].begin)};
    return &found[i];
}

const struct embedded *embedded_find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return embedded_at(i);
    return NULL;
}
