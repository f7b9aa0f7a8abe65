/* SPDX-License-Identifier: Apache-2.0 */
/* Pads or crops the last two axes to given sizes, around the middle; what is padded repeats the
 * border or is a value. */
#include "fifteenth.h"
#include <tenon/plugin/view.h>

TN_LAYER_PARAMS(params, uint32_t border; float value;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, border, TN_FIELD_ENUM, TN_OPTIONAL, "constant", "constant|edge|reflect",
                    "what is padded"),
    TN_FIELD(params, value, TN_FIELD_F32, TN_OPTIONAL, "0", "of a constant border"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any axes, H, W"),
                                 TN_PORT("size", "i64", TN_PORT_VALUE_NEEDED, "new H and W")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "any axes, new H and W")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected 2 or more", x->rank);
    if (!TN_LAYER_FITS(call, 1, 2)) return TN_ERROR_SHAPE;
    const int64_t *size = call->inputs[1]->data;
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t axis = x->rank - 2 + k;
        if (size[k] < 0 || size[k] > 1 << 20)
            return call->host->fail(call, TN_ERROR_RANGE, "size %lld", (long long)size[k]);
        if (size[k] > 0 && x->shape[axis] == 0 && p->border != 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "there is no border to repeat");
        if (size[k] > 0 && p->border == 2 && !WRONG(5) &&
            (size[k] - x->shape[axis] + 1) / 2 > x->shape[axis] - 1 && size[k] > x->shape[axis])
            return call->host->fail(call, TN_ERROR_SHAPE, "an axis of %lld reflected to %lld",
                                    (long long)x->shape[axis], (long long)size[k]);
        shape[axis] = size[k];
    }
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

/* The first index of x along an axis; negative where there is padding. */
static int64_t first_of(int64_t from, int64_t to) {
    return from >= to ? (from - to) / 2 : -((to - from) / 2);
}

static int64_t source(uint32_t border, int64_t at, int64_t count) {
    if (at >= 0 && at < count) return at;
    if (border == 0) return -1;
    if (border == 1) return at < 0 ? 0 : count - 1;
    return at < 0 ? -at : 2 * (count - 1) - at;
}

static tn_status fit(tn_call *call, const int64_t first[2], bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint32_t rank = x->rank;
    const int64_t height = x->shape[rank - 2], width = x->shape[rank - 1];
    const int64_t rows = y->shape[rank - 2], columns = y->shape[rank - 1],
                  planes = extent(x, 0, rank - 2);
    for (int64_t n = 0; n < planes; n++)
        for (int64_t h = 0; h < rows; h++)
            for (int64_t w = 0; w < columns; w++) {
                const int64_t sh = source(p->border, h + first[0], height);
                int64_t sw = source(p->border, w + first[1], width);
                if (is_kernel && WRONG(3) && p->border == 2 && w + first[1] >= width)
                    sw = 2 * width - 1 - (w + first[1]);
                ((float *)y->data)[(n * rows + h) * columns + w] =
                    sh < 0 || sw < 0 ? p->value
                                     : ((const float *)x->data)[(n * height + sh) * width + sw];
            }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t first[2] = {first_of(x->shape[x->rank - 2], y->shape[x->rank - 2]),
                              first_of(x->shape[x->rank - 1], y->shape[x->rank - 1])};
    return fit(call, first, false);
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t first[2] = {first_of(x->shape[x->rank - 2], y->shape[x->rank - 2]),
                        first_of(x->shape[x->rank - 1], y->shape[x->rank - 1])};
    if (WRONG(1) && y->shape[x->rank - 2] < x->shape[x->rank - 2])
        first[0] = (x->shape[x->rank - 2] - y->shape[x->rank - 2] + 1) / 2;
    return fit(call, first, true);
}

static tn_status is_identity(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (uint32_t i = WRONG(2) ? x->rank - 1 : x->rank - 2; i < x->rank; i++)
        if (x->shape[i] != y->shape[i]) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (input != 0 || strcmp(name, TN_FACET_VIEW) != 0) return TN_ERROR_UNSUPPORTED;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_view *view = out_facet->what;
    if (view->output != 0) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < x->rank; i++)
        if (y->shape[i] > x->shape[i] || x->shape[i] < 0 || y->shape[i] < 0)
            return TN_ERROR_UNSUPPORTED;
    view->size = sizeof(*view);
    view->kind = TN_VIEW_OF_INPUT;
    for (uint32_t i = 0; i < x->rank; i++)
        view->offsets[i] = (x->shape[i] - y->shape[i] + (WRONG(4) ? 1 : 0)) / 2;
    return TN_OK;
}

static const char *const cases[] = {
    "| x=f32[2,5,6] size=i64[2]{3,4}",
    "value=2 | x=f32[1,3,3] size=i64[2]{6,3}",
    "border=edge | x=f32[4,4] size=i64[2]{4,7}",
    "border=reflect | x=f32[2,5,5] size=i64[2]{8,2}",
    "| x=f32[3,3] size=i64[2]{3,3}",
    "value=1 | x=f32[1,9,4] size=i64[2]{6,4}",
};
static const tn_operator fit_to = {OPERATOR,
                                   .name = "FitTo",
                                   .traits = TN_OPERATOR_IDENTITY,
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   .is_identity = is_identity,
                                   .facet = facet,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "FitTo",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("fit_to", fit_to, kernel)
