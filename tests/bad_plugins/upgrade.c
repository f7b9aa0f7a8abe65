/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Line, y = slope * x + offset, whose fields are of state version 2 (version 1 had a gain in
 * percent, and doubled where it had none); and the mistakes that are made with versions. */
#include "mistake.h"
#include "../support/steps.h"

#include <string.h>

typedef struct line_params {
    uint64_t present;
    float slope, offset;
} line_params;
static const tn_field fields[] = {
    TN_FIELD(line_params, slope, TN_FIELD_F32, 0, "1", "factor of x"),
    TN_FIELD(line_params, offset, TN_FIELD_F32, 0, "0", "what is added")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status run(tn_call *call) {
    const line_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = p->slope * x[i] + p->offset;
    return TN_OK;
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    line_params *p = call->new_params;
    if (from != 1 && WITH(refuses_other_versions)) return TN_ERROR_UNSUPPORTED;
    if (from != 1 || WITH(refuses_upgrade))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "only from version 1");
    if (!(p->present & 1)) { /* version 1 had another default */
        p->slope = 2;
        p->present |= 1;
    }
    if (WITH(upgrade_by_position) && call->saved_count > 0) p->offset = (float)call->saved[0]->f;
    if (WITH(upgrade_by_order) && call->saved_count == 2) {
        p->slope = (float)call->saved[0]->f;
        p->offset = (float)call->saved[1]->f;
    }
    if (WITH(upgrade_drops_field)) p->offset = 0;
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (strcmp(call->saved[i]->name, "gain") == 0) p->slope = (float)call->saved[i]->f / 100;
    return TN_OK;
}

/* y = slope * x + offset, for every position. */
static tn_status affine(tn_call *call, tn_affine *out_affine) {
    const line_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1 || (uint64_t)x->shape[0] > out_affine->count) return TN_ERROR_UNSUPPORTED;
    out_affine->axis = 0;
    out_affine->count = (uint64_t)x->shape[0];
    for (uint64_t i = 0; i < out_affine->count; i++) {
        out_affine->factors[i] = p->slope;
        out_affine->shifts[i] = WITH(affine_without_offset) ? 0 : p->offset;
    }
    return TN_OK;
}

static const char *const cases[] = {"slope=2 offset=0.5 | x=f32[3,4]", "offset=-1 | x=f32[7]",
                                    "slope=3 | x=f32[2]{1,2} | y=f32[2]{3,6}"};
DESCRIBES(facet, NULL, affine, NULL)

static const tn_operator line = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 2,
                                 .traits = TN_OPERATOR_ELEMENTWISE |
                                           (WITH(claims_identity) ? TN_OPERATOR_IDENTITY : 0) |
                                           (WITH(claims_selects) ? TN_OPERATOR_SELECTS : 0),
                                 .domain = "Bad",
                                 .name = "Line",
                                 TN_FIELDS(line_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer_same,
                                 .reference = run,
                                 .upgrade = WITH(no_upgrade) ? NULL : upgrade,
                                 .facet = facet,
                                 TN_CASES(cases)};
static const tn_kernel line_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Line",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   .run = run};
static const tn_operator *const operators[] = {&line};
static const tn_kernel *const kernels[] = {&line_cpu};
TN_LIBRARY("bad_line", "1", operators, kernels)
