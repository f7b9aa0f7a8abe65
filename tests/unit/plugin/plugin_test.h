/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the registry and of libraries share: a runtime whose memory is counted, and
 * libraries that are filled in by a test and linked in.
 */
#ifndef TN_TESTS_PLUGIN_TEST_H
#define TN_TESTS_PLUGIN_TEST_H

#include "plugin/library.h" /* before cmocka's macro `fail`, which is also a member of tn_host */
#include "plugin/runtime.h"

#include "test.h"

typedef struct plugin_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    char log[1024];
} plugin_test;

static inline void plugin_test_log(void *user, uint32_t level, const char *text) {
    plugin_test *test = user;
    (void)level;
    snprintf(test->log, sizeof(test->log), "%s", text);
}

static inline int plugin_test_setup(void **state) {
    plugin_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->allocator.functions,
                                        .log = plugin_test_log,
                                        .log_user = test,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    *state = test;
    return tn_runtime_create(&options, &test->runtime) == TN_OK ? 0 : -1;
}

static inline int plugin_test_teardown(void **state) {
    plugin_test *test = *state;
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test);
    return left == 0 ? 0 : -1;
}

#define PLUGIN_TEST(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, plugin_test_setup, plugin_test_teardown)

/* --- an operator and a kernel that are sound, to be changed in one member --- */

static inline tn_status plugin_test_infer(tn_call *call) {
    call->outputs[0]->rank = 0;
    return TN_OK;
}
static inline tn_status plugin_test_run(tn_call *call) {
    (void)call;
    return TN_OK;
}
static const tn_port plugin_test_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port plugin_test_outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static inline tn_operator sound_operator(const char *name) {
    return (tn_operator){.size = sizeof(tn_operator),
                         .since_version = 1,
                         .state_version = 1,
                         .domain = "test",
                         .name = name,
                         TN_NO_FIELDS,
                         TN_INPUTS(plugin_test_inputs),
                         TN_OUTPUTS(plugin_test_outputs),
                         .infer = plugin_test_infer,
                         .reference = plugin_test_run};
}

static inline tn_kernel sound_kernel(const char *op, const char *name) {
    return (tn_kernel){.size = sizeof(tn_kernel),
                       .revision = 1,
                       .domain = "test",
                       .op = op,
                       .device = "cpu",
                       .name = name,
                       .run = plugin_test_run};
}

/* --- the library that `plugin_test_entry` answers with --- */

static tn_library plugin_test_library;
static inline tn_library *plugin_test_entry(const tn_host *host) {
    (void)host;
    return &plugin_test_library;
}

static inline tn_library sound_library(const char *name) {
    return (tn_library){.size = sizeof(tn_library),
                        .abi_major = TN_ABI_MAJOR,
                        .abi_minor = TN_ABI_MINOR,
                        .name = name,
                        .version = "1"};
}

/* Registers a library of these tables. */
static inline tn_status register_tables_of(plugin_test *test, const char *name,
                                           uint64_t operator_count, const tn_operator *operators,
                                           uint64_t kernel_count, const tn_kernel *kernels) {
    const tn_operator *all_operators[8] = {NULL};
    const tn_kernel *all_kernels[8] = {NULL};
    for (uint64_t i = 0; i < operator_count; i++)
        all_operators[i] = &operators[i];
    for (uint64_t i = 0; i < kernel_count; i++)
        all_kernels[i] = &kernels[i];
    plugin_test_library = sound_library(name);
    plugin_test_library.operator_count = operator_count;
    plugin_test_library.operators = all_operators;
    plugin_test_library.kernel_count = kernel_count;
    plugin_test_library.kernels = all_kernels;
    return tn_runtime_register_library(test->runtime, plugin_test_entry);
}

#endif
