/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Square, whose kernel absorbs what leads to its input: conversions of bytes, factors, and
 * Bad::Lift, which describes itself by a facet of its own with a whole operand, and Bad::Drop,
 * whose facet changes the shape; and the mistakes that are made in such kernels. */
#include <tenon/plugin/before.h>

#include "mistake.h"

#include <string.h>

#define LIFT "bad.lift/1"
#define DROP "bad.drop/1"

typedef struct lift_facet {
    uint32_t size;
    float by; /* y = x + by * operand */
} lift_facet;

typedef struct drop_facet {
    uint32_t size, count; /* elements at the end of the last axis */
} drop_facet;

typedef struct lift_params {
    uint64_t present;
    float by;
} lift_params;
static const tn_field lift_fields[] = {
    TN_FIELD(lift_params, by, TN_FIELD_F32, 0, "1", "the factor of t")};
typedef struct drop_params {
    uint64_t present;
    int64_t count;
} drop_params;
static const tn_field drop_fields[] = {
    TN_FIELD_RANGE(drop_params, count, TN_FIELD_I64, 0, "1", 0, 100, "elements to drop")};
static const tn_port lift_inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                      TN_PORT("t", "f32", 0, "as x")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status lift_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *t = call->inputs[1];
    if (x->rank != t->rank || memcmp(x->shape, t->shape, x->rank * sizeof(int64_t)) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "x and t differ in shape");
    return infer_same(call);
}

static tn_status lift_run(tn_call *call) {
    const lift_params *p = call->params;
    const float *x = call->inputs[0]->data, *t = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[i] + p->by * t[i];
    return TN_OK;
}

static tn_status lift_describe(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    const lift_params *p = call->params;
    lift_facet *lift = out_facet->what;
    if (input != 0 || strcmp(name, LIFT) != 0) return TN_ERROR_UNSUPPORTED;
    lift->size = sizeof(*lift);
    lift->by = p->by;
    out_facet->operand_count = 1;
    out_facet->operands[0].input = 1;
    out_facet->operands[0].form = TN_OPERAND_WHOLE;
    return TN_OK;
}

static int64_t *last_axis(const tn_tensor *tensor) {
    return &tensor->shape[tensor->rank - 1];
}

static tn_status drop_infer(tn_call *call) {
    const int64_t count = ((const drop_params *)call->params)->count;
    if (call->inputs[0]->rank == 0 || *last_axis(call->inputs[0]) < count)
        return call->host->fail(call, TN_ERROR_SHAPE, "nothing is left");
    infer_same(call);
    *last_axis(call->outputs[0]) -= count;
    return TN_OK;
}

/* Element i of y in x, whose rows are longer. */
static int64_t in_rows_of(const tn_tensor *x, const tn_tensor *y, int64_t i) {
    if (y->rank == 0) return i;
    return i / *last_axis(y) * *last_axis(x) + i % *last_axis(y);
}

static tn_status drop_run(tn_call *call) {
    for (int64_t i = 0, n = count_of(call->outputs[0]); i < n; i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]
                 ->data)[in_rows_of(call->inputs[0], call->outputs[0], i)];
    return TN_OK;
}

static tn_status drop_describe(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    drop_facet *drop = out_facet->what;
    if (input != 0 || strcmp(name, DROP) != 0) return TN_ERROR_UNSUPPORTED;
    drop->size = sizeof(*drop);
    drop->count = (uint32_t)((const drop_params *)call->params)->count;
    out_facet->flags = TN_FACET_RESHAPES;
    return TN_OK;
}

static tn_status square_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[i] * x[i] - 1;
    return TN_OK;
}

/* Where element i lies along an axis, which may count from the end. */
static int64_t index_along(const tn_tensor *y, int32_t axis, int64_t i) {
    const uint32_t at = (uint32_t)(axis < 0 ? axis + (int32_t)y->rank : axis);
    for (uint32_t k = y->rank - 1; k > at; k--)
        i /= y->shape[k];
    return i % y->shape[at];
}

static float stored(const tn_tensor *x, int64_t i) {
    if (x->type == TN_U8 && !WITH(bytes_as_floats)) return ((const uint8_t *)x->data)[i];
    return ((const float *)x->data)[i];
}

static float do_step(const tn_call *call, const tn_step *step, float x, int64_t i) {
    const tn_tensor *t =
        step->input_count < 2
            ? NULL
            : call->operands[WITH(first_operand_for_all) ? 0 : step->inputs[1] & ~TN_STEP_OPERAND];
    if (strcmp(step->facet, TN_FACET_CONVERT) == 0 || strcmp(step->facet, DROP) == 0) return x;
    if (strcmp(step->facet, TN_FACET_ACTIVATION) == 0) return x < 0 ? 0 : x;
    if (strcmp(step->facet, TN_FACET_SCALE) == 0)
        return x * ((const float *)t->data)[index_along(
                       call->outputs[0], ((const tn_facet_axis *)step->what)->axis, i)];
    return x + ((const lift_facet *)step->what)->by * ((const float *)t->data)[i % count_of(t)];
}

static tn_status square_run(tn_call *call) {
    float *y = call->outputs[0]->data;
    uint32_t before = 0;
    while (before < call->step_count && call->steps[before]->port == 1)
        before++;
    for (int64_t i = 0, n = count_of(call->outputs[0]); i < n; i++) {
        float x =
            stored(call->inputs[0],
                   WITH(unlike_shapes) ? i : in_rows_of(call->inputs[0], call->outputs[0], i));
        const uint32_t first = WITH(first_step_alone) && before > 1 ? 1 : before;
        for (uint32_t k = 0; k < first && !WITH(nothing_before) && !WITH(before_as_after); k++)
            x = do_step(call, call->steps[WITH(before_backwards) ? first - 1 - k : k], x, i);
        x = x * x - 1;
        for (uint32_t k = WITH(before_as_after) ? 0 : before; k < call->step_count; k++)
            if (!WITH(nothing_after) || before == 0) x = do_step(call, call->steps[k], x, i);
        y[i] = x;
    }
    return TN_OK;
}

static const char *const lift_cases[] = {"by=0.5 | x=f32[3,4] t=f32[3,4]",
                                         "by=-2 | x=f32[7] t=f32[7]", "| x=f32[0,2] t=f32[0,2]"};
static const char *const drop_cases[] = {"count=2 | x=f32[3,4]", "| x=f32[7]"};
static const char *const square_cases[] = {"| x=f32[3,5]", "| x=f32[9]", "| x=f32[2,3,4]",
                                           "| x=f32[2,0]"};
static const tn_operator lift = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Lift",
                                 .doc = "",
                                 TN_FIELDS(lift_params, lift_fields),
                                 TN_INPUTS(lift_inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = lift_infer,
                                 .reference = lift_run,
                                 .facet = lift_describe,
                                 TN_CASES(lift_cases)};
static const tn_operator drop = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Drop",
                                 .doc = "",
                                 TN_FIELDS(drop_params, drop_fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = drop_infer,
                                 .reference = drop_run,
                                 .facet = drop_describe,
                                 TN_CASES(drop_cases)};
static const tn_operator square = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Square",
                                   .doc = "",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer_same,
                                   .reference = square_reference,
                                   TN_CASES(square_cases)};
static const char *const combinations[] = {"f32 -> f32", "u8 -> f32"};
static const tn_kernel square_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Square",
                                     .device = "cpu",
                                     .name = "plain",
                                     .absorbs = WITH(input_of_nobody)
                                                    ? "@2 tn.convert/1"
                                                    : "@1 tn.convert/1, @1 tn.scale/1, @1 " DROP
                                                      ", @1 " LIFT ", tn.activation/1(relu)",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .run = square_run};
static const tn_operator *const operators[] = {&lift, &drop, &square};
static const tn_kernel *const kernels[] = {&square_cpu};
TN_LIBRARY("bad_before", "1", operators, kernels)
