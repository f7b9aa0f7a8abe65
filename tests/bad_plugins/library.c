/* SPDX-License-Identifier: Apache-2.0 */
/* A library's own table, its hooks and the loader; and the mistakes that are made there. */
#include "mistake.h"

#include <stdlib.h>

#include <math.h>

typedef struct root_params {
    uint64_t present;
    int64_t exponent;
} root_params;
static const tn_field fields[] = {TN_FIELD_RANGE(root_params, exponent,
                                                 WITH(wrong_member)             ? TN_FIELD_I32
                                                 : WITH(graph_without_captures) ? TN_FIELD_GRAPH
                                                                                : TN_FIELD_I64,
                                                 0,
                                                 WITH(unreadable_default)       ? "two"
                                                 : WITH(graph_without_captures) ? NULL
                                                                                : "2",
                                                 1, 8, "which root")};
static const tn_port inputs[] = {TN_PORT("x", WITH(unknown_type) ? "f31" : "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

double bad_plugins_missing_function(double x);

static tn_status run(tn_call *call) {
    const root_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)pow(fabs((double)x[i]), 1 / (double)p->exponent);
#if WITH(missing_symbol)
    y[0] = (float)bad_plugins_missing_function(y[0]);
#endif
    return TN_OK;
}

/* What a load takes and does not get is a reason of its own. */
static tn_status load(const tn_host *host, tn_library *library) {
    library->user = malloc(40);
    if (!library->user) return TN_ERROR_MEMORY;
    if (WITH(crashes_in_load)) return *(volatile tn_status *)16;
    if (WITH(refuses_in_load)) return TN_ERROR_DEVICE;
    return TN_OK;
}

static void unload(const tn_host *host, tn_library *library) {
    free(library->user);
    library->user = NULL;
}

static const char *const cases[] = {WITH(unreadable_case) ? "exponent=3 x=f32[5]"
                                                          : "exponent=3 | x=f32[5]",
                                    "| x=f32[2,2]{0,1,4,9} | y=f32[2,2]{0,1,2,3}"};
static const tn_operator root = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Root",
                                 TN_FIELDS(root_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = WITH(no_infer) ? NULL : infer_same,
                                 .reference = run,
                                 TN_CASES(cases)};
static const char *const combinations[] = {WITH(unreadable_combination) ? "f32 => f32"
                                                                        : "f32 -> f32"};
static const tn_kernel root_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = WITH(other_operator) ? "Roots" : "Root",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .run = WITH(no_run) ? NULL : run};
static const tn_operator *const operators[] = {&root, &root};
static const tn_kernel *const kernels[] = {&root_cpu};

#if !WITH(no_entry)
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = WITH(other_abi) ? TN_ABI_MAJOR + 1 : TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = WITH(name_with_space) ? "bad root" : "bad_root",
                               .version = "1",
                               .operator_count = WITH(operator_twice) ? 2 : 1,
                               .operators = operators,
                               .kernel_count = 1,
                               .kernels = kernels,
                               .load = load,
                               .unload = unload};
    return WITH(refuses_host) ? NULL : &table;
}
#endif
