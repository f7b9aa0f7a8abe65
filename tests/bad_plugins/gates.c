/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Gates, y = x w[0..H) + w[H..2 H): two vectors in one, packed in blocks of eight; and
 * Bad::AlongAxis, which adds a number for each index of an axis and says so. With the mistakes that
 * show at widths that no case has, with all extents alike, and with lists that are empty. */
#include "mistake.h"

#include <string.h>

enum { BLOCK = 8 };
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, H"), TN_PORT("w", "f32", 0, "2 H")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank != 2 || w->rank != 1 || w->shape[0] % 2 || w->shape[0] / 2 != x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "w has not twice the columns of x");
    return infer_same(call);
}

static void gate(const tn_call *call, int64_t done) {
    const int64_t columns = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        ((float *)call->outputs[0]->data)[i] =
            i % columns < done ? x[i] * w[i % columns] + w[columns + i % columns] : 0;
}
static tn_status reference(tn_call *call) {
    gate(call, call->inputs[0]->shape[1]);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t columns = call->inputs[0]->shape[1];
    gate(call, WITH(gates_of_whole_blocks) ? columns / BLOCK * BLOCK : columns);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,8] w=f32[16]", "| x=f32[1,16] w=f32[32]"};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_operator gates = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Bad",
                                  .name = "Gates",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const tn_kernel gates_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Gates",
                                    .device = "cpu",
                                    .name = "plain",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};

/* ---------------------------------------------------------------------------------------------- */

typedef struct axis_params {
    uint64_t present;
    int64_t axis;
    tn_f32s powers;
} axis_params;
static const tn_field fields[] = {
    TN_FIELD_RANGE(axis_params, axis, TN_FIELD_I64, 0, "1", 0, 7, "of the numbers"),
    TN_FIELD(axis_params, powers, TN_FIELD_F32S, 0, "[1]", "the last one is their factor; or 0")};
static const tn_port axis_inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                      TN_PORT("numbers", "f32", 0, "of the axis")};

static tn_status axis_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *numbers = call->inputs[1];
    const int64_t axis = ((const axis_params *)call->params)->axis;
    if (axis >= (int64_t)x->rank || numbers->rank != 1 || numbers->shape[0] != x->shape[axis])
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no number for each index");
    return infer_same(call);
}
static float factor_of(const axis_params *p) {
    if (WITH(last_of_an_empty_list)) return p->powers.items[p->powers.count - 1];
    return p->powers.count > 0 ? p->powers.items[p->powers.count - 1] : 0;
}
static tn_status axis_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const axis_params *p = call->params;
    const float *numbers = call->inputs[1]->data;
    int64_t inner = 1;
    for (uint32_t i = (uint32_t)p->axis + 1; i < x->rank; i++)
        inner *= x->shape[i];
    for (int64_t i = 0, n = count_of(x); i < n; i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)x->data)[i] + factor_of(p) * numbers[i / inner % x->shape[p->axis]];
    return TN_OK;
}
static tn_status axis_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out) {
    const axis_params *p = call->params;
    const float *numbers = call->inputs[1]->data;
    tn_affine *affine = out->what;
    if (input != 0 || strcmp(name, TN_FACET_AFFINE) != 0 || !numbers) return TN_ERROR_UNSUPPORTED;
    const int64_t count = call->inputs[0]->shape[p->axis];
    if (count > (int64_t)affine->count) return TN_ERROR_UNSUPPORTED;
    affine->axis = WITH(affine_along_one) ? 1 : (int32_t)p->axis;
    affine->count = (uint64_t)count;
    for (int64_t c = 0; c < count; c++) {
        affine->factors[c] = 1;
        affine->shifts[c] = (double)factor_of(p) * (double)numbers[c];
    }
    return TN_OK;
}

static const char *const axis_cases[] = {"| x=f32[2,3,4] numbers=f32[3]",
                                         "powers=[1,2] | x=f32[3,5] numbers=f32[5]"};
static const tn_operator along_axis = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "Bad",
                                       .name = "AlongAxis",
                                       TN_FIELDS(axis_params, fields),
                                       TN_INPUTS(axis_inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = axis_infer,
                                       .reference = axis_run,
                                       .facet = axis_facet,
                                       TN_CASES(axis_cases)};
static const tn_operator *const operators[] = {&gates, &along_axis};
static const tn_kernel *const kernels[] = {&gates_cpu};
TN_LIBRARY("bad_gates", "1", operators, kernels)
