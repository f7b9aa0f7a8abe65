/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If: one of two graphs, both of which capture what they read. Their results may differ in shape:
 * then the run finds it. A branch that does not take the shapes that are there is one that the run
 * must not take.
 */
#include "control.h"

#include <string.h>

typedef struct if_params {
    uint64_t present;
    const tn_body_graph *then_branch, *else_branch;
} if_params;

static tn_status check_branch(tn_call *call, const tn_body_graph *branch, const char *name) {
    if (branch->input_count > 0)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "%s '%s' has %u inputs: expected none, since branches capture "
                                "what they read",
                                name, branch->name, branch->input_count);
    if (branch->output_count < call->output_count)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "%s '%s' has %u results: the node has %u outputs", name,
                                branch->name, branch->output_count, call->output_count);
    return TN_OK;
}

/* One that a branch answers with where the shapes around it are not for it. */
static bool is_refusal(tn_status status) {
    return status == TN_ERROR_SHAPE || status == TN_ERROR_RANGE;
}

static tn_status check_types(tn_call *call, const tn_control_shapes *then_results,
                             const tn_control_shapes *else_results) {
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_type first = then_results->tensors[i].type, second = else_results->tensors[i].type;
        if (call->outputs[i] && first != second)
            return call->host->fail(call, TN_ERROR_TYPE,
                                    "result %u is %s in then_branch and %s in else_branch: "
                                    "expected one type",
                                    i, tn_control_type(first), tn_control_type(second));
    }
    return TN_OK;
}

/* Into `results[0]`: what is known of the results. Both branches are asked, so that both can be
 * built; where the condition is known only the answer of one counts. */
static tn_status infer_branches(tn_call *call, tn_control_shapes *results) {
    const if_params *params = call->params;
    const tn_body_graph *branches[2] = {params->then_branch, params->else_branch};
    const bool *condition = call->inputs[0]->data;
    const int taken = condition && !*condition;
    tn_status answers[2];
    for (int i = 0; i < 2; i++) {
        answers[i] = tn_control_ask(call, branches[i], NULL, &results[i]);
    }
    if (answers[1] != TN_OK && !is_refusal(answers[1])) return answers[1];
    if (answers[0] != TN_OK && !is_refusal(answers[0]))
        return tn_control_ask(call, branches[0], NULL, &results[0]);
    if (answers[0] == TN_OK && answers[1] == TN_OK)
        TN_TRY(check_types(call, &results[0], &results[1]));
    if (condition && answers[taken] != TN_OK) /* its reason, not the other's */
        return tn_control_ask(call, branches[taken], NULL, &results[0]);
    if (answers[0] != TN_OK && answers[1] != TN_OK) return answers[1];
    const int only = condition ? taken : answers[0] != TN_OK ? 1 : 0;
    const bool is_joined = !condition && answers[0] == TN_OK && answers[1] == TN_OK;
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (is_joined) tn_control_join(&results[0].tensors[i], &results[1].tensors[i]);
        TN_TRY(tn_control_write(call, i, &results[only].tensors[i], 0, TN_CONTROL_NO_LENGTH));
    }
    return TN_OK;
}

static tn_status if_infer(tn_call *call) {
    const if_params *params = call->params;
    TN_TRY(tn_control_require_one(call, 0));
    TN_TRY(check_branch(call, params->then_branch, "then_branch"));
    TN_TRY(check_branch(call, params->else_branch, "else_branch"));
    tn_control_shapes *results = call->host->allocate(call->host, 2 * sizeof(*results), 64);
    if (!results) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for shapes");
    const tn_status status = infer_branches(call, results);
    call->host->deallocate(call->host, results);
    return status;
}

/* By a condition that is a constant. */
static tn_status if_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const if_params *params = call->params;
    const bool *condition = call->inputs[0]->data;
    if (input != 0 || !condition || strcmp(name, TN_FACET_BRANCH) != 0) return TN_ERROR_UNSUPPORTED;
    *(tn_facet_branch *)out_facet->what =
        (tn_facet_branch){.size = sizeof(tn_facet_branch),
                          .body = *condition ? params->then_branch : params->else_branch};
    return TN_OK;
}

/* What has memory is computed into it; the rest, and strings, are copied. */
static tn_status if_reference(tn_call *call) {
    const if_params *params = call->params;
    const bool condition = *(const bool *)call->inputs[0]->data;
    const tn_body_graph *branch = condition ? params->then_branch : params->else_branch;
    tn_tensor made[TN_BODY_MAX_PORTS];
    tn_tensor *results[TN_BODY_MAX_PORTS] = {NULL};
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        made[i] = (tn_tensor){.size = sizeof(tn_tensor)};
        const bool is_there = call->outputs[i]->data && !call->outputs[i]->kind &&
                              call->outputs[i]->type != TN_STRING;
        results[i] = is_there ? call->outputs[i] : &made[i];
    }
    TN_TRY(tn_control_bodies(call)->run(call, branch, NULL, results));
    for (uint32_t i = 0; i < call->output_count; i++)
        if (results[i] == &made[i]) TN_TRY(tn_control_hand_out(call, i, &made[i]));
    return TN_OK;
}

static const tn_field if_fields[] = {
    TN_FIELD(if_params, then_branch, TN_FIELD_GRAPH, TN_REQUIRED, NULL,
             "where the condition holds"),
    TN_FIELD(if_params, else_branch, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "where it does not"),
};
static const tn_port if_inputs[] = {
    TN_PORT("cond", "bool", TN_PORT_VALUE_WANTED, "one element"),
    TN_PORT("captured", "value(any|string)",
            TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL, "what the branches read"),
};
static const tn_port if_outputs[] = {
    TN_PORT("outputs", "value(any|string)",
            TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_SIZED_BY_RUN,
            "the branch's results, of the same types in both"),
};
const tn_operator tn_control_if = {
    TN_OPERATOR_BEGIN("", "If", 1, "One of two graphs, by a condition."),
    .traits = TN_OPERATOR_EXACT,
    .infer = if_infer,
    .reference = if_reference,
    .facet = if_facet,
    TN_FIELDS(if_params, if_fields),
    TN_INPUTS(if_inputs),
    TN_OUTPUTS(if_outputs)};
static const char *const if_combinations[] = {"bool, *|string?... -> *|string..."};
const tn_kernel tn_control_if_kernel = {
    TN_KERNEL_BEGIN("cpu", "", "If", "branch", 1, "runs the branch's own program"),
    TN_COMBINATIONS(if_combinations), .run = if_reference};
