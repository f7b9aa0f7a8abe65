/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that break the contract, one for each value of BAD; test_libraries.c says what each
 * must be told. */
#include <tenon/plugin.h>

typedef struct bad_params {
    uint64_t present;
    int64_t number;
} bad_params;

static tn_status bad_infer(tn_call *call) {
    call->outputs[0]->rank = 0;
    return TN_OK;
}
static tn_status bad_run(tn_call *call) {
    (void)call;
    return TN_OK;
}

#if BAD == 12
tn_status tenon_test_symbol_that_nobody_has(void);
static tn_status missing_run(tn_call *call) {
    (void)call;
    return tenon_test_symbol_that_nobody_has();
}
#define RUN missing_run
#else
#define RUN bad_run
#endif

static const tn_field fields[] = {TN_FIELD(bad_params, number,
                                           BAD == 10   ? TN_FIELD_STRINGS
                                           : BAD == 22 ? TN_FIELD_GRAPH
                                                       : TN_FIELD_I64,
                                           TN_OPTIONAL,
                                           BAD == 8    ? "seven"
                                           : BAD == 22 ? NULL
                                                       : "7",
                                           "a number")};
static const tn_port inputs[] = {TN_PORT("x", BAD == 16 ? "f31" : "f32", 0, "")};
static const tn_port outputs[] = {{"y", "f32", "", 0, 0, 0, BAD == 21}};
static const tn_operator op = {.size = BAD == 7 ? 0 : sizeof(tn_operator),
                               .since_version = BAD == 17 ? 0 : 1,
                               .state_version = 1,
                               .domain = "Bad",
                               .name = "Bad",
                               TN_FIELDS(bad_params, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = BAD == 18 ? NULL : bad_infer,
                               .reference = bad_run};
static const char *const combinations[] = {BAD == 9 ? "f32 => f32" : "f32 -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Bad",
                                 .op = "Bad",
                                 .device = "cpu",
                                 .name = "bad",
                                 TN_COMBINATIONS(combinations),
                                 .run = BAD == 6 ? NULL : RUN};
static const tn_operator *const operators[] = {BAD == 5 ? NULL : &op, &op};
static const tn_kernel *const kernels[] = {&kernel};

#if BAD == 14 || BAD == 19 || BAD == 20
static tn_status failing_load(const tn_host *host, tn_library *library) {
    (void)library;
    if (BAD == 19) host->log(host, TN_LOG_ERROR, "this library rests on Sundays");
    return BAD == 20 ? TN_ERROR_MEMORY : TN_ERROR_DEVICE;
}
#endif

#if BAD != 1
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = BAD == 3 ? 99 : TN_ABI_MAJOR,
                               .abi_minor = BAD == 4 ? 99 : TN_ABI_MINOR,
                               .flags = BAD == 4 ? TN_LIBRARY_NEEDS_ITS_MINOR : 0,
                               .name = BAD == 15 ? "no good name" : "bad",
                               .version = "1",
                               .operator_count = BAD == 13               ? UINT64_MAX / 16
                                                 : BAD == 11 || BAD == 5 ? 2
                                                                         : 1,
                               .operators = operators,
                               .kernel_count = 1,
                               .kernels = kernels};
#if BAD == 14 || BAD == 19 || BAD == 20
    table.load = failing_load;
#endif
    if (BAD == 2) {
        host->log(host, TN_LOG_ERROR, "this library refuses on Saturdays");
        return NULL;
    }
    return &table;
}
#endif
