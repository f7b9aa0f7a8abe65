/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that calls the service of sequences wrongly, in the manner that a field says. */
#ifndef TN_TESTS_SEQUENCES_MISUSE_H
#define TN_TESTS_SEQUENCES_MISUSE_H

#include <tenon/plugin/sequence.h>

enum {
    MISUSE_NOTHING,
    MISUSE_ITEM_BEHIND_THE_LAST,
    MISUSE_ITEM_OF_DENSE,
    MISUSE_ITEM_OF_FOREIGN_LIST,
    MISUSE_ITEM_OF_NULL,
    MISUSE_NOWHERE,
    MISUSE_APPEND_TO_INPUT,
    MISUSE_APPEND_RANK_9,
    MISUSE_APPEND_NEGATIVE,
    MISUSE_APPEND_TOO_LARGE,
    MISUSE_APPEND_OTHER_RANK,
    MISUSE_APPEND_OTHER_TYPE,
    MISUSE_INFER_RANK_9,
    MISUSE_INFER_EXTENT,
    MISUSE_INFER_APPENDS,
    MISUSE_INFER_KIND,
    MISUSE_RUN_DATA,
    MISUSE_TOO_MANY
};

typedef struct misuse_params {
    uint64_t present;
    int64_t manner;
} misuse_params;

static const tn_sequence_service *misuse_service(const tn_call *call) {
    return call->host->extension(call->host, TN_SEQUENCES);
}

static int64_t misuse_manner(const tn_call *call) {
    return ((const misuse_params *)call->params)->manner;
}

static tn_status misuse_infer(tn_call *call) {
    tn_tensor *output = call->outputs[0];
    const int64_t extent = 1;
    if (output->kind != TN_KIND_SEQUENCE || call->inputs[1]->kind != TN_KIND_DENSE)
        return call->host->fail(call, TN_ERROR_INTERNAL, "a tensor has not its port's kind");
    void *data;
    output->type = misuse_manner(call) == MISUSE_APPEND_OTHER_TYPE ? TN_I64 : TN_F32;
    output->rank = misuse_manner(call) == MISUSE_INFER_RANK_9 ? 9 : 1;
    output->shape[0] = misuse_manner(call) == MISUSE_INFER_EXTENT ? -2 : -1;
    if (misuse_manner(call) == MISUSE_INFER_KIND) output->kind = TN_KIND_OPTIONAL;
    return misuse_manner(call) == MISUSE_INFER_APPENDS
               ? misuse_service(call)->append(call, output, 1, &extent, &data)
               : TN_OK;
}

static tn_status misuse_read(tn_call *call) {
    const tn_sequence_service *service = misuse_service(call);
    const tn_tensor *list = call->inputs[0], *item = NULL;
    const tn_tensor foreign = *list;
    switch (misuse_manner(call)) {
    case MISUSE_ITEM_BEHIND_THE_LAST:
        return service->item(call, list, 2, &item);
    case MISUSE_ITEM_OF_DENSE:
        return service->item(call, call->inputs[1], 0, &item);
    case MISUSE_ITEM_OF_FOREIGN_LIST:
        return service->item(call, &foreign, 0, &item);
    case MISUSE_ITEM_OF_NULL:
        return service->item(call, NULL, 0, &item);
    case MISUSE_NOWHERE:
        return service->length(call, list, NULL);
    default:
        return TN_OK;
    }
}

static tn_status misuse_write(tn_call *call) {
    const tn_sequence_service *service = misuse_service(call);
    const int64_t extents[9] = {2, 2}, negative = -2;
    const int64_t large[] = {INT64_C(1) << 61};
    tn_tensor *output = call->outputs[0];
    void *data = NULL;
    switch (misuse_manner(call)) {
    case MISUSE_APPEND_TO_INPUT:
        return service->append(call, (tn_tensor *)(uintptr_t)call->inputs[0], 1, extents, &data);
    case MISUSE_APPEND_RANK_9:
        return service->append(call, output, 9, extents, &data);
    case MISUSE_APPEND_NEGATIVE:
        return service->append(call, output, 1, &negative, &data);
    case MISUSE_APPEND_TOO_LARGE:
        return service->append(call, output, 1, large, &data);
    case MISUSE_APPEND_OTHER_RANK:
        return service->append(call, output, 2, extents, &data);
    case MISUSE_APPEND_OTHER_TYPE:
        return service->append_item(call, output, call->inputs[0], 0);
    case MISUSE_TOO_MANY:
        for (uint64_t i = 0; i < TN_SEQUENCE_MAX_ITEMS; i++)
            if (service->append_item(call, output, call->inputs[0], 0) != TN_OK) break;
        return service->append_item(call, output, call->inputs[0], 0);
    case MISUSE_RUN_DATA:
        output->data = NULL;
        return TN_OK;
    default:
        return service->append_item(call, output, call->inputs[0], 1);
    }
}

static tn_status misuse_run(tn_call *call) {
    const tn_status status = misuse_read(call);
    return status == TN_OK ? misuse_write(call) : status;
}

static const tn_field misuse_fields[] = {
    TN_FIELD(misuse_params, manner, TN_FIELD_I64, TN_OPTIONAL, "0", "what is wrong"),
};
static const tn_port misuse_inputs[] = {
    TN_PORT("list", "seq(f32)", 0, "two items"),
    TN_PORT("x", "f32", 0, "a dense one"),
};
static const tn_port misuse_outputs[] = {TN_PORT("made", "seq(f32|i64)", 0, "the second item")};
static const tn_operator misuse_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "Test",
                                            .name = "Misuse",
                                            TN_FIELDS(misuse_params, misuse_fields),
                                            TN_INPUTS(misuse_inputs),
                                            TN_OUTPUTS(misuse_outputs),
                                            .infer = misuse_infer,
                                            .reference = misuse_run};
static const tn_kernel misuse_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "Test",
                                        .op = "Misuse",
                                        .device = "cpu",
                                        .name = "misuses",
                                        .run = misuse_run};
/* A sequence and a number beside each other. */
static tn_status both_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = -1;
    call->outputs[1]->rank = 0;
    return TN_OK;
}
static tn_status both_run(tn_call *call) {
    *(int64_t *)call->outputs[1]->data = 0;
    return TN_OK;
}
static const tn_port both_inputs[] = {TN_PORT("x", "f32", 0, "not read")};
static const tn_port both_outputs[] = {
    TN_PORT("list", "seq(f32)", 0, "no items"),
    TN_PORT("count", "i64", 0, "of them"),
};
static const tn_operator both_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Test",
                                          .name = "Both",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(both_inputs),
                                          TN_OUTPUTS(both_outputs),
                                          .infer = both_infer,
                                          .reference = both_run};

static const tn_operator *const misuse_operators[] = {&misuse_operator, &both_operator};
static const tn_kernel *const misuse_kernels[] = {&misuse_kernel};
static tn_library *misuse_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "misuse",
                                 .version = "1",
                                 .operator_count = TN_COUNT(misuse_operators),
                                 .operators = misuse_operators,
                                 .kernel_count = 1,
                                 .kernels = misuse_kernels};
    (void)host;
    return &library;
}

#endif
