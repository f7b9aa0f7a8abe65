/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that asks its body wrongly, in the manner that a field says; and one that hands on
 * what its body makes, of which nobody knows the size before, with such an operator for the body.
 */
#ifndef TN_TESTS_BODIES_ASK_H
#define TN_TESTS_BODIES_ASK_H

#include <tenon/plugin/body.h>
#include <tenon/plugin/output.h>

#include <string.h>

enum {
    ASKS_WELL,
    ASKS_IN_PREPARE,
    ASKS_WITHOUT_INPUT,
    ASKS_WITHOUT_DATA,
    ASKS_OTHER_TYPE,
    ASKS_OTHER_SHAPE,
    ASKS_ANOTHERS_BODY,
    ASKS_FOR_A_LOOP,
    ASKS_NOTHING
};

typedef struct ask_params {
    uint64_t present;
    const tn_body_graph *body;
    int64_t manner;
} ask_params;

static const tn_body_service *service(const tn_call *call) {
    return call->host->extension(call->host, TN_BODIES);
}

static tn_status ask_infer(tn_call *call) {
    const ask_params *params = call->params;
    call->outputs[0]->type = call->inputs[0]->type;
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = call->inputs[0]->shape[0];
    return params->manner == ASKS_NOTHING
               ? TN_OK
               : service(call)->infer(call, params->body, call->inputs, call->outputs);
}

static tn_status ask_prepare(tn_call *call) {
    const ask_params *params = call->params;
    const tn_tensor given = *call->inputs[0], *inputs[1] = {&given};
    return params->manner == ASKS_IN_PREPARE
               ? service(call)->run(call, params->body, inputs, call->outputs)
               : TN_OK;
}

static tn_status ask_run(tn_call *call) {
    const ask_params *params = call->params;
    tn_tensor given = *call->inputs[0], made = *call->outputs[0];
    int64_t other = 7;
    const tn_tensor *inputs[1] = {params->manner == ASKS_WITHOUT_INPUT ? NULL : &given};
    tn_tensor *outputs[1] = {&made};
    tn_body_loop loop = {.size = sizeof(loop)};
    tn_body_graph other_body = *params->body;
    if (params->manner == ASKS_WITHOUT_DATA) given.data = NULL;
    if (params->manner == ASKS_OTHER_TYPE) given.type = TN_I32;
    if (params->manner == ASKS_OTHER_SHAPE) made.shape = &other;
    if (params->manner == ASKS_FOR_A_LOOP)
        return service(call)->run_while(call, params->body, &loop);
    return service(call)->run(
        call, params->manner == ASKS_ANOTHERS_BODY ? &other_body : params->body, inputs, outputs);
}

static const tn_field ask_fields[] = {
    TN_FIELD(ask_params, body, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "what is run"),
    TN_FIELD(ask_params, manner, TN_FIELD_I64, TN_OPTIONAL, "0", "what is wrong"),
};
static const tn_port ask_inputs[] = {
    TN_PORT("x", "f32", 0, "what the body gets"),
    TN_PORT("captured", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL, ""),
};
static const tn_port ask_outputs[] = {TN_PORT("y", "f32", 0, "what it returns")};
static const tn_operator ask_operator = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .domain = "ask",
                                         .name = "Ask",
                                         TN_FIELDS(ask_params, ask_fields),
                                         TN_INPUTS(ask_inputs),
                                         TN_OUTPUTS(ask_outputs),
                                         .infer = ask_infer,
                                         .reference = ask_run};
static const tn_kernel ask_kernel = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "ask",
                                     .op = "Ask",
                                     .device = "cpu",
                                     .name = "asks",
                                     .prepare = ask_prepare,
                                     .run = ask_run};
/* --- Hand: what the body makes, of a size that it finds --- */
static tn_status allocate_output(tn_call *call, uint32_t rank, const int64_t *extents,
                                 void **out_data) {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    return memory->allocate(call, 0, rank, extents, out_data);
}

static tn_status hand_run(tn_call *call) {
    const ask_params *params = call->params;
    tn_tensor made = {.size = sizeof(made)}, *outputs[1] = {&made};
    void *data = NULL;
    tn_status status = service(call)->run(call, params->body, call->inputs, outputs);
    if (status == TN_OK) status = allocate_output(call, made.rank, made.shape, &data);
    if (status == TN_OK) memcpy(data, made.data, made.bytes);
    return status;
}

static const tn_port sized_outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "what comes out")};
static const tn_operator hand_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "ask",
                                          .name = "Hand",
                                          TN_FIELDS(ask_params, ask_fields),
                                          TN_INPUTS(ask_inputs),
                                          TN_OUTPUTS(sized_outputs),
                                          .infer = ask_infer,
                                          .reference = hand_run};
static const tn_kernel hand_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "ask",
                                      .op = "Hand",
                                      .device = "cpu",
                                      .name = "hands",
                                      .run = hand_run};

/* --- Above: the elements above 0 --- */
static tn_status above_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    return TN_OK;
}
static tn_status above_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    int64_t count = 0;
    void *data = NULL;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        count += x[i] > 0;
    const tn_status status = allocate_output(call, 1, &count, &data);
    float *y = data;
    for (int64_t i = 0; status == TN_OK && i < call->inputs[0]->shape[0]; i++)
        if (x[i] > 0) *y++ = x[i];
    return status;
}
static const tn_port above_inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_operator above_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "ask",
                                           .name = "Above",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(above_inputs),
                                           TN_OUTPUTS(sized_outputs),
                                           .infer = above_infer,
                                           .reference = above_run};

static const tn_operator *const ask_operators[] = {&ask_operator, &hand_operator, &above_operator};
static const tn_kernel *const ask_kernels[] = {&ask_kernel, &hand_kernel};
static tn_library *ask_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "ask",
                                 .version = "1",
                                 .operator_count = TN_COUNT(ask_operators),
                                 .operators = ask_operators,
                                 .kernel_count = TN_COUNT(ask_kernels),
                                 .kernels = ask_kernels};
    (void)host;
    return &library;
}

#endif
