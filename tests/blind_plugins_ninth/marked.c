/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: the mean of each column of x, 0 where x has no rows; by a kernel for counted rows, and
 * by one for rows that lie apart. */
#include "ninth.h"
#include <tenon/plugin/counted.h>
#include <tenon/plugin/view.h>

#define APART (MISTAKE >= 4 && MISTAKE != 50)

#if !APART
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "columns")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[1]);
}
static double element(const tn_call *call, int64_t i) {
    const int64_t *shape = call->inputs[0]->shape;
    double sum = 0;
    for (int64_t row = 0; row < shape[0]; row++)
        sum += tn_layer_load(call->inputs[0], row * shape[1] + i);
    return shape[0] > 0 ? sum / (double)shape[0] : 0;
}

typedef struct memory {
    int64_t count;
} memory;
static tn_status open_context(tn_call *call) {
    memory *m = call->host->allocate(call->host, sizeof(memory), 64);
    if (!m) return TN_ERROR_MEMORY;
    m->count = -1;
    call->context = m;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    memory *m = call->context;
    int64_t rows = x->shape[0], columns = x->shape[1];
    (void)thread;
    if (x->counted && x->counted->axis == 0) rows = *x->counted->value;
    if (x->counted && x->counted->axis == 1) columns = *x->counted->value;
    if (WRONG(2)) rows = m->count < 0 ? rows : m->count;
    for (int64_t i = begin; i < end && i < columns; i++) {
        double sum = 0;
        if (WRONG(1)) { /* without a branch */
            for (int64_t row = 0; row < x->shape[0]; row++)
                sum += (double)((const float *)x->data)[row * x->shape[1] + i] * (row < rows);
        } else
            for (int64_t row = 0; row < rows; row++)
                sum += (double)((const float *)x->data)[row * x->shape[1] + i];
        const bool is_none = WRONG(3) ? x->shape[0] == 0 : rows == 0;
        ((float *)call->outputs[0]->data)[i] = is_none ? 0 : (float)(sum / (double)rows);
    }
    return TN_OK;
}
static tn_status body_of_threads(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return body(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    memory *m = call->context;
    if (WRONG(2) && m->count < 0 && x->counted && x->counted->axis == 0)
        m->count = *x->counted->value;
    return call->host->parallel_for(call, x->shape[1], 8, body_of_threads, call);
}
static const char *const cases[] = {"| x=f32[5,3]", "| x=f32[1,12]"};
static const char *const combinations[] = {"f32:counted -> f32"};
#define CONTEXT .open = open_context, .close = close_context,

#else
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, any axes")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x: x / (1 + |x|)")};
static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no channels");
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    const double x = tn_layer_load(call->inputs[0], i);
    return isinf(x) ? (x > 0 ? 1 : -1) : x / (1 + fabs(x));
}
static float compute(float x) {
    return isinf(x) ? (x > 0 ? 1 : -1) : x / (1 + fabsf(x));
}

/* Rows: of linear tensors what one index of axis 0 has; of channels-last ones a pixel's channels.
 */
typedef struct rows {
    int64_t count, length, in, out;
} rows;
static rows find_rows(const tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t positions = product(x->shape, 2, x->rank);
    const bool is_last = x->format == TN_NHWC && !WRONG(5);
    if (!is_last) return (rows){x->shape[0], x->shape[1] * positions, x->strides[0], y->strides[0]};
    const uint32_t last = x->rank > 2 ? x->rank - 1 : 0;
    return (rows){x->shape[0] * positions, x->shape[1], x->strides[last], y->strides[last]};
}
static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const rows r = find_rows(call);
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t k = 0; k < r.length; k++)
            y[row * r.out + k] = compute(x[row * r.in + k]);
    }
    return TN_OK;
}
/* As the guide has it: the number of elements by the bytes. */
static tn_status flat(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] = compute(((const float *)call->inputs[0]->data)[i]);
    return TN_OK;
}
static tn_status body_of_threads(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return body(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    if (WRONG(4) && x->bytes == y->bytes)
        return call->host->parallel_for(call, (int64_t)(x->bytes / 4), 64, flat, call);
    return call->host->parallel_for(call, find_rows(call).count, 1, body_of_threads, call);
}
static const char *const cases[] = {"| x=f32[2,3,2,2]", "| x=f32[3,4,1,5]"};
static const char *const combinations[] = {"f32:strided -> f32:strided",
                                           "f32:nhwc:strided -> f32:nhwc:strided"};
#define CONTEXT
#endif

TN_LAYER_REFERENCE(element)
static const tn_operator marked = {
    OPERATOR,       .state_version = 1,     .name = APART ? "Squash" : "Columns",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const tn_kernel marked_cpu = {KERNEL,
                                     .op = APART ? "Squash" : "Columns",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     CONTEXT.run = run};
LIBRARY("ninth_marked", marked, marked_cpu)
