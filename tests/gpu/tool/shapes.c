/* The products, attention, head and decoding of a preset, in its own shapes, against the CPU's ops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/model/model.h"
#include "tests/gpu/tool/tool.h"
#include "tests/support/ops_case.h"

/* Of the cases' own bounds, which are those of careful fp32: what fp32 on a device and bf16 operands are off by. */
static const double full_slack = 20, half_slack = 3e3;

enum { ROWS = 1024 }; /* of the products: more than one tile in every direction */

static struct op_case *cases_of(const struct config *cfg, bool tiny, int *count)
{
    struct case_list list = {0};
    const int C = (int)cfg->d_model, V = (int)cfg->vocab, H = (int)cfg->heads, T = (int)cfg->context;
    const int A = (int)config_attn(cfg), D = A / H;
    const int N = tiny ? 24 : ROWS, F = (int)cfg->d_ff, batch = tiny ? 2 : 16;
    const int act = cfg->mlp == MLP_SWIGLU ? ACT_SWIGLU : cfg->mlp == MLP_GELU_TANH ? ACT_GELU_TANH : ACT_GELU;
    const int wide = act == ACT_SWIGLU ? 2 * F : F;
    const struct rope rope = model_rope(cfg);
    case_linear_forward(&list, N, C, 3 * A, ACT_NONE, cfg->bias);
    case_linear_backward(&list, N, C, 3 * A, ACT_NONE, cfg->bias, true);
    case_linear_forward(&list, N, A, C, ACT_NONE, cfg->bias);
    case_linear_backward(&list, N, A, C, ACT_NONE, cfg->bias, true);
    case_linear_forward(&list, N, C, wide, act, cfg->bias);
    case_linear_backward(&list, N, C, wide, ACT_NONE, cfg->bias, true);
    case_linear_forward(&list, N, F, C, ACT_NONE, cfg->bias);
    case_linear_backward(&list, N, F, C, act, cfg->bias, true);
    case_linear_forward(&list, batch, C, 3 * A, ACT_NONE, cfg->bias); /* decoding */
    case_attention(&list, 1, T, H, D, rope);
    case_head(&list, N, C, V, (struct head_options){.gradients = true, .stats = true, .spread = 0.1});
    case_decode(&list, batch, H, D, T, T, rope);
    case_sample(&list, batch, V, 0.8, 0, 0.95);
    *count = list.count;
    return list.at;
}

/* One case, twice on the device: wrong when it is off, or not the same bits. */
static bool wrong(const struct ops *ops, struct backend *be, struct backend *cpu, const struct op_case *c, double slack)
{
    struct case_result want, got, again;
    bool bad = false;
    ops_case_run(ops_cpu(), cpu, c, 0, &want);
    ops_case_run(ops, be, c, 0, &got);
    ops_case_run(ops, be, c, 0, &again);
    const char *off = ops_case_compare(c, &want, &got, slack);
    if (got.fault[0] || off[0]) {
        fprintf(stderr, "%s\n", got.fault[0] ? got.fault : off);
        bad = true;
    }
    if (ops_case_compare(c, &got, &again, 0)[0]) {
        fprintf(stderr, "%s: not the same bits twice\n", c->name);
        bad = true;
    }
    case_result_free(c, &want);
    case_result_free(c, &got);
    case_result_free(c, &again);
    return bad;
}

void check_shapes(struct tool_report *r, const struct ops *ops, const struct config *cfg, const char *name,
                  const struct check_options *o, bool half)
{
    struct ops variant;
    struct backend *be = NULL, *cpu = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = o->threads, .precision = PRECISION_FP32};
    int count, off = 0;
    struct op_case *cases = cases_of(cfg, o->tiny, &count);
    tool_variant(&variant, ops, half ? PRECISION_BF16 : PRECISION_FP32, true);
    if (variant.create(&be, &options, &err) || ops_cpu()->create(&cpu, &options, &err)) {
        report_fault(r, err.text, "shapes of %s in %s", name, half ? "bf16" : "fp32");
    } else {
        for (int i = 0; i < count; i++)
            off += wrong(&variant, be, cpu, &cases[i], half ? half_slack : full_slack);
        report_check(r, off, 0, "shapes of %s in %s: of %d products, attentions, heads, differing", name,
                     half ? "bf16" : "fp32", count);
    }
    variant.destroy(be);
    ops_cpu()->destroy(cpu);
    free(cases);
}
