#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/train/trainer.h"
#include "tests/gpu/tool/tool.h"
#include "tests/support/ops_case.h"

/* --------------------------------------------------------------------------------------------- cases */

/* Bounds of the cases are those of careful fp32 on a CPU. The device's products and functions round otherwise; in bf16
 * an operand alone is off by up to 2^-9. */
static const double full_slack = 20, half_slack = 2e4;

static const char *const slots[] = {"embed_forward",
                                    "embed_backward",
                                    "residual_add",
                                    "norm_forward",
                                    "norm_backward",
                                    "linear_forward",
                                    "linear_backward",
                                    "attention_forward",
                                    "attention_backward",
                                    "head",
                                    "aux_loss",
                                    "radial_probe",
                                    "sum_squares",
                                    "adamw",
                                    "ema_update",
                                    "token_sums",
                                    "judge_step",
                                    "decode_attention",
                                    "sample"};

/* Every case of a slot against the reference, and a second time for the same bits. The value is the cases that differ.
 */
static void check_slot(struct tool_report *r, const struct ops *ops, struct backend *be, struct backend *ref,
                       const char *slot, const char *precision, double slack)
{
    int count, ran = 0, wrong = 0;
    struct op_case *cases = ops_cases(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(cases[i].slot, slot) != 0)
            continue;
        struct case_result want, got, again;
        ops_case_run(ops_reference(), ref, &cases[i], 0, &want);
        ops_case_run(ops, be, &cases[i], 0, &got);
        ops_case_run(ops, be, &cases[i], 0, &again);
        const char *texts[] = {got.fault, ops_case_compare(&cases[i], &want, &got, slack)};
        bool differs = false;
        for (int t = 0; t < 2; t++)
            if (texts[t][0]) {
                differs = true;
                fprintf(stderr, "%s\n", texts[t]);
            }
        if (ops_case_compare(&cases[i], &got, &again, 0)[0]) {
            differs = true;
            fprintf(stderr, "%s: not the same bits twice\n", cases[i].name);
        }
        wrong += differs;
        ran++;
        case_result_free(&cases[i], &want);
        case_result_free(&cases[i], &got);
        case_result_free(&cases[i], &again);
    }
    free(cases);
    report_check(r, ran ? wrong : NAN, 0, "%s in %s: of %d cases, differing from the reference", slot, precision, ran);
}

static void check_cases(struct tool_report *r, const struct ops *ops, const struct check_options *o)
{
    for (int half = 0; half < 2; half++) {
        struct ops variant;
        struct backend *be = NULL, *ref = NULL;
        struct error err = {0};
        const struct backend_options options = {.threads = 1};
        tool_variant(&variant, ops, half ? PRECISION_BF16 : PRECISION_FP32, true);
        if (variant.create(&be, &options, &err) || ops_reference()->create(&ref, &options, &err)) {
            report_fault(r, err.text, "backend");
            return;
        }
        for (size_t s = 0; s < sizeof slots / sizeof slots[0]; s++) {
            bool products = strncmp(slots[s], "linear", 6) == 0 || strncmp(slots[s], "attention", 9) == 0 ||
                            strcmp(slots[s], "head") == 0 || strncmp(slots[s], "norm", 4) == 0;
            if ((half && !products) || (o->tiny && strcmp(slots[s], "attention_backward") == 0))
                continue;
            check_slot(r, &variant, be, ref, slots[s], half ? "bf16" : "fp32", half ? half_slack : full_slack);
        }
        variant.destroy(be);
        ops_reference()->destroy(ref);
    }
}

/* --------------------------------------------------------------------------------------------- steps */

/* A model in training on random tokens. */
struct subject {
    const struct ops *ops;
    struct backend *be;
    struct config cfg;
    struct model m;
    struct trainer t;
    int32_t *windows; /* [steps][B][T+1] */
};

static int configure(struct config *cfg, const char *preset, const char *const *pairs, struct error *err)
{
    config_init(cfg);
    int status = config_set(cfg, "model.size", preset, err);
    for (; pairs && *pairs && !status; pairs++)
        status = config_set_pair(cfg, *pairs, err);
    return status ? status : config_finish(cfg, err);
}

static int subject_open(struct subject *s, const struct ops *ops, const struct config *cfg, int threads, int steps,
                        struct error *err)
{
    const struct backend_options options = {.threads = threads, .precision = PRECISION_FP32};
    const struct rng_stream stream = {.seed = 11, .use = RNG_TEST, .second = 4};
    size_t count = (size_t)steps * (size_t)cfg->batch * (size_t)(cfg->context + 1);
    *s = (struct subject){.ops = ops, .cfg = *cfg};
    s->windows = memory_alloc(count, sizeof *s->windows);
    for (size_t i = 0; i < count; i++) /* a few tokens are frequent, most are rare */
        s->windows[i] = (int32_t)rng_below(&stream, i, i % 3 ? (uint64_t)cfg->vocab : 17);
    int status = ops->create(&s->be, &options, err);
    if (!status)
        status = model_create(&s->m, cfg, ops, s->be, err);
    if (!status)
        status = model_initialize(&s->m, err);
    if (!status)
        status = trainer_create(&s->t, &s->m, (int)cfg->batch, (int)cfg->context, err);
    return status;
}

static void subject_close(struct subject *s)
{
    trainer_destroy(&s->t);
    model_destroy(&s->m);
    s->ops->destroy(s->be);
    free(s->windows);
    *s = (struct subject){0};
}

/* The worst relative error of the gradient of a tensor that counts: at least a thousandth of the largest one. */
static double gradient_error(const struct subject *want, const struct subject *got)
{
    float *a = model_download(&want->m, want->t.grads), *b = model_download(&got->m, got->t.grads);
    const struct param_table *table = &want->m.table;
    double most = 0, worst = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < table->count; i++) {
            double size = 0, off = 0;
            for (size_t k = table->rows[i].offset; k < table->rows[i].offset + table->rows[i].size; k++) {
                size += (double)a[k] * a[k];
                off += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
            }
            if (pass == 0)
                most = fmax(most, size);
            else if (size > 1e-6 * most && !(sqrt(off / size) <= worst))
                worst = sqrt(off / size);
        }
    free(a);
    free(b);
    return worst;
}

static int mixed_pass(struct subject *s, struct error *err)
{
    const size_t count = (size_t)s->m.table.site_count;
    double *gates = memory_alloc(count, sizeof *gates);
    for (size_t i = 0; i < count; i++)
        gates[i] = 0.6;
    int status = trainer_debug_pass(&s->t, s->windows, gates, 0.7, true, NULL, err);
    free(gates);
    return status;
}

/* One step's gradients, mixed gate and aux loss, against the CPU's. */
static void check_gradients(struct tool_report *r, const struct ops *ops, const char *preset, const char *const *pairs,
                            const struct check_options *o, bool half)
{
    struct ops variant;
    struct config cfg;
    struct subject cpu = {0}, gpu = {0};
    struct error err = {0};
    tool_variant(&variant, ops, half ? PRECISION_BF16 : PRECISION_FP32, true);
    int status = configure(&cfg, preset, pairs, &err);
    if (!status)
        status = subject_open(&cpu, ops_cpu(), &cfg, o->threads, 1, &err);
    if (!status)
        status = subject_open(&gpu, &variant, &cfg, 1, 1, &err);
    if (!status)
        status = mixed_pass(&cpu, &err);
    if (!status)
        status = mixed_pass(&gpu, &err);
    if (status)
        report_fault(r, err.text, "gradients of %s in %s", preset, half ? "bf16" : "fp32");
    else
        report_check(r, gradient_error(&cpu, &gpu), half ? 6e-2 : 2e-4, "gradients of %s in %s, the worst tensor",
                     preset, half ? "bf16" : "fp32");
    if (gpu.ops)
        subject_close(&gpu);
    if (cpu.ops)
        subject_close(&cpu);
}

/* Is the loss of a step read back? Where it is not, the device works on alone; what comes later depends on it. */
static bool is_read(int step, int steps)
{
    return step % 3 == 0 || step == steps - 1;
}

/* Steps on the same windows; the losses that are read, and a copy of the parameters in the end (the caller frees it).
 */
static int train(const struct ops *ops, const struct config *cfg, int threads, int steps, double *losses,
                 float **params, struct error *err)
{
    struct subject s = {0};
    int status = subject_open(&s, ops, cfg, threads, steps, err);
    for (int k = 0; k < steps && !status; k++) {
        struct step_report report = {0};
        size_t at = (size_t)k * (size_t)cfg->batch * (size_t)(cfg->context + 1);
        status = trainer_step(&s.t, s.windows + at, is_read(k, steps), &report, err);
        losses[k] = report.stats.ce;
    }
    *params = status ? NULL : model_download(&s.m, s.m.params);
    if (s.ops)
        subject_close(&s);
    return status;
}

enum { STEPS = 20, TINY_STEPS = 6 };

static double curve_distance(const double *a, const double *b, int count)
{
    double worst = 0;
    for (int i = 0; i < count; i++) {
        if (!is_read(i, count))
            continue;
        double off = fabs(a[i] - b[i]) / a[i];
        worst = off > worst || isnan(off) ? off : worst;
    }
    return worst;
}

/* A loss curve through all phases of the gate against the CPU's; the same with recordings and without, and twice. */
static void check_curve(struct tool_report *r, const struct ops *ops, const struct check_options *o, bool half)
{
    static const char *const pairs[] = {"taper.sites=all", "aux.lambda=0.1", "train.steps=20",    "gate.warmup=5",
                                        "gate.end=14",     "train.batch=4",  "train.lr_warmup=2", NULL};
    static const char *const small[] = {"taper.sites=all", "train.steps=6",  "gate.warmup=2",
                                        "gate.end=4",      "train.batch=1",  "model.context=16",
                                        "model.vocab=64",  "model.layers=1", NULL};
    const char *precision = half ? "bf16" : "fp32";
    const int steps = o->tiny ? TINY_STEPS : STEPS;
    double losses[4][STEPS] = {{0}};
    float *params[4] = {NULL};
    struct config cfg;
    struct ops variants[2];
    struct error err = {0};
    for (int v = 0; v < 2; v++)
        tool_variant(&variants[v], ops, half ? PRECISION_BF16 : PRECISION_FP32, v == 0);
    int status = configure(&cfg, "demo", o->tiny ? small : pairs, &err);
    if (!status)
        status = train(ops_cpu(), &cfg, o->threads, steps, losses[0], &params[0], &err);
    for (int i = 1; i < 4 && !status; i++) /* with recordings, again, without */
        status = train(&variants[i == 3], &cfg, 1, steps, losses[i], &params[i], &err);
    struct param_table table;
    params_create(&table, &cfg);
    size_t bytes = table.total * sizeof(float);
    if (status) {
        report_fault(r, err.text, "loss curve in %s", precision);
    } else {
        report_check(r, curve_distance(losses[0], losses[1], steps), half ? 1e-2 : 1e-4,
                     "loss over %d steps in %s, against the CPU", steps, precision);
        report_check(r, memcmp(params[1], params[2], bytes) != 0, 0, "training twice in %s: other bits", precision);
        report_check(r, memcmp(params[1], params[3], bytes) != 0, 0, "recordings against plain steps in %s: other bits",
                     precision);
    }
    params_destroy(&table);
    for (int i = 0; i < 4; i++)
        free(params[i]);
}

/* A preset's shapes: in bf16 for each, in fp32 for the small ones (the steps' gradients have the others). */
static void check_preset(struct tool_report *r, const struct ops *ops, const char *preset, const char *const *pairs,
                         const struct check_options *o, bool full)
{
    struct config cfg;
    struct error err = {0};
    if (configure(&cfg, preset, pairs, &err)) {
        report_fault(r, err.text, "shapes of %s", preset);
        return;
    }
    check_shapes(r, ops, &cfg, preset, o, true);
    if (full)
        check_shapes(r, ops, &cfg, preset, o, false);
}

/* The quick and telling first, the large last. */
void check_run(struct tool_report *r, const struct ops *ops, const struct check_options *o)
{
    static const char *const pairs[] = {"taper.sites=all", "aux.lambda=0.1", "train.batch=2", NULL};
    static const char *const llama[] = {"taper.sites=all",
                                        "aux.lambda=0.1",
                                        "train.batch=2",
                                        "model.mlp=swiglu",
                                        "model.pos=rope",
                                        "model.tied=false",
                                        NULL};
    static const char *const tiny[] = {"taper.sites=all",
                                       "aux.lambda=0.1",
                                       "train.batch=1",
                                       "model.context=16",
                                       "model.vocab=64",
                                       "model.layers=1",
                                       NULL};
    static const char *const presets[] = {"demo", "1M", "3M", "9M", "30M", "gpt2"};
    const size_t count = o->tiny ? 1 : sizeof presets / sizeof presets[0];
    if (!o->steps)
        check_cases(r, ops, o);
    for (int half = 0; half < 2; half++)
        check_curve(r, ops, o, half);
    for (size_t i = 0; i < count && !o->steps; i++)
        for (int half = 0; half < 2; half++)
            check_gradients(r, ops, presets[i], o->tiny ? tiny : i == 2 ? llama : pairs, o, half);
    for (size_t i = 0; i < count && !o->steps; i++)
        check_preset(r, ops, presets[i], o->tiny ? tiny : i == 2 ? llama : pairs, o, i < 2);
}
