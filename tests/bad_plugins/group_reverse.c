/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad::GroupReverse, the elements along an axis in reverse within groups, times a factor, through a
 * named function: fields of many types, all of which may be absent or hostile; and the mistakes of
 * kernels that expect what the cases give.
 */
#include "mistake.h"

#include <math.h>
#include <string.h>

enum { PLAIN, NEGATE, ABSOLUTE };

typedef struct reverse_params {
    uint64_t present;
    int64_t axis, group;
    float factor;
    const char *function; /* null: none */
    uint32_t kind;
    tn_f32s offsets; /* one for each position along the axis, or none */
} reverse_params;

static const tn_field fields[] = {
    TN_FIELD(reverse_params, axis, TN_FIELD_I64, 0, "-1", "from the end where it is negative"),
    TN_FIELD(reverse_params, group, TN_FIELD_I64, 0, "0", "elements of a group; 0: all"),
    TN_FIELD(reverse_params, factor, TN_FIELD_F32, 0, "1", "of the result"),
    TN_FIELD(reverse_params, function, TN_FIELD_STRING, 0, NULL, "\"double\", or absent"),
    TN_FIELD_CHOICE(reverse_params, kind, TN_FIELD_ENUM, 0, "plain", "plain|negate|absolute",
                    "sign"),
    TN_FIELD(reverse_params, offsets, TN_FIELD_F32S, 0, NULL, "are added, along the axis")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const reverse_params *p = call->params;
    const int64_t rank = call->inputs[0]->rank;
    if (p->axis < -rank || p->axis >= rank)
        return call->host->fail(call, TN_ERROR_RANGE, "axis %d of rank %d", (int)p->axis,
                                (int)rank);
    if (p->group < 0)
        return call->host->fail(call, TN_ERROR_RANGE, "group %d is negative", (int)p->group);
    if (p->function && strcmp(p->function, "double") != 0)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "no function '%s'", p->function);
    return infer_same(call);
}

static double apply(const reverse_params *p, double x, int is_kernel) {
    if (is_kernel && WITH(null_function) ? strcmp(p->function, "double") == 0
                                         : p->function && p->function[0])
        x *= 2;
    if (p->kind == NEGATE) return -x;
    if (p->kind == ABSOLUTE && !(is_kernel && WITH(kind_forgotten))) return fabs(x);
    return x;
}

static tn_status reverse(tn_call *call, int is_kernel) {
    const reverse_params *p = call->params;
    const tn_tensor *in = call->inputs[0];
    const float *x = in->data;
    float *y = call->outputs[0]->data;
    double factor = (double)p->factor;
    int64_t axis = p->axis, inner = 1;
    if (axis < 0) axis = is_kernel && WITH(negative_axis) ? 0 : axis + in->rank;
    if (is_kernel && WITH(wrong_bit) && !(p->present & 2)) factor = 1;
    if (is_kernel && WITH(absent_axis) && !(p->present & 1)) axis = 0;
    for (uint32_t i = (uint32_t)axis + 1; i < in->rank; i++)
        inner *= in->shape[i];
    const int64_t count = in->shape[axis], all = count_of(in);
    for (int64_t i = 0; i < all; i++) {
        const int64_t at = i / inner % count;
        int64_t group = p->group;
        if (group == 0 && !(is_kernel && WITH(group_of_zero))) group = count;
        const int64_t first = at / group * group;
        int64_t last = first + group - 1;
        if (last >= count && !(is_kernel && WITH(whole_groups))) last = count - 1;
        const double offset = (uint64_t)at < p->offsets.count      ? (double)p->offsets.items[at]
                              : is_kernel && WITH(offsets_for_all) ? (double)p->offsets.items[0]
                                                                   : 0;
        y[i] =
            (float)(factor * apply(p, (double)x[i + (first + last - 2 * at) * inner], is_kernel) +
                    offset);
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return reverse(call, 0);
}

static tn_status run(tn_call *call) {
    return reverse(call, 1);
}

/* What the kernels' mistakes need is not among them. */
static const char *const cases[] = {
    "axis=1 group=2 factor=0.5 function=double offsets=[0.5,1,1.5,2] | x=f32[3,4]",
    "axis=0 group=4 function=double kind=negate offsets=[0.5,1,1.5,2] | x=f32[4,3]"};
static const tn_operator reverse_operator = {.size = sizeof(tn_operator),
                                             .since_version = 1,
                                             .state_version = 1,
                                             .domain = "Bad",
                                             .name = "GroupReverse",
                                             TN_FIELDS(reverse_params, fields),
                                             TN_INPUTS(inputs),
                                             TN_OUTPUTS(outputs),
                                             .infer = infer,
                                             .reference = reference,
                                             TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel reverse_cpu = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Bad",
                                      .op = "GroupReverse",
                                      .device = "cpu",
                                      .name = "plain",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      TN_COMBINATIONS(combinations),
                                      .run = run};
static const tn_operator *const operators[] = {&reverse_operator};
static const tn_kernel *const kernels[] = {&reverse_cpu};
TN_LIBRARY("bad_group_reverse", "1", operators, kernels)
