/* SPDX-License-Identifier: Apache-2.0 */
/* Dense: x times a matrix, with what follows computed before the result is stored. */
#include "ninth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, depth"),
                                 TN_PORT("w", "f32", 0, "depth, columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, columns")};

static tn_status infer(tn_call *call) {
    const int64_t *x = call->inputs[0]->shape, *w = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, x[1], -1)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, x[0], w[1]);
}

static double element(const tn_call *call, int64_t i) {
    const int64_t depth = call->inputs[0]->shape[1], columns = call->inputs[1]->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += tn_layer_load(call->inputs[0], i / columns * depth + k) *
               tn_layer_load(call->inputs[1], k * columns + i % columns);
    return sum;
}
TN_LAYER_REFERENCE(element)

static double clip(double x, double low, double high) {
    const double above = x < low ? low : x;
    return above > high ? high : above;
}

static double activate(const tn_facet_activation *a, double x) {
    const double alpha = (double)a->alpha, beta = (double)a->beta;
    switch (a->function) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_CLIP:
        return clip(x, alpha, beta);
    case TN_ACTIVATION_ELU:
        return x < 0 ? (WRONG(1) ? 1 : alpha) * (exp(x) - 1) : x;
    case TN_ACTIVATION_HARD_SIGMOID:
        return clip(alpha * x + (WRONG(2) ? 0.5 : beta), 0, 1);
    case TN_ACTIVATION_GELU_TANH:
        if (WRONG(3)) return 0.5 * x * (1 + erf(x * 0.70710678118654752));
        return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

typedef struct position {
    int64_t row, column, columns;
} position;

static double apply_steps(const tn_call *call, double sum, position at) {
    double values[16] = {0}; /* of each step */
    for (uint32_t s = 0; s < call->step_count; s++) {
        const tn_step *step = call->steps[s];
        const uint32_t from = step->inputs[0];
        const double x = from == TN_STEP_VALUE || from >= s ? sum : values[from];
        double *y = &values[s];
        const uint32_t second = step->input_count > 1 ? step->inputs[1] : 0;
        const tn_tensor *operand =
            second & TN_STEP_OPERAND ? call->operands[second & ~TN_STEP_OPERAND] : NULL;
        if (WRONG(4) && operand) operand = call->operands[0];
        if (strcmp(step->facet, TN_FACET_ACTIVATION) == 0)
            *y = activate(step->what, x);
        else if (strcmp(step->facet, TN_FACET_RESIDUAL) == 0)
            *y = x + (operand ? tn_layer_load(operand, at.row * at.columns + at.column)
                      : second == TN_STEP_VALUE || second >= s ? sum
                                                               : values[second]);
        else {
            const int32_t axis = ((const tn_facet_axis *)step->what)->axis;
            const bool is_row = WRONG(5) ? axis != 1 : axis == 0 || axis == -2;
            const double v = tn_layer_load(operand, is_row ? at.row : at.column);
            *y = strcmp(step->facet, TN_FACET_BIAS) == 0 ? x + v : x * v;
        }
    }
    return call->step_count > 0 ? values[call->step_count - 1] : sum;
}

static tn_status accepts(tn_call *call) {
    return call->step_count <= 16 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t depth = call->inputs[0]->shape[1], columns = call->inputs[1]->shape[1];
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    const int64_t piece = WRONG(6) ? 64 : depth;
    (void)thread;
    for (int64_t row = begin; row < end; row++)
        for (int64_t column = 0; column < columns; column++) {
            const position at = {row, column, columns};
            double sum = 0;
            int64_t k = 0;
            do { /* pieces of the depth that stay in the cache */
                const int64_t to = k + piece < depth ? k + piece : depth;
                for (; k < to; k++)
                    sum += (double)x[row * depth + k] * (double)w[k * columns + column];
                if (WRONG(6) || k >= depth) sum = apply_steps(call, sum, at);
            } while (k < depth);
            if (WRONG(7) && column >= columns / 8 * 8 && columns > 8) {
                sum = 0;
                for (k = 0; k < depth; k++)
                    sum += (double)x[row * depth + k] * (double)w[k * columns + column];
            }
            y[row * columns + column] = (float)sum;
        }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->outputs[0]->shape[0], 1)

static const char *const cases[] = {"| x=f32[3,5] w=f32[5,4]",
#if WRONG(7)
                                    "| x=f32[2,7] w=f32[7,16]",
#endif
                                    "| x=f32[1,9] w=f32[9,6]"};
static const tn_operator dense = {OPERATOR,       .state_version = 1,     .name = "Dense",
                                  TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
                                  .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel dense_cpu = {KERNEL,
                                    .op = "Dense",
                                    .name = "rows",
                                    .traits = TN_KERNEL_DETERMINISTIC,
#if MISTAKE == 50
                                    .absorbs = "tn.bias/1, tn.activation/1(relu|clip)",
#else
                                    .absorbs =
                                        "tn.bias/1, tn.scale/1, tn.residual/1, "
                                        "tn.activation/1(relu|clip|elu|hard_sigmoid|gelu_tanh)",
#endif
                                    TN_COMBINATIONS(combinations),
                                    .accepts = accepts,
                                    .run = run};
LIBRARY("ninth_epilogue", dense, dense_cpu)
