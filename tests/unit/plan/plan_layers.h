/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators for the tests of plans, in the domain "plan": one whose fields changed from state
 * version 1 to 2, one whose state only it can save, one that is like ONNX's own but for its
 * library, and a library that has nothing but a kernel. Registered as libraries, one of each
 * version at a time. Included before cmocka, whose `fail` is also a member of tn_host.
 */
#ifndef TN_TESTS_PLAN_LAYERS_H
#define TN_TESTS_PLAN_LAYERS_H

#include <stdlib.h>
#include <string.h>
#include <tenon/plugin.h>

static tn_status plan_same_infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static tn_status plan_same_reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}
static const tn_port plan_inputs[] = {TN_PORT("x", "T:any", 0, "anything")};
static const tn_port plan_outputs[] = {TN_PORT("y", "T", 0, "the same")};

/* Scale, state version 1: a factor. */
typedef struct plan_scale_1 {
    uint64_t present;
    float factor;
    const char *label;
    int64_t count;
} plan_scale_1;
static const tn_field plan_scale_1_fields[] = {
    TN_FIELD(plan_scale_1, factor, TN_FIELD_F32, TN_REQUIRED, NULL, "a factor"),
    TN_FIELD(plan_scale_1, label, TN_FIELD_STRING, TN_OPTIONAL, NULL, "a label"),
    TN_FIELD(plan_scale_1, count, TN_FIELD_I64, TN_OPTIONAL, "3", "text in version 2"),
};
/* State version 2: a numerator and a denominator, a count in words, a table. */
typedef struct plan_scale_2 {
    uint64_t present;
    const char *label;
    double numerator, denominator;
    const char *count;
    const tn_tensor *table;
} plan_scale_2;
static const tn_field plan_scale_2_fields[] = {
    TN_FIELD(plan_scale_2, label, TN_FIELD_STRING, TN_OPTIONAL, NULL, "a label"),
    TN_FIELD(plan_scale_2, numerator, TN_FIELD_F64, TN_REQUIRED, NULL, "over the denominator"),
    TN_FIELD(plan_scale_2, denominator, TN_FIELD_F64, TN_OPTIONAL, "1", "under the numerator"),
    TN_FIELD(plan_scale_2, count, TN_FIELD_STRING, TN_OPTIONAL, "three", "in words"),
    TN_FIELD(plan_scale_2, table, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "a table"),
};
static float plan_table_data[2] = {1.5f, 2.5f};
static int64_t plan_table_shape[1] = {2};
static tn_status plan_scale_upgrade(tn_call *call, uint32_t from) {
    static tn_tensor table;
    plan_scale_2 *params = call->new_params;
    if (from != 1) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "only from version 1");
    for (uint64_t i = 0; i < call->saved_count; i++) {
        if (strcmp(call->saved[i]->name, "factor") != 0) continue;
        if (call->saved[i]->f < 0)
            return call->host->fail(call, TN_ERROR_RANGE, "the factor was negative");
        params->numerator = call->saved[i]->f * 10;
        params->denominator = 10;
    }
    table = (tn_tensor){.size = sizeof(table),
                        .type = TN_F32,
                        .rank = 1,
                        .data = plan_table_data,
                        .bytes = sizeof(plan_table_data),
                        .shape = plan_table_shape};
    params->table = &table;
    return TN_OK;
}
#define PLAN_OPERATOR(operator_name, version)                                                      \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = (version), .domain = "plan", \
    .name = (operator_name), .doc = "for tests of plans", TN_INPUTS(plan_inputs),                  \
    TN_OUTPUTS(plan_outputs), .infer = plan_same_infer, .reference = plan_same_reference
static const tn_operator plan_scale_version_1 = {PLAN_OPERATOR("Scale", 1),
                                                 TN_FIELDS(plan_scale_1, plan_scale_1_fields)};
static const tn_operator plan_scale_version_2 = {PLAN_OPERATOR("Scale", 2),
                                                 TN_FIELDS(plan_scale_2, plan_scale_2_fields),
                                                 .upgrade = plan_scale_upgrade};
static const tn_operator plan_scale_stubborn = {PLAN_OPERATOR("Scale", 2),
                                                TN_FIELDS(plan_scale_2, plan_scale_2_fields)};
/* The same state version, but a field went: a mistake of the library. */
static const tn_operator plan_scale_mistaken = {
    PLAN_OPERATOR("Scale", 1), .params_bytes = sizeof(plan_scale_1), .field_size = sizeof(tn_field),
    .field_count = 1, .fields = plan_scale_1_fields};

/* Opaque: a secret that no field can hold. Made from the field `seed`; `load` restores it. */
typedef struct plan_opaque {
    uint64_t present;
    int64_t seed;
    char *secret; /* null until loaded: then it is the seed's */
} plan_opaque;
static const tn_field plan_opaque_fields[] = {
    TN_FIELD(plan_opaque, seed, TN_FIELD_I64, TN_REQUIRED, NULL, "where the secret comes from")};
enum { PLAN_SOUND = 0, PLAN_SAVE_FAILS, PLAN_SAVE_GROWS, PLAN_SAVE_HUGE };
static int plan_opaque_mode;         /* how `save` behaves */
static int plan_opaque_alive;        /* secrets that were loaded and not yet destroyed */
static const char *plan_opaque_last; /* the secret whose shape was inferred last */
static tn_status plan_opaque_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const plan_opaque *params = call->params;
    char text[64] = "secret of 77";
    if (plan_opaque_mode == PLAN_SAVE_FAILS)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the secret is not to be told");
    if (params->secret) strcpy(text, params->secret);
    uint64_t bytes = strlen(text) + 1;
    if (plan_opaque_mode == PLAN_SAVE_HUGE) bytes = UINT64_MAX;
    if (data && plan_opaque_mode == PLAN_SAVE_GROWS) bytes++;
    if (data && plan_opaque_mode == PLAN_SOUND) memcpy(data, text, (size_t)bytes);
    *inout_bytes = bytes;
    return TN_OK;
}
static tn_status plan_opaque_load(tn_call *call, const void *data, uint64_t bytes) {
    plan_opaque *params = call->new_params;
    if (bytes < 8 || memcmp(data, "secret", 6) != 0 || ((const char *)data)[bytes - 1])
        return call->host->fail(call, TN_ERROR_FORMAT, "this is no secret");
    params->secret = malloc((size_t)bytes);
    if (!params->secret) return call->host->fail(call, TN_ERROR_MEMORY, "no memory");
    memcpy(params->secret, data, (size_t)bytes);
    params->seed = ((const plan_opaque *)call->params)->seed;
    plan_opaque_alive++;
    return TN_OK;
}
static void plan_opaque_destroy(void *user, void *data) {
    plan_opaque *params = data;
    (void)user;
    if (!params->secret) return;
    free(params->secret);
    params->secret = NULL;
    plan_opaque_alive--;
}
static tn_status plan_opaque_infer(tn_call *call) {
    plan_opaque_last = ((const plan_opaque *)call->params)->secret;
    return plan_same_infer(call);
}
static const tn_operator plan_opaque_operator = {.size = sizeof(tn_operator),
                                                 .since_version = 1,
                                                 .state_version = 1,
                                                 .domain = "plan",
                                                 .name = "Opaque",
                                                 .doc = "has a secret",
                                                 TN_FIELDS(plan_opaque, plan_opaque_fields),
                                                 TN_INPUTS(plan_inputs),
                                                 TN_OUTPUTS(plan_outputs),
                                                 .infer = plan_opaque_infer,
                                                 .reference = plan_same_reference,
                                                 .save = plan_opaque_save,
                                                 .load = plan_opaque_load,
                                                 .destroy_params = plan_opaque_destroy};
/* The same name, without its state. */
static const tn_operator plan_opaque_plain = {PLAN_OPERATOR("Opaque", 1),
                                              TN_FIELDS(plan_opaque, plan_opaque_fields)};

/* A kernel for Scale. */
static const char *const plan_kernel_combinations[] = {"* -> *"};
static const tn_kernel plan_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "plan",
                                      .op = "Scale",
                                      .device = "cpu",
                                      .name = "quick",
                                      .doc = "copies",
                                      TN_COMBINATIONS(plan_kernel_combinations),
                                      .run = plan_same_reference};
static const tn_kernel *const plan_kernel_table[] = {&plan_kernel};

#define PLAN_LIBRARY(entry, library_name, ...)                                                     \
    static inline tn_library *entry(const tn_host *host) {                                         \
        static const tn_operator *const operators[] = {__VA_ARGS__};                               \
        static tn_library library = {.size = sizeof(tn_library),                                   \
                                     .abi_major = TN_ABI_MAJOR,                                    \
                                     .abi_minor = TN_ABI_MINOR,                                    \
                                     .name = library_name,                                         \
                                     .version = "1",                                               \
                                     .operator_count = TN_COUNT(operators),                        \
                                     .operators = operators};                                      \
        (void)host;                                                                                \
        return &library;                                                                           \
    }
PLAN_LIBRARY(plan_entry_1, "plan_layers", &plan_scale_version_1, &plan_opaque_operator)
PLAN_LIBRARY(plan_entry_2, "plan_layers", &plan_scale_version_2, &plan_opaque_operator)
PLAN_LIBRARY(plan_entry_stubborn, "plan_layers", &plan_scale_stubborn, &plan_opaque_operator)
PLAN_LIBRARY(plan_entry_mistaken, "plan_layers", &plan_scale_mistaken, &plan_opaque_operator)
PLAN_LIBRARY(plan_entry_plain, "plan_layers", &plan_scale_version_1, &plan_opaque_plain)
PLAN_LIBRARY(plan_entry_half, "plan_layers", &plan_scale_version_1)
PLAN_LIBRARY(plan_entry_other, "other_layers", &plan_scale_version_1, &plan_opaque_operator)

static inline tn_library *plan_entry_kernels(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "plan_kernels",
                                 .version = "2",
                                 .kernel_count = TN_COUNT(plan_kernel_table),
                                 .kernels = plan_kernel_table};
    (void)host;
    return &library;
}

#endif
