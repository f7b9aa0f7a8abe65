/* SPDX-License-Identifier: Apache-2.0 */
/* x * sigmoid(beta * g), which tells the host all that it is: an expression, a row function, a
 * facet of one input. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, float beta;);
static const tn_field fields[] = {TN_LAYER_F32(params, beta, "1", -100, 100, "of the gate")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape"),
                                 TN_PORT("g", "T", 0, "broadcast with x")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "both, broadcast")};

static int64_t extent_at(const tn_tensor *t, uint32_t axis, uint32_t rank) {
    return axis + t->rank < rank ? 1 : t->shape[axis + t->rank - rank];
}
static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    call->outputs[0]->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t left = extent_at(a, i, rank), right = extent_at(b, i, rank);
        if (left != right && left != 1 && right != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "extents %lld and %lld along axis %u",
                                    (long long)left, (long long)right, i);
        call->outputs[0]->shape[i] = WRONG(6)    ? (left > right ? left : right)
                                     : left == 1 ? right
                                                 : left;
    }
    return TN_OK;
}
static int64_t index_in(const tn_tensor *t, const tn_tensor *y, int64_t i) {
    int64_t index = 0, step = 1;
    for (uint32_t axis = y->rank; axis-- > 0; i /= y->shape[axis]) {
        const int64_t extent = extent_at(t, axis, y->rank);
        if (extent > 1) index += i % y->shape[axis] * step;
        step *= extent;
    }
    return index;
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *y = call->outputs[0];
    const double beta = (double)((const params *)call->params)->beta;
    const double x = tn_layer_load(call->inputs[0], index_in(call->inputs[0], y, i));
    const double g = tn_layer_load(call->inputs[1], index_in(call->inputs[1], y, i));
    return x / (1 + exp(-beta * g));
}
TN_LAYER_REFERENCE(element)

static void row(const void *of, uint64_t count, const float *const *from, const uint64_t *strides,
                float *y) {
    const float beta = ((const params *)of)->beta;
    for (uint64_t i = 0; i < count; i++) {
        const float x = from[0][WRONG(1) ? i : i * strides[0]], g = from[1][i * strides[1]];
        if (WRONG(2))
            y[i] = x * (expf(beta * g) / (1 + expf(beta * g)));
        else
            y[i] = x / (1 + expf(-beta * g));
    }
    for (uint64_t i = count; WRONG(3) && i % 4 != 0; i++)
        y[i] = 0; /* whole vectors */
}

static const char *const cases[] = {"| x=f32[3,5] g=f32[3,5]", "beta=2 | x=f32[4,1,3] g=f32[2,1]",
                                    "| x=f64[7] g=f64[7]", "beta=0.5 | x=f32[2,8] g=f32[8]"};
static const tn_operator gate = {
    OPERATOR,
    .traits = TN_OPERATOR_ELEMENTWISE | (WRONG(5) ? TN_OPERATOR_COMMUTATIVE : 0),
    .name = "Gate",
    TN_FIELDS(params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .expression = WRONG(4) ? "x * sigmoid(beta) * g" : "x * sigmoid(beta * g)",
    .row = row,
    TN_CASES(cases)};
static const tn_operator *const library_operators[] = {&gate};
static tn_library table = {.size = sizeof(tn_library),
                           .abi_major = TN_ABI_MAJOR,
                           .abi_minor = TN_ABI_MINOR,
                           .name = "gate",
                           .version = "1.0",
                           .operator_count = 1,
                           .operators = library_operators};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    (void)host;
    return &table;
}
