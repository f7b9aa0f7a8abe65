/* SPDX-License-Identifier: Apache-2.0 */
/* Elements move along an axis, and what falls off the end comes in at the beginning. The kernel
 * runs shapes that only a run knows. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t axis, shift;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1, "may count from the end"),
    TN_LAYER_I64(params, shift, "1", -1000000, 1000000, "elements; below 0: towards the beginning"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|i64|u8", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    if (axis_of(call) < 0 || axis_of(call) >= call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld, x has rank %u",
                                (long long)((const params *)call->params)->axis,
                                call->inputs[0]->rank);
    return infer_same(call);
}

static int64_t width_of(const tn_tensor *t) {
    return t->type == TN_I64 ? 8 : t->type == TN_F32 ? 4 : 1;
}

/* Rows outer, each of n parts of `bytes`, from `shift` parts before. */
static void roll(const tn_call *call, int64_t row, int64_t bytes, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[axis_of(call)], shift = ((const params *)call->params)->shift;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = (i - shift) % n;
        if (from < 0 && !(is_kernel && WRONG(3) && shift > 0)) from += n;
        memcpy((char *)call->outputs[0]->data + (row * n + i) * bytes,
               (const char *)x->data + (row * n + from) * bytes, (size_t)bytes);
    }
}

static int64_t part_bytes(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return extent(x, (uint32_t)axis_of(call) + 1, x->rank) * width_of(x);
}
static int64_t rows_of(const tn_call *call) {
    return part_bytes(call) > 0 ? extent(call->inputs[0], 0, (uint32_t)axis_of(call)) : 0;
}

static tn_status reference(tn_call *call) {
    for (int64_t row = 0; row < rows_of(call); row++)
        roll(call, row, part_bytes(call), false);
    return TN_OK;
}

/* The state is the bytes of a part in the mistaken kernel. */
static tn_status prepare(tn_call *call) {
    int64_t *bytes = call->host->allocate(call->host, sizeof(*bytes), 8);
    if (!bytes) return TN_ERROR_MEMORY;
    *bytes = WRONG(2) ? part_bytes(call) : width_of(call->inputs[0]);
    call->state = bytes;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const int64_t prepared = *(const int64_t *)call->state;
    const int64_t bytes =
        WRONG(2) ? prepared : extent(x, (uint32_t)axis_of(call) + 1, x->rank) * prepared;
    (void)thread;
    for (int64_t row = begin; row < end; row++)
        roll(call, row, bytes, true);
    return TN_OK;
}
TN_LAYER_RUN(rows, rows_of(call), 1)

static tn_status is_identity(tn_call *call) {
    return ((const params *)call->params)->shift == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const char *const cases[] = {
    "| x=f32[3,5]",
    "axis=0 shift=-2 | x=i64[4,2]",
    "axis=1 shift=7 | x=u8[2,3,3]",
    "shift=0 | x=f32[6]",
};
static const tn_operator rolling = {OPERATOR,
                                    .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY,
                                    .name = "Roll",
                                    TN_FIELDS(params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    .is_identity = WRONG(1) ? NULL : is_identity,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32|i64|u8 -> f32|i64|u8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Roll",
                                 .device = "cpu",
                                 .name = "parts",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run};
LIBRARY("roll", rolling, kernel)
