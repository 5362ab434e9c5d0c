#include "harness/results/catalogue.h"

#include <stddef.h>
#include <string.h>

#define HAS_STEPS                                                                                                      \
    "SELECT DISTINCT grp FROM run_shown r WHERE EXISTS (SELECT 1 FROM step s WHERE s.run = r.run) ORDER BY grp"
#define HAS_SITES                                                                                                      \
    "SELECT DISTINCT grp FROM run_shown r WHERE sites <> 'none' AND EXISTS (SELECT 1 FROM site_step s WHERE s.run = "  \
    "r.run) ORDER BY grp"
#define HAS_DECODE                                                                                                     \
    "SELECT DISTINCT grp FROM run_shown r WHERE sites <> 'none' AND EXISTS (SELECT 1 FROM bench b WHERE b.run = "      \
    "r.run "                                                                                                           \
    "AND b.kind = 'decode') ORDER BY grp"
/* Of runs that began with weights. */
#define HAS_TUNED                                                                                                      \
    "SELECT DISTINCT grp FROM run_shown r WHERE tuned AND EXISTS (SELECT 1 FROM step s WHERE s.run = r.run) ORDER BY " \
    "grp"
#define HAS_ABLATION "SELECT DISTINCT line FROM ablation_line ORDER BY line"

/* valid_curve of results/groups.sql leaves those evaluations out. */
#define OTHER_TOKENS                                                                                                   \
    "WITH valid AS (SELECT r.run, e.step, e.tokens, (SELECT f.tokens FROM eval f WHERE f.run = r.run AND f.split = "   \
    "'valid' ORDER BY f.step LIMIT 1) AS first FROM run_drawn r JOIN eval e ON e.run = r.run AND e.split = 'valid'), " \
    "omitted AS (SELECT count(DISTINCT run) AS runs, (SELECT count(DISTINCT run) FROM valid) AS of, min(tokens) AS "   \
    "low, max(tokens) AS high FROM valid WHERE tokens IS NOT first) "                                                  \
    "SELECT iif(runs > 0, format('not in the curve: the last evaluation of %d of %d run%s, over other tokens (%s)', "  \
    "runs, of, iif(of > 1, 's', ''), iif(low = high, low, low || ' to ' || high)), NULL) FROM omitted"

#define LOGGED "no sweep of this home has logged steps ('taper run experiments/demo.yaml' makes some)"

/* A figure of lines over the steps, `panels` of them below each other, of the groups that a query gives. */
#define LINES_OF(panels, groups)                                                                                       \
    {                                                                                                                  \
        480, 330, 212 + 140 * (panels), 0, 64, 4, true, FIGURE_LINES, groups                                           \
    }
#define LINES(panels) LINES_OF(panels, HAS_STEPS)

static const struct catalogue_entry figures[] = {
    {"fig-logit-chasing", "RMS of the logits against the step", "chasing", "Logit chasing",
     "RMS of the logits. Logit chasing is all parting from the others when the gate falls; the anchor is to keep "
     "all+aux "
     "with them.",
     LOGGED, LINES(1), NULL},
    {"fig-scale", "mean s(h) before the final norm, and its target", "chasing", "Scale of the residual stream",
     "Mean of s(h) before the final norm; the thin dotted lines are the calibrated targets of the anchored variants.",
     LOGGED, LINES(1), NULL},
    {"fig-radial", "the gradient at h: radial parts of both losses, and tangential", "theory", "Gradient at h",
     "Radial part of the loss's gradient at h (signed mean) and, in thin dots, of the auxiliary loss's, which pulls "
     "back; "
     "its "
     "RMS, which no sign hides; the tangential part's RMS.",
     LOGGED, LINES(3), NULL},
    {"fig-loss", "training and validation loss, and the change against the baseline", "loss", "Loss",
     "Training and validation loss, mean over the seeds, and the validation loss against the baseline of the same "
     "seed; "
     "grey: the gate falling from 1 to 0.",
     LOGGED, LINES(3), OTHER_TOKENS},
    {"fig-gate",
     "the gate, and c * mean(s) of every site",
     "gate",
     "Agreement of the two branches, site by site",
     "c times the mean scale at every tapered site, dark to light from the first block to the last.",
     "no sweep of this home has logged steps of a tapered variant",
     {560, 0, 352, 170, 2, 12, false, FIGURE_SITES, HAS_SITES},
     NULL},
    {"fig-decode",
     "tokens a second of decoding, as bars",
     "speed",
     "Decoding, tokens a second",
     "Bars: mean over the runs, with the range. Above the bars: speedup over the baseline of the same run.",
     "no run was timed decoding ('after: {fold: true, bench: {decode: ...}}' in a sweep does that)",
     {480, 0, 280, 170, 1, 4, false, FIGURE_GROUPS, HAS_DECODE},
     NULL},
    {"fig-ablation",
     "loss at the end against gate.end, gate.shape, aux.lambda",
     "ablation",
     "One key of the taper at a time",
     "Each point a seed. Above: loss at the end. Below: against the baseline of the same seed.",
     "no sweep of this home varies gate.end, gate.shape or aux.lambda over three values or more, all else equal",
     {480, 40, 520, 0, 64, 7, false, FIGURE_NAMED, HAS_ABLATION},
     NULL},
    {"fig-finetune", "training and validation loss of fine-tuning, each removal marked", "finetune", "Fine-tuning",
     "Training and validation loss of the runs that began with weights, mean over the seeds. Ticks at the bottom: the "
     "steps at which a line's sites go, with the name of each kind where it begins; grey: the gate.",
     "no sweep of this home has logged steps of a run that begins with weights (init.run or init.from; "
     "experiments/gpt2-demo.yaml has)",
     LINES_OF(3, HAS_TUNED), OTHER_TOKENS},
};

#define TABLE(id, section, about)                                                                                      \
    {                                                                                                                  \
        id, about, section, NULL, NULL, NULL, {0}, NULL                                                                \
    }

static const struct catalogue_entry tables[] = {
    TABLE("table-tinystories", "loss", "validation loss by configuration, and the change against the baseline"),
    TABLE("table-decode", "speed", "tokens a second of decoding, norms computed, scaled, folded"),
    TABLE("table-last-token", "speed", "the same of the forward pass of a whole context"),
    TABLE("table-gpt2", "finetune", "fine-tuning: loss by evaluation text, beside the published of GPT-2"),
    TABLE("table-ablation", "ablation", "the end of training against gate.end, gate.shape, aux.lambda"),
    TABLE("table-runs", "runs", "every run: where, how long, how it ended"),
    TABLE("table-theory", "theory", "propositions 1 and 2 and the fold, checked on what was logged"),
};

enum {
    FIGURES = sizeof figures / sizeof figures[0],
    TABLES = sizeof tables / sizeof tables[0],
    NAME_WIDTH = 20, /* of the names in help */
};

const struct catalogue_entry *catalogue_table(int i)
{
    return i >= 0 && i < TABLES ? &tables[i] : NULL;
}

const struct catalogue_entry *catalogue_figure(int i)
{
    return i >= 0 && i < FIGURES ? &figures[i] : NULL;
}

int catalogue_tables(void)
{
    return TABLES;
}

int catalogue_figures(void)
{
    return FIGURES;
}

static const struct catalogue_entry *entry_at(int i, bool figure)
{
    return figure ? catalogue_figure(i) : catalogue_table(i);
}

const char *catalogue_short(const struct catalogue_entry *e)
{
    return strchr(e->id, '-') + 1;
}

const struct catalogue_entry *catalogue_find(const char *name, bool figure)
{
    const struct catalogue_entry *e;
    for (int i = 0; (e = entry_at(i, figure)); i++)
        if (strcmp(e->id, name) == 0 || strcmp(catalogue_short(e), name) == 0)
            return e;
    return NULL;
}

const char *catalogue_word(int i, bool figure)
{
    const int count = figure ? FIGURES : TABLES;
    if (i >= 2 * count)
        return i == 2 * count ? "all" : NULL;
    return i < count ? entry_at(i, figure)->id : catalogue_short(entry_at(i - count, figure));
}

void catalogue_print(FILE *out, bool figure)
{
    const struct catalogue_entry *e;
    for (int i = 0; (e = entry_at(i, figure)); i++) {
        const char *name = catalogue_short(e);
        fprintf(out, "  [%.*s]%-*s %s\n", (int)(name - e->id), e->id, NAME_WIDTH - (int)(name - e->id) - 2, name,
                e->about);
    }
    fprintf(out, "  %-*s every %s, a file each in the directory --out\n", NAME_WIDTH, "all",
            figure ? "figure that has data" : "table");
}
