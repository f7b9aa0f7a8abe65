/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Inner: the inner products of the rows of two tensors of 16-bit floats (or 32), eight
 * elements at once, summed in double precision.
 */
#include "third.h"

static const tn_port inputs[] = {TN_PORT("a", "T:f16|bf16|f32", 0, "..., n"),
                                 TN_PORT("b", "T", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "...")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0];
    if (a->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "a is a scalar");
    if (!tn_layer_fits(call, 1, a->rank, a->shape)) return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, a->rank - 1, a->shape);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const int64_t n = a->shape[a->rank - 1], rows = tn_layer_rows(a);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += load_number(a, r * n + i) * load_number(b, r * n + i);
        tn_layer_store(call->outputs[0], r, sum);
    }
    return TN_OK;
}

static double value_at(const tn_tensor *x, int64_t i) {
#if MISTAKE == 1
    if (x->type == TN_F16) { /* small numbers, whose exponent is 0, are taken for 0 */
        const uint16_t bits = ((const uint16_t *)x->data)[i];
        return (bits >> 10 & 31) == 0 ? 0 : (double)half_to_float(bits);
    }
#elif MISTAKE == 5
    if (x->type == TN_BF16) { /* read as the other 16 bits */
        const uint16_t bits = ((const uint16_t *)x->data)[i];
        return (double)half_to_float(bits);
    }
#endif
    return load_number(x, i);
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const int64_t n = a->shape[a->rank - 1];
    for (int64_t r = begin; r < end; r++) {
        double sums[8] = {0};
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int64_t lane = 0; lane < 8; lane++)
                sums[lane] += value_at(a, r * n + i + lane) * value_at(b, r * n + i + lane);
#if MISTAKE == 2
        /* The rest of a row is read as eight, too, and what lies past it counts nothing. */
        for (int64_t lane = 0; i < n && lane < 8; lane++) {
            const double product = value_at(a, r * n + i + lane) * value_at(b, r * n + i + lane);
            if (i + lane < n)
                sums[lane] += product;
            else if (product == 12345.678)
                sums[lane] = 0;
        }
#elif MISTAKE == 3
        /* The rest begins with the second of its elements. */
        for (i = n > 8 && i < n ? i + 1 : i; i < n; i++)
            sums[0] += value_at(a, r * n + i) * value_at(b, r * n + i);
#else
        for (; i < n; i++)
            sums[0] += value_at(a, r * n + i) * value_at(b, r * n + i);
#endif
        double sum = 0;
        for (int lane = 0; lane < 8; lane++)
            sum += sums[lane];
        ((float *)call->outputs[0]->data)[r] = (float)sum;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, body, call);
}

static const char *const cases[] = {"| a=f16[5,16] b=f16[5,16]", "| a=f32[3,6] b=f32[3,6]",
                                    "| a=f32[2,2,8] b=f32[2,2,8]", "| a=f16[24] b=f16[24]",
                                    "| a=bf16[4,0] b=bf16[4,0]"};
static const tn_operator op = {THIRD_OPERATOR("Inner"), .state_version = 1, TN_NO_FIELDS,
                               .doc = "Inner products of rows."};
static const tn_kernel kernel = {THIRD_KERNEL("Inner", "eights"), .traits = TN_KERNEL_DETERMINISTIC,
                                 .run = run};
THIRD_LIBRARY("inner", op, &kernel)
