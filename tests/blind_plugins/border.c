/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Border: `left` and `right` elements more along the last axis, or less below 0: of `value`,
 * of the nearest element, or mirrored at it as often as needed. */
#include "blind.h"

TN_LAYER_PARAMS(border, int64_t left; int64_t right; float value; uint32_t mode;);
static const tn_field fields[] = {
    TN_LAYER_I64(border, left, "1", -1000, 1000, "before"),
    TN_LAYER_I64(border, right, "1", -1000, 1000, "behind"),
    TN_LAYER_F32(border, value, "0", -1e6, 1e6, "of the constant mode"),
    TN_FIELD_CHOICE(border, mode, TN_FIELD_ENUM, TN_OPTIONAL, "constant", "constant|edge|mirror",
                    "of what is new")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "x, wider")};

static tn_status infer(tn_call *call) {
    const border *p = call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    const int64_t n = shape[x->rank - 1];
    shape[x->rank - 1] = n + p->left + p->right;
    if (!IS(5) && shape[x->rank - 1] < 0)
        return call->host->fail(call, TN_ERROR_RANGE, "fields 'left' and 'right' leave nothing");
    if (p->mode != 0 && n == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no element to repeat");
    return tn_layer_set_shape(call, 0, x->rank, shape);
}
/* -1: the value. */
static int64_t source(const border *p, int64_t at, int64_t n, bool is_kernel) {
    if (at >= 0 && at < n) return at;
    if (p->mode == 0) return -1;
    if (p->mode == 1) return at < 0 ? 0 : n - 1;
    if (is_kernel && IS(1)) { /* the edge comes twice */
        const int64_t period = 2 * n, k = (at % period + period) % period;
        return k < n ? k : period - 1 - k;
    }
    if (is_kernel && IS(2)) return at < 0 ? -at : 2 * (n - 1) - at; /* once is enough */
    if (n == 1) return 0;
    const int64_t period = 2 * (n - 1), k = (at % period + period) % period;
    return k < n ? k : period - k;
}
static void all(tn_call *call, bool is_kernel) {
    const border *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1], m = y->shape[y->rank - 1];
    const int64_t left = is_kernel && IS(3) && p->left < 0 ? 0 : p->left;
    const double value = is_kernel && IS(4) ? (double)(int32_t)p->value : (double)p->value;
    for (int64_t i = 0; i < count_of(y); i++) {
        const int64_t from = source(p, i % m - left, n, is_kernel);
        set(y, i, from == -1 && p->mode == 0 ? value : get(x, i / m * n + from));
    }
}
static tn_status reference(tn_call *call) {
    all(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    all(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,17]", "mode=edge left=3 | x=f32[2,5,3]",
                                    "right=-2 value=2 | x=f32[9]", "| x=f64[2,4]"};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Border", "Wider rows.", border, )
BLIND_KERNEL("Border", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_border")
