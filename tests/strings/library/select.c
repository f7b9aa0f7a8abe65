/* SPDX-License-Identifier: Apache-2.0 */
/* Select: the strings at given indices, which share the heap; Flatten: the same in one row. */
#include "strings.h"

static tn_status select_infer(tn_call *call) {
    if (call->inputs[0]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u; expected 1",
                                call->inputs[0]->rank);
    copy_shape(call->outputs[0], call->inputs[1]);
    return TN_OK;
}

static tn_status select_run(tn_call *call) {
    const tn_string *x = call->inputs[0]->data;
    const int64_t *indices = call->inputs[1]->data, extent = call->inputs[0]->shape[0];
    tn_string *y = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        if (indices[i] < 0 || indices[i] >= extent)
            return call->host->fail(call, TN_ERROR_RANGE, "there is no string %lld of %lld",
                                    (long long)indices[i], (long long)extent);
        y[i] = x[indices[i]];
    }
    return string_services(call)->share(call, 0, 0);
}

static const tn_port select_inputs[] = {TN_PORT("x", "T:string", 0, "strings in a row"),
                                        TN_PORT("indices", "i64", 0, "which of them")};
static const tn_port select_outputs[] = {TN_PORT("y", "T", 0, "these")};
static const char *const select_cases[] = {
    "| x=string[4] indices=i64[3]{3,0,3}",
    "| x=string[1] indices=i64[2,2]{0,0,0,0}",
    "| x=string[2] indices=i64[0]",
};

const tn_operator select_operator = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .traits = TN_OPERATOR_SELECTS,
                                     .domain = "Test",
                                     .name = "Select",
                                     .doc = "Picks strings by index.",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(select_inputs),
                                     TN_OUTPUTS(select_outputs),
                                     .infer = select_infer,
                                     .reference = select_run,
                                     TN_CASES(select_cases)};

static const char *const combinations[] = {"string, i64 -> string"};
const tn_kernel select_kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Test",
                                 .op = "Select",
                                 .device = "cpu",
                                 .name = "select",
                                 .doc = "Copies elements.",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = select_run};

static tn_status flatten_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = count_of(call->inputs[0]);
    return TN_OK;
}

static const tn_port flatten_inputs[] = {TN_PORT("x", "T:any|string", 0, "a tensor")};
static const tn_port flatten_outputs[] = {TN_PORT_VIEW_OF("y", "T", 0, "the same in one row")};
static const char *const flatten_cases[] = {"| x=string[2,3]", "| x=f32[2,3]"};

const tn_operator flatten_operator = {.size = sizeof(tn_operator),
                                      .since_version = 1,
                                      .state_version = 1,
                                      .traits = TN_OPERATOR_SELECTS,
                                      .domain = "Test",
                                      .name = "InOneRow",
                                      .doc = "All elements in one row.",
                                      TN_NO_FIELDS,
                                      TN_INPUTS(flatten_inputs),
                                      TN_OUTPUTS(flatten_outputs),
                                      .infer = flatten_infer,
                                      TN_CASES(flatten_cases)};
