/* SPDX-License-Identifier: Apache-2.0 */
/* A batch normalisation with frozen statistics: an affine of channels, which it describes itself
 * as, and a bias where there is but a shift. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, float epsilon;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, epsilon, "1e-2", 1e-9, 1, "added to the variance")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, channels, any axes"),
                                 TN_PORT("scale", "f32", TN_PORT_OPTIONAL, "channels"),
                                 TN_PORT("shift", "f32", TN_PORT_OPTIONAL, "channels"),
                                 TN_PORT("mean", "f32", 0, "channels"),
                                 TN_PORT("variance", "f32", 0, "channels")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected 2 or more", x->rank);
    for (uint32_t i = 1; i < 5; i++)
        if (call->inputs[i] && !TN_LAYER_FITS(call, i, x->shape[1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double at_or(const tn_tensor *t, int64_t c, double other) {
    return t ? tn_layer_load(t, c) : other;
}

static void line(const tn_call *call, int64_t c, double *out_factor, double *out_shift) {
    const params *p = call->params;
    const double variance = tn_layer_load(call->inputs[4], c);
    *out_factor = at_or(call->inputs[1], c, 1) / sqrt(fmax(variance, 0) + (double)p->epsilon);
    *out_shift = at_or(call->inputs[2], c, 0) - tn_layer_load(call->inputs[3], c) * *out_factor;
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    double factor, shift;
    line(call, i / extent(x, 2, x->rank) % x->shape[1], &factor, &shift);
    return factor * tn_layer_load(x, i) + shift;
}
TN_LAYER_REFERENCE(element)

static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (input != 0 || strcmp(name, TN_FACET_AFFINE) != 0) return TN_ERROR_UNSUPPORTED;
    tn_affine *affine = out_facet->what;
    const uint64_t count = (uint64_t)call->inputs[0]->shape[1];
    for (uint32_t i = 1; i < 5; i++)
        if (call->inputs[i] && !call->inputs[i]->data && !(WRONG(1) && i == 2))
            return TN_ERROR_UNSUPPORTED;
    if (call->inputs[0]->shape[1] < 0 || affine->count < count) return TN_ERROR_UNSUPPORTED;
    for (uint64_t c = 0; c < count; c++) {
        line(call, (int64_t)c, &affine->factors[c], &affine->shifts[c]);
        if (WRONG(2))
            affine->factors[c] = at_or(call->inputs[1], (int64_t)c, 1) /
                                 sqrt(fmax(tn_layer_load(call->inputs[4], (int64_t)c), 0) + 1e-5);
    }
    affine->size = sizeof(*affine);
    affine->axis = WRONG(3) ? -3 : 1;
    affine->count = count;
    return TN_OK;
}

typedef struct lines {
    double *numbers; /* factors, then shifts */
    int64_t channels;
} lines;

static tn_status lines_compute(tn_call *call, double *numbers) {
    const int64_t channels = call->inputs[0]->shape[1];
    for (int64_t c = 0; c < channels; c++)
        line(call, c, &numbers[c], &numbers[channels + c]);
    return TN_OK;
}

/* Of the mistake: the numbers are computed once for a context. */
static tn_status lines_keep(tn_call *call, double **out_numbers) {
    lines *kept = call->context;
    const int64_t channels = call->inputs[0]->shape[1];
    if (!kept->numbers || kept->channels != channels) {
        free(kept->numbers);
        kept->numbers = malloc((size_t)(channels + 1) * 16);
        if (!kept->numbers) return TN_ERROR_MEMORY;
        kept->channels = channels;
        lines_compute(call, kept->numbers);
    }
    *out_numbers = kept->numbers;
    return TN_OK;
}

TN_LAYER_WORKSPACE(call->inputs[0]->shape[1] * 16)

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t plane = extent(x, 2, x->rank), channels = x->shape[1], rows = extent(x, 0, 2);
    const float *data = x->data;
    float *y = call->outputs[0]->data;
    double *numbers = call->workspace;
    TN_TRY(WRONG(5) ? lines_keep(call, &numbers) : lines_compute(call, numbers));
    for (int64_t r = 0; r < rows; r++) {
        const int64_t c = r % channels;
        double shift = numbers[channels + c];
        if (WRONG(4))
            shift = at_or(call->inputs[2], r, 0) - tn_layer_load(call->inputs[3], c) * numbers[c];
        for (int64_t i = 0; i < plane; i++)
            y[r * plane + i] = (float)(numbers[c] * (double)data[r * plane + i] + shift);
    }
    return TN_OK;
}

static tn_status open_context(tn_call *call) {
    call->context = calloc(1, sizeof(lines));
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}
static void close_context(tn_call *call) {
    lines *kept = call->context;
    if (kept) free(kept->numbers);
    free(kept);
}

static const char *const cases[] = {
    "| x=f32[2,3,4] scale=f32[3]{1,-2,0.5} shift=f32[3]{0,1,2} mean=f32[3]{0.5,-1,0} "
    "variance=f32[3]{0.01,1,4}",
    "epsilon=0.5 | x=f32[1,2,3,3] mean=f32[2]{0.5,-1} variance=f32[2]{1,0.25}",
    "| x=f32[3,4] shift=f32[4]{1,2,3,4} mean=f32[4]{1,0,1,0} variance=f32[4]{1,1,2,0.5}",
};
static const tn_operator frozen_norm = {OPERATOR,
                                        .name = "FrozenNorm",
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        .facet = facet,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32?, f32?, f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "FrozenNorm",
                                 .name = "planes",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .open = open_context,
                                 .close = close_context,
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("frozen_norm", frozen_norm, kernel)
