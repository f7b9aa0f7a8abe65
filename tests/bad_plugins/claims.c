/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose fields decide what is true of them: Bad::Mix, first * a + second * b; Bad::Line,
 * factor * x + shift; Bad::Rise, x above a cut; Bad::Flat, a view. Their library has a table from
 * its load to its unload. And claims that are true of some fields and operands alone. */
#include "mistake.h"
#include "../support/steps.h"

#include <stdlib.h>

static const tn_port one_input[] = {TN_PORT("x", "f32", 0, "one axis or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as the first input")};

/* ----------------------------------------------------------------------------------------------
 * a weighted sum */

typedef struct mix_params {
    uint64_t present;
    float first, second;
} mix_params;
static const tn_field mix_fields[] = {
    TN_FIELD(mix_params, first, TN_FIELD_F32, 0, "1", "factor of a"),
    TN_FIELD(mix_params, second, TN_FIELD_F32, 0, "1", "factor of b")};
static const tn_port mix_inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                     TN_PORT("b", "f32", 0, "one element, or as a")};

static bool is_alike(const tn_tensor *a, const tn_tensor *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

static tn_status infer_mix(tn_call *call) {
    if (!is_alike(call->inputs[0], call->inputs[1]) && count_of(call->inputs[1]) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "b must have one element, or be as a");
    return infer_same(call);
}

static tn_status mix(tn_call *call) {
    const mix_params *p = call->params;
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    const bool is_one = count_of(call->inputs[1]) == 1;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = p->first * a[i] + p->second * b[is_one ? 0 : i];
    return TN_OK;
}

static tn_status describe_mix(tn_call *call, uint32_t input, seen_step *out_step) {
    const mix_params *p = call->params;
    if ((p->first != 1 || p->second != 1) && !WITH(adds_whatever_factors))
        return TN_ERROR_UNSUPPORTED;
    if (!is_alike(call->inputs[0], call->inputs[1]) && (!WITH(adds_one_element) || input == 1))
        return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_RESIDUAL;
    out_step->operand = 1 - input;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a line */

typedef struct line_params {
    uint64_t present;
    float factor, shift;
} line_params;
static const tn_field line_fields[] = {TN_FIELD(line_params, factor, TN_FIELD_F32, 0, "1", "of x"),
                                       TN_FIELD(line_params, shift, TN_FIELD_F32, 0, "0", "added")};

static tn_status line(tn_call *call) {
    const line_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = p->factor * x[i] + p->shift;
    return TN_OK;
}

static tn_status is_line_identity(tn_call *call) {
    const line_params *p = call->params;
    const bool is_unshifted = p->shift == 0 || WITH(identity_forgets_shift);
    return p->factor == 1 && is_unshifted ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status describe_line(tn_call *call, tn_affine *out_affine) {
    const line_params *p = call->params;
    const tn_tensor *y = call->outputs[0];
    if (y->rank == 0 || (uint64_t)y->shape[0] > out_affine->count) return TN_ERROR_UNSUPPORTED;
    out_affine->axis = 0;
    out_affine->count = (uint64_t)y->shape[0];
    for (uint64_t i = 0; i < out_affine->count; i++) {
        out_affine->factors[i] = p->factor;
        out_affine->shifts[i] = WITH(shift_by_factor) ? p->shift * p->factor : p->shift;
    }
    return TN_OK;
}

static void line_row(const void *params, uint64_t count, const float *const *in,
                     const uint64_t *strides, float *out) {
    const line_params *p = params;
    for (uint64_t i = 0; i < count; i++)
        out[i] = p->factor * in[0][i * strides[0]] + (WITH(row_forgets_shift) ? 0 : p->shift);
}

/* ----------------------------------------------------------------------------------------------
 * what is above a cut */

typedef struct rise_params {
    uint64_t present;
    float cut;
} rise_params;
static const tn_field rise_fields[] = {
    TN_FIELD(rise_params, cut, TN_FIELD_F32, 0, "0", "x that is not above it becomes 0")};

static void rise(const tn_call *call, bool is_kernel) {
    const rise_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        const bool is_at_cut = x[i] == p->cut && is_kernel && WITH(keeps_the_cut);
        y[i] = x[i] <= p->cut && !is_at_cut ? 0 : x[i];
    }
}
static tn_status rise_reference(tn_call *call) {
    rise(call, false);
    return TN_OK;
}
static tn_status rise_run(tn_call *call) {
    rise(call, true);
    return TN_OK;
}

static tn_status describe_rise(tn_call *call, uint32_t input, seen_step *out_step) {
    const rise_params *p = call->params;
    if (p->cut != 0 && !WITH(relu_whatever_cut)) return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_ACTIVATION;
    out_step->activation = TN_ACTIVATION_RELU;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a view */

static const tn_port view_outputs[] = {TN_PORT_VIEW_OF("y", "f32", 0, "all of x along one axis")};

static tn_status infer_flat(tn_call *call) {
    const int64_t count = count_of(call->inputs[0]);
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = WITH(view_of_pairs) ? count / 2 * 2 : count;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const char *const mix_cases[] = {"| a=f32[3,5] b=f32[3,5]", "| a=f32[4] b=f32[4]"};
static const char *const line_cases[] = {"| x=f32[3,5]", "factor=2 | x=f32[6]"};
static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[6]"};
static const char *const even_cases[] = {"| x=f32[3,4]"};
#define COMMON(title)                                                                              \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Bad",          \
    .name = title
DESCRIBES(mix_facet, describe_mix, NULL, NULL)
DESCRIBES(line_facet, NULL, describe_line, NULL)
DESCRIBES(rise_facet, describe_rise, NULL, NULL)

static const tn_operator mix_operator = {
    COMMON("Mix"),
    .traits = WITH(commutes_when_alike) ? TN_OPERATOR_COMMUTATIVE : 0,
    TN_FIELDS(mix_params, mix_fields),
    TN_INPUTS(mix_inputs),
    TN_OUTPUTS(outputs),
    .infer = infer_mix,
    .reference = mix,
    .facet = mix_facet,
    TN_CASES(mix_cases)};
static const tn_operator line_operator = {
    COMMON("Line"),
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY |
              (WITH(selects_by_default) ? TN_OPERATOR_SELECTS : 0),
    TN_FIELDS(line_params, line_fields),
    TN_INPUTS(one_input),
    TN_OUTPUTS(outputs),
    .infer = infer_same,
    .reference = line,
    .is_identity = is_line_identity,
    .facet = line_facet,
    .expression = WITH(expression_forgets_shift) ? "factor * x" : "factor * x + shift",
    .row = line_row,
    .case_count = WITH(selects_by_default) ? 1 : TN_COUNT(line_cases),
    .cases = line_cases};
static const tn_operator rise_operator = {COMMON("Rise"),
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_FIELDS(rise_params, rise_fields),
                                          TN_INPUTS(one_input),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer_same,
                                          .reference = rise_reference,
                                          .facet = rise_facet,
                                          TN_CASES(cases)};
static const tn_operator flat_operator = {COMMON("Flat"),       TN_NO_FIELDS,
                                          TN_INPUTS(one_input), TN_OUTPUTS(view_outputs),
                                          .infer = infer_flat,  TN_CASES(even_cases)};
static const tn_kernel rise_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Rise",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   .run = rise_run};
static const tn_operator *const operators[] = {&mix_operator, &line_operator, &rise_operator,
                                               &flat_operator};
static const tn_kernel *const kernels[] = {&rise_cpu};

static char *table_of_names;

static tn_status load(const tn_host *host, tn_library *library) {
    (void)library;
    table_of_names = malloc(100);
    if (table_of_names) return TN_OK;
    if (WITH(load_fails_without_reason)) return TN_ERROR_DEVICE;
    host->log(host, TN_LOG_ERROR, "claims: no memory for a table of names");
    return TN_ERROR_MEMORY;
}

static void unload(const tn_host *host, tn_library *library) {
    (void)host;
    (void)library;
    free(table_of_names);
}

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "bad_claims",
                               .version = "1",
                               .operator_count = TN_COUNT(operators),
                               .operators = operators,
                               .kernel_count = TN_COUNT(kernels),
                               .kernels = kernels,
                               .load = load,
                               .unload = unload};
    (void)host;
    return &table;
}
