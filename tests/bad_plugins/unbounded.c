/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Unpack, each element of a vector so often as its value says (at most 7 times), beside its
 * index: an output without a bound (tenon/plugin/output.h); and the mistakes that are made there.
 */
#include "mistake.h"

#include <tenon/plugin/output.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_port outputs[] = {TN_PORT("y", "f32",
                                          WITH(bounds_nothing) ? 0 : TN_PORT_SIZED_BY_RUN,
                                          "rows of an element and its index")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "a vector has one axis");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    call->outputs[0]->shape[1] = 2;
    return TN_OK;
}

static int64_t length_of(float x) {
    return x >= 1 && x < 8 ? (int64_t)x : x < 0 ? 2 : 0;
}
static int64_t count_rows(const tn_tensor *x) {
    int64_t rows = 0;
    for (int64_t i = 0; i < x->shape[0]; i++)
        rows += length_of(((const float *)x->data)[i]);
    return rows;
}
static void write_rows(const tn_tensor *x, float *to) {
    for (int64_t i = 0; i < x->shape[0]; i++)
        for (int64_t k = length_of(((const float *)x->data)[i]); k > 0; k--) {
            *to++ = ((const float *)x->data)[i];
            *to++ = (float)i;
        }
}
static tn_status allocate(tn_call *call, int64_t rows, int64_t columns, float **out_rows) {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    const int64_t extents[] = {rows, columns};
    void *data = 0;
    const tn_status status = memory->allocate(call, 0, 2, extents, &data);
    *out_rows = data;
    return status;
}

static tn_status reference(tn_call *call) {
    float *to = 0;
    const tn_status status = allocate(call, count_rows(call->inputs[0]), 2, &to);
    if (status == TN_OK) write_rows(call->inputs[0], to);
    return status;
}

typedef struct asking {
    tn_call *call;
    int64_t rows;
    float *to;
} asking;
static tn_status ask(void *user, int64_t begin, int64_t end, uint32_t thread) {
    asking *a = user;
    (void)begin, (void)thread;
    return end == 64 ? allocate(a->call, a->rows, 2, &a->to) : TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t rows = count_rows(call->inputs[0]);
    asking a = {call, rows, 0};
    tn_status status = TN_OK;
    if (WITH(asks_for_nothing_less) && rows == 0) return TN_OK;
    if (WITH(asks_again)) status = allocate(call, rows / 2, 2, &a.to);
    if (status == TN_OK && WITH(asks_in_a_body))
        status = call->host->parallel_for(call, 64, 1, ask, &a);
    else if (status == TN_OK)
        status = allocate(call, WITH(asks_for_the_most) ? call->inputs[0]->shape[0] * 7 : rows,
                          WITH(asks_for_bytes) ? 2 * (int64_t)sizeof(float) : 2, &a.to);
    if (WITH(hides_a_refusal) && !a.to) return TN_OK;
    if (status != TN_OK && !WITH(writes_all_the_same)) return status;
    write_rows(call->inputs[0], a.to);
    if (WITH(ends_with_a_zero)) a.to[2 * rows] = 0;
    if (WITH(shortens_it) && rows > 0) call->outputs[0]->shape[0]--;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[7]", "| x=f32[4]{1,3,-2,0}", "| x=f32[2]{0,0.5}"};
static const tn_operator unpack = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Unpack",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel unpack_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Unpack",
                                     .device = "cpu",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .run = run};
static const tn_operator *const operators[] = {&unpack};
static const tn_kernel *const kernels[] = {&unpack_cpu};
TN_LIBRARY("bad_unpack", "1", operators, kernels)
