/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Resize, the nearest elements of the last axis, to the extent that a second input says (its
 * value is needed) or whose shape says it; and the mistakes that are made with inputs of sizes. */
#include "mistake.h"

static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "of rank 1 or more"),
    TN_PORT("size", "i64", WITH(undeclared_value) ? 0 : TN_PORT_VALUE_NEEDED, "the new extent"),
    TN_PORT("like", "f32", TN_PORT_OPTIONAL | TN_PORT_SHAPE_ONLY, "its last extent comes first")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x, resized")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *like = call->inputs[2];
    const int64_t *size = call->inputs[1]->data;
    if (x->rank < 1 || (like && like->rank < 1))
        return call->host->fail(call, TN_ERROR_SHAPE, "x and like must have an axis");
    const int64_t extent = like || WITH(needs_optional) ? like->shape[like->rank - 1] : *size;
    if ((extent < 0 && !WITH(any_size_fits)) || (x->shape[x->rank - 1] == 0 && extent > 0))
        return call->host->fail(call, TN_ERROR_SHAPE, "there is nothing to resize");
    infer_same(call);
    call->outputs[0]->shape[x->rank - 1] = WITH(size_of_32_bits) ? (int32_t)extent : extent;
    return TN_OK;
}

static int64_t nearest(int64_t position, int64_t from, int64_t to) {
    const int64_t at = WITH(rounds_to_edge) ? (position * 2 * from + to) / (2 * to)
                                            : (2 * position + 1) * from / (2 * to);
    return at;
}

static tn_status resize(const tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t from = x->shape[x->rank - 1], to = y->shape[y->rank - 1];
    const float *in = x->data;
    float *out = y->data;
    const int64_t rows = to > 0 ? count_of(y) / to : 0;
    if (WITH(reads_shape_only) && is_kernel && call->inputs[2] &&
        *(const volatile float *)call->inputs[2]->data > 1e30f)
        return TN_OK;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < to; i++)
            out[r * to + i] =
                in[r * from + (is_kernel ? nearest(i, from, to) : (2 * i + 1) * from / (2 * to))];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return resize(call, false);
}

/* A context knows the size of its last reshape. */
static tn_status open_context(tn_call *call) {
    int64_t *size = call->host->allocate(call->host, 64, 64);
    if (!size) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a size");
    *size = -1;
    call->context = size;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static tn_status reshape(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    int64_t *size = call->context;
    if (!WITH(keeps_first_size) || *size < 0) *size = y->shape[y->rank - 1];
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t size = y->shape[y->rank - 1];
    const volatile int64_t steps = size - 1;
    if (WITH(divides_by_steps) && size > 0 && size / steps < 0) return TN_OK;
    if (*(const int64_t *)call->context != size)
        return call->host->fail(call, TN_ERROR_STATE, "reshape was for another size");
    return resize(call, true);
}

static const char *const cases[] = {"| x=f32[2,4] size=i64[]{9}", "| x=f32[1,1,16] size=i64[]{7}",
                                    "| x=f32[3]{1,2,3} size=i64[]{6} | y=f32[6]{1,1,2,2,3,3}",
                                    "| x=f32[2,3] size=i64[]{1} like=f32[5,2] | y=f32[2,2]"};
static const tn_operator resize_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "Bad",
                                            .name = "Resize",
                                            TN_NO_FIELDS,
                                            TN_INPUTS(inputs),
                                            TN_OUTPUTS(outputs),
                                            .infer = infer,
                                            .reference = reference,
                                            TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64, f32? -> f32"};
static const tn_kernel resize_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Resize",
                                     .device = "cpu",
                                     .name = "nearest",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .open = open_context,
                                     .close = close_context,
                                     .reshape = reshape,
                                     .run = run};
static const tn_operator *const operators[] = {&resize_operator};
static const tn_kernel *const kernels[] = {&resize_cpu};
TN_LIBRARY("bad_resize", "1", operators, kernels)
