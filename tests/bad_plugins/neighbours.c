/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Gather3, weighted sums of each element and the two after it, by taps that the kernel packs
 * when they are constant, four to a row; and Bad::Bend, a curve by a table that the kernel makes
 * for each node. And the mistakes that show where a network has several nodes, or other memory. */
#include "mistake.h"

#include <stdio.h>
#include <string.h>

enum { TAPS = 3, PADDED = 4 };

/* ----------------------------------------------------------------------------------------------
 * taps */

typedef struct taps_params {
    uint64_t present;
    float gain;
    bool reverse, negate;
} taps_params;
static const tn_field taps_fields[] = {
    TN_FIELD(taps_params, gain, TN_FIELD_F32, 0, "1", "of the sum"),
    TN_FIELD(taps_params, reverse, TN_FIELD_BOOL, 0, "false", "the last tap first"),
    TN_FIELD(taps_params, negate, TN_FIELD_BOOL, 0, "false", "of all taps"),
};
static const tn_port taps_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                      TN_PORT("taps", "f32", 0, "rows, 3")};
static const tn_port taps_outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status taps_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *taps = call->inputs[1];
    if (x->rank != 2 || taps->rank != 2 || taps->shape[0] != x->shape[0] || taps->shape[1] != TAPS)
        return call->host->fail(call, TN_ERROR_SHAPE, "x is rows, columns, taps are rows, 3");
    return infer_same(call);
}

static float tap(const taps_params *p, const float *taps, int64_t row, int64_t k) {
    const float value = taps[row * TAPS + (p->reverse ? TAPS - 1 - k : k)];
    return p->negate ? -value : value;
}

typedef struct packing {
    const taps_params *params;
    const float *taps;
    int64_t rows, columns;
} packing;

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const packing *from = user;
    float *to = data;
    (void)bytes;
    for (int64_t row = 0; row < from->rows; row++)
        for (int64_t k = 0; k < PADDED; k++) {
            if (k < TAPS)
                to[row * PADDED + k] = tap(from->params, from->taps, row, k);
            else if (!WITH(fourth_tap_unwritten))
                to[row * PADDED + k] = WITH(keyed_without_shape) ? (float)from->columns : 0;
        }
    return TN_OK;
}

static tn_status taps_prepare(tn_call *call) {
    const taps_params *p = call->params;
    const tn_tensor *taps = call->inputs[1];
    const packing from = {p, taps->data, taps->shape[0], call->inputs[0]->shape[1]};
    const void *packed = NULL;
    char key[48];
    call->state = NULL;
    if (!taps->data || from.rows == 0) return TN_OK;
    snprintf(key, sizeof(key), "taps of four%s%s", p->reverse ? ", reverse" : "",
             p->negate && !WITH(keyed_by_first_flag) ? ", negative" : "");
    const tn_status status = call->host->packed(call, 1, key, (uint64_t)from.rows * PADDED * 4,
                                                pack, (void *)(uintptr_t)&from, &packed);
    call->state = (void *)(uintptr_t)packed;
    return status;
}

/* `packed` null: by the taps as they are. */
static void gather(const tn_call *call, const float *packed) {
    const taps_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t columns = x->shape[1];
    for (int64_t at = 0; at < count_of(x); at++) {
        const int64_t row = at / columns, column = at % columns;
        double sum = 0;
        for (int64_t k = 0; k < PADDED && column + k < columns; k++) {
            const bool is_tap = k < TAPS || (packed && WITH(fourth_tap_unwritten));
            const double factor = !is_tap  ? 0
                                  : packed ? (double)packed[row * PADDED + k]
                                           : (double)tap(p, call->inputs[1]->data, row, k);
            sum += factor * (is_tap ? (double)((const float *)x->data)[at + k] : 0);
        }
        if (packed && WITH(keyed_without_shape))
            sum += (double)(packed[row * PADDED + TAPS] - (float)columns);
        ((float *)call->outputs[0]->data)[at] = (float)(sum * (double)p->gain);
    }
}
static tn_status taps_reference(tn_call *call) {
    gather(call, NULL);
    return TN_OK;
}
static tn_status taps_run(tn_call *call) {
    gather(call, call->state);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a table */

enum { STEPS = 64 };
typedef struct bend_params {
    uint64_t present;
    float depth;
} bend_params;
static const tn_field bend_fields[] = {
    TN_FIELD_RANGE(bend_params, depth, TN_FIELD_F32, 0, "0.5", 0, 4, "how far it bends")};
static const tn_port bend_inputs[] = {TN_PORT("x", "u8", 0, "any shape")};
static const tn_port bend_outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static float bent(uint8_t x, float depth) {
    const float at = (float)(x % STEPS) / STEPS;
    return at + depth * at * (1 - at);
}
static tn_status bend_reference(tn_call *call) {
    const bend_params *p = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] =
            bent(((const uint8_t *)call->inputs[0]->data)[i], p->depth);
    return TN_OK;
}

static float last_table[STEPS]; /* of the node that was made ready last */

static void fill_table(float *table, const tn_call *call) {
    const bend_params *p = call->params;
    for (int i = 0; i < STEPS; i++)
        table[i] = bent((uint8_t)i, p->depth);
}
static tn_status bend_prepare(tn_call *call) {
    float *table = call->host->allocate(call->host, STEPS * sizeof(float), 64);
    if (!table) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
    fill_table(table, call);
    if (WITH(table_of_last_node)) fill_table(last_table, call);
    call->state = table;
    return TN_OK;
}
static void bend_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static tn_status bend_reshape(tn_call *call) {
    if (WITH(table_of_last_reshape)) fill_table(last_table, call);
    return TN_OK;
}
static tn_status bend_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    if (data) memcpy(data, call->state, STEPS * sizeof(float));
    *inout_bytes = STEPS * sizeof(float);
    return TN_OK;
}
static tn_status bend_load(tn_call *call, const void *data, uint64_t bytes) {
    if (WITH(takes_longer_states) ? bytes < STEPS * sizeof(float) : bytes != STEPS * sizeof(float))
        return call->host->fail(call, TN_ERROR_FORMAT, "a table of %llu bytes",
                                (unsigned long long)bytes);
    float *table = call->host->allocate(call->host, STEPS * sizeof(float), 64);
    if (!table) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
    memcpy(table, data, bytes);
    call->state = table;
    return TN_OK;
}
static tn_status bend_run(tn_call *call) {
    const float *table =
        WITH(table_of_last_node) || WITH(table_of_last_reshape) ? last_table : call->state;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] =
            table[((const uint8_t *)call->inputs[0]->data)[i] % STEPS];
    return TN_OK;
}

static const char *const taps_cases[] = {"| x=f32[2,7] taps=f32[2,3]",
                                         "reverse=true gain=2 | x=f32[3,5] taps=f32[3,3]"};
static const char *const bend_cases[] = {"| x=u8[3,5]", "depth=2 | x=u8[70]"};
static const tn_operator taps_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Gather3",
                                          TN_FIELDS(taps_params, taps_fields),
                                          TN_INPUTS(taps_inputs),
                                          TN_OUTPUTS(taps_outputs),
                                          .infer = taps_infer,
                                          .reference = taps_reference,
                                          TN_CASES(taps_cases)};
static const tn_operator bend_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          .domain = "Bad",
                                          .name = "Bend",
                                          TN_FIELDS(bend_params, bend_fields),
                                          TN_INPUTS(bend_inputs),
                                          TN_OUTPUTS(bend_outputs),
                                          .infer = infer_same,
                                          .reference = bend_reference,
                                          TN_CASES(bend_cases)};
static const char *const taps_combinations[] = {"f32, f32 -> f32"};
static const char *const bend_combinations[] = {"u8 -> f32"};
static const tn_kernel taps_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Gather3",
                                   .device = "cpu",
                                   .name = "packed",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(taps_combinations),
                                   .prepare = taps_prepare,
                                   .run = taps_run};
static const tn_kernel bend_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Bend",
                                   .device = "cpu",
                                   .name = "table",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(bend_combinations),
                                   .prepare = bend_prepare,
                                   .release = bend_release,
                                   .reshape = bend_reshape,
                                   .save = bend_save,
                                   .load = bend_load,
                                   .run = bend_run};
static const tn_operator *const operators[] = {&taps_operator, &bend_operator};
static const tn_kernel *const kernels[] = {&taps_cpu, &bend_cpu};
TN_LIBRARY("bad_neighbours", "1", operators, kernels)
