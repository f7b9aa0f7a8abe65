/* SPDX-License-Identifier: Apache-2.0 */
/* If: one of two graphs, both of which capture what they read. Their results have one shape. */
#include "bodies.h"

#include <string.h>

typedef struct if_params {
    uint64_t present;
    const tn_body_graph *then_branch, *else_branch;
} if_params;

static tn_status infer(tn_call *call) {
    const if_params *params = call->params;
    shapes first, second;
    shapes_init(&first);
    shapes_init(&second);
    if (params->then_branch->output_count != params->else_branch->output_count)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the branches have %u and %u results",
                                params->then_branch->output_count,
                                params->else_branch->output_count);
    tn_status status = bodies(call)->infer(call, params->then_branch, NULL, first.pointers);
    if (status == TN_OK)
        status = bodies(call)->infer(call, params->else_branch, NULL, second.pointers);
    if (status != TN_OK) return status;
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *a = &first.tensors[i], *b = &second.tensors[i];
        if (a->type != b->type || a->rank != b->rank ||
            memcmp(a->shape, b->shape, a->rank * sizeof(int64_t)) != 0)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "result %u has another shape or type in the other branch", i);
        if (call->outputs[i]) write_shape(call->outputs[i], a, -1);
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const if_params *params = call->params;
    const bool condition = *(const bool *)call->inputs[0]->data;
    return bodies(call)->run(call, condition ? params->then_branch : params->else_branch, NULL,
                             call->outputs);
}

static const tn_field fields[] = {
    TN_FIELD(if_params, then_branch, TN_FIELD_GRAPH, TN_REQUIRED, NULL,
             "where the condition holds"),
    TN_FIELD(if_params, else_branch, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "where it does not"),
};
static const tn_port inputs[] = {
    TN_PORT("cond", "bool", 0, "one element"),
    TN_PORT("captured", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL,
            "what the branches read"),
};
static const tn_port outputs[] = {
    TN_PORT("results", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, "the branch's"),
};
const tn_operator if_operator = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Test",
                                 .name = "If",
                                 .doc = "one of two graphs",
                                 TN_FIELDS(if_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = run};
static const char *const combinations[] = {"bool, *?... -> *..."};
const tn_kernel if_kernel = {.size = sizeof(tn_kernel),
                             .revision = 1,
                             .domain = "Test",
                             .op = "If",
                             .device = "cpu",
                             .name = "branch",
                             TN_COMBINATIONS(combinations),
                             .run = run};
