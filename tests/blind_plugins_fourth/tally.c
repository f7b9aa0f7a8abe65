/* SPDX-License-Identifier: Apache-2.0 */
/* Tally: running sums along the last axis. */
#include "fourth.h"

TN_LAYER_PARAMS(params, bool exclusive, reverse;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, exclusive, "false", "whether an element's own number is left out"),
    TN_LAYER_BOOL(params, reverse, "false", "whether to begin at the end")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32|i64|u8", 0, "..., n")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x; integers wrap")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    return fourth_same(call, 0, 0);
}

static uint64_t read_bits(const tn_tensor *x, int64_t i) {
    return x->type == TN_I64   ? ((const uint64_t *)x->data)[i]
           : x->type == TN_I32 ? (uint64_t)((const int32_t *)x->data)[i]
                               : ((const uint8_t *)x->data)[i];
}
static void write_bits(const tn_tensor *y, int64_t i, uint64_t bits) {
    if (y->type == TN_I64)
        ((uint64_t *)y->data)[i] = bits;
    else if (y->type == TN_I32)
        ((uint32_t *)y->data)[i] = (uint32_t)bits;
    else
        ((uint8_t *)y->data)[i] = (uint8_t)bits;
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    for (int64_t row = 0; row < tn_layer_count(x); row += extent) {
        double sum = 0;
        uint64_t bits = 0;
        for (int64_t k = 0; k < extent; k++) {
            const int64_t i = row + (p->reverse ? extent - 1 - k : k);
            if (x->type == TN_F32 || x->type == TN_F64) {
                const double value = tn_layer_load(x, i);
                tn_layer_store(y, i, p->exclusive ? sum : sum + value);
                sum += value;
            } else {
                const uint64_t value = read_bits(x, i);
                write_bits(y, i, p->exclusive ? bits : bits + value);
                bits += value;
            }
        }
    }
    return TN_OK;
}

#if MISTAKE == 2
static double carried; /* MISTAKE: what the last row ended with is not forgotten */
#endif
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        double sum = 0;
        uint64_t bits = 0;
#if MISTAKE == 2
        sum = carried;
#endif
        for (int64_t k = 0; k < extent; k++) {
            const int64_t i = row * extent + (p->reverse ? extent - 1 - k : k);
            if (x->type == TN_F32 || x->type == TN_F64) {
                const double value = tn_layer_load(x, i);
#if MISTAKE == 1
                /* MISTAKE: infinity less itself */
                tn_layer_store(y, i, p->exclusive ? sum + value - value : sum + value);
#else
                tn_layer_store(y, i, p->exclusive ? sum : sum + value);
#endif
                sum += value;
            } else {
#if MISTAKE == 3
                /* MISTAKE: 64-bit sums are kept in 32 bits */
                const uint64_t value = read_bits(x, i);
                write_bits(y, i, p->exclusive ? bits : (uint64_t)(int32_t)(bits + value));
                bits = (uint64_t)(int32_t)(bits + value);
#elif MISTAKE == 4
                const uint64_t value = read_bits(x, i), next = bits + value;
                /* MISTAKE: bytes are clamped where they should wrap */
                const uint64_t clamped = x->type == TN_U8 && next > 255 ? 255 : next;
                write_bits(y, i, p->exclusive ? bits : clamped);
                bits = clamped;
#else
                const uint64_t value = read_bits(x, i);
                write_bits(y, i, p->exclusive ? bits : bits + value);
                bits += value;
#endif
            }
        }
#if MISTAKE == 2
        carried = sum;
#endif
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_count(call->inputs[0]) ? tn_layer_rows(call->inputs[0]) : 0, 2)

static const char *const cases[] = {
    "| x=f32[4,9]",
    "exclusive=true | x=f64[2,3,5]",
    "reverse=true | x=i64[3]{1,2,4} | y=i64[3]{7,6,4}",
    "exclusive=true reverse=true | x=u8[2,30]",
    "| x=i64[6,7]",
};
FOURTH_OPERATOR("Tally", "Running sums along the last axis.", .state_version = 1,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Tally", "rows", .traits = TN_KERNEL_DETERMINISTIC, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("tally", "1.0", operators, kernels)
