/* SPDX-License-Identifier: Apache-2.0 */
/* The service of bodies: checks a call and hands it to the executor; loops over it. See bodies.h.
 */
#include "plugin/bodies.h"
#include "plugin/fields/fields.h"
#include "plugin/call.h"

#include <string.h>

static tn_status fail(tn_call *call, tn_status status, const char *text) {
    return call->host->fail(call, status, "%s", text);
}

/* Only what the host put into the node's fields is one. */
static bool is_own(const tn_call *call, const tn_body_graph *body) {
    for (uint32_t i = 0; call->params && i < call->op->field_count; i++) {
        const tn_field *field = tn_fields_at(call->op, i);
        const void *member = (const char *)call->params + field->offset;
        if (field->type == TN_FIELD_GRAPH && *(const void *const *)member == body) return true;
    }
    return false;
}

/* Strings have a heap beside their elements, which is the host's. */
static tn_status check_outputs(tn_call *call, const tn_body_graph *body,
                               tn_tensor *const *outputs) {
    for (uint32_t i = 0; outputs && i < body->output_count; i++)
        if (outputs[i] && outputs[i]->data && outputs[i]->type == TN_STRING)
            return fail(call, TN_ERROR_ARGUMENT,
                        "an output of a body that is of strings is computed into no memory of the "
                        "operator's: expected null data");
    return TN_OK;
}

static tn_status find_executor(tn_call *call, const tn_body_graph *body,
                               const tn_tensor *const *inputs, tn_body_executor **out_executor) {
    const tn_call_scope *scope = call->host_private;
    if (!scope->bodies)
        return fail(call, TN_ERROR_STATE,
                    "a body can be asked for in infer, the reference, reshape and run alone");
    if (!body || (body->input_count > 0 && !inputs))
        return fail(call, TN_ERROR_ARGUMENT, "a body and its inputs are needed");
    if (!is_own(call, body))
        return fail(call, TN_ERROR_ARGUMENT, "the body is not one of this node's");
    for (uint32_t i = 0; i < body->input_count; i++)
        if (!inputs[i]) return fail(call, TN_ERROR_ARGUMENT, "an input of a body is null");
    *out_executor = scope->bodies;
    return TN_OK;
}

/* Loops in loops ask again and again, and one that is computed before a run may have no end. */
static tn_status count_question(tn_call *call, uint32_t weight) {
    const tn_call_scope *scope = call->host_private;
    if (!scope->questions) return TN_OK;
    if (*scope->questions <= TN_BODY_QUESTIONS - weight) {
        *scope->questions += weight;
        return TN_OK;
    }
    *scope->questions = TN_BODY_QUESTIONS;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "its bodies, and those in them, were asked for shapes more than %u "
                            "times, or ran more than %u times before a run: the nesting is too "
                            "deep, or a loop too long",
                            TN_BODY_QUESTIONS / TN_BODY_ASKED_WEIGHT,
                            TN_BODY_QUESTIONS / TN_BODY_RUN_WEIGHT);
}

static tn_status infer_body(tn_call *call, const tn_body_graph *body,
                            const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    tn_body_executor *executor = NULL;
    TN_TRY(find_executor(call, body, inputs, &executor));
    TN_TRY(count_question(call, TN_BODY_ASKED_WEIGHT));
    return tn_call_keep(call, executor->infer(executor, call, body, inputs, outputs));
}

static tn_status run_body(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                          tn_tensor *const *outputs) {
    tn_body_executor *executor = NULL;
    TN_TRY(find_executor(call, body, inputs, &executor));
    if (!executor->run)
        return fail(call, TN_ERROR_STATE, "a body can be run in the reference and in run alone");
    TN_TRY(count_question(call, TN_BODY_RUN_WEIGHT));
    for (uint32_t i = 0; i < body->input_count; i++)
        if ((!inputs[i]->data && inputs[i]->bytes > 0) ||
            (inputs[i]->type == TN_STRING && !inputs[i]->kind && !inputs[i]->heap))
            return fail(call, TN_ERROR_ARGUMENT, "an input of a body has no data");
    TN_TRY(check_outputs(call, body, outputs));
    return tn_call_keep(call, executor->run(executor, call, body, inputs, outputs));
}

/* The tensors of one iteration. */
typedef struct iteration {
    int64_t number, extent;
    bool condition;
    tn_tensor counter, flag;
    const tn_tensor *inputs[TN_BODY_MAX_PORTS];
    tn_tensor made[TN_BODY_MAX_PORTS];
    tn_tensor *outputs[TN_BODY_MAX_PORTS];
} iteration;

static tn_status check_loop(tn_call *call, const tn_body_graph *body, const tn_body_loop *loop) {
    if (!body || !loop || loop->size < sizeof(*loop) ||
        (loop->carried_count > 0 && (!loop->carried || !loop->results)))
        return fail(call, TN_ERROR_ARGUMENT, "a loop needs a body, its size and what is carried");
    if (body->input_count != loop->carried_count + 2 ||
        body->output_count < loop->carried_count + 1)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "the body of a loop that carries %u tensors has %u inputs and %u "
                                "outputs; expected %u and at least %u",
                                loop->carried_count, body->input_count, body->output_count,
                                loop->carried_count + 2, loop->carried_count + 1);
    return TN_OK;
}

static void begin(iteration *it, const tn_body_graph *body, const tn_body_loop *loop) {
    static const int64_t no_strides[1];
    memset(it->made, 0, sizeof(it->made));
    it->extent = 1;
    it->condition = loop->condition;
    it->counter = (tn_tensor){.size = sizeof(tn_tensor),
                              .type = TN_I64,
                              .data = &it->number,
                              .bytes = sizeof(it->number),
                              .shape = &it->extent,
                              .strides = no_strides,
                              .name = "iteration"};
    it->flag = it->counter;
    it->flag.type = TN_BOOL;
    it->flag.data = &it->condition;
    it->flag.bytes = sizeof(it->condition);
    it->flag.name = "condition";
    it->inputs[0] = &it->counter;
    it->inputs[1] = &it->flag;
    for (uint32_t i = 0; i < loop->carried_count; i++) {
        it->inputs[2 + i] = loop->carried[i];
        loop->results[i] = *loop->carried[i];
    }
    for (uint32_t i = 0; i < body->output_count; i++)
        it->outputs[i] = &it->made[i];
}

static tn_status next(tn_call *call, const tn_body_graph *body, tn_body_loop *loop, iteration *it) {
    const uint32_t carried = loop->carried_count;
    for (uint32_t i = 0; i < body->output_count; i++)
        it->made[i] = (tn_tensor){.size = sizeof(tn_tensor)};
    TN_TRY(run_body(call, body, it->inputs, it->outputs));
    if (it->made[0].type != TN_BOOL || it->made[0].bytes != sizeof(bool))
        return fail(call, TN_ERROR_TYPE,
                    "the first output of a loop's body is not its condition, one bool");
    it->condition = *(const bool *)it->made[0].data;
    for (uint32_t i = 0; i < carried; i++) {
        loop->results[i] = it->made[1 + i];
        it->inputs[2 + i] = &loop->results[i];
    }
    return loop->each
               ? tn_call_keep(call, loop->each(loop->user, it->number, it->made + 1 + carried))
               : TN_OK;
}

static tn_status run_while(tn_call *call, const tn_body_graph *body, tn_body_loop *loop) {
    iteration it;
    TN_TRY(check_loop(call, body, loop));
    begin(&it, body, loop);
    for (it.number = 0; it.condition && (loop->limit < 0 || it.number < loop->limit); it.number++)
        TN_TRY(next(call, body, loop, &it));
    loop->iterations = it.number;
    return TN_OK;
}

static tn_status find_value(tn_call *call, const tn_body_graph *body,
                            const tn_tensor *const *inputs, uint32_t output, uint64_t bytes,
                            void *data, bool *out_is_known) {
    tn_body_executor *executor = NULL;
    TN_TRY(find_executor(call, body, inputs, &executor));
    TN_TRY(count_question(call, TN_BODY_ASKED_WEIGHT));
    if (output >= body->output_count || !data || !out_is_known)
        return fail(call, TN_ERROR_ARGUMENT, "an output of the body and room for it are needed");
    return tn_call_keep(call,
                        executor->value(call, body, inputs, output, bytes, data, out_is_known));
}

const tn_body_service *tn_body_service_table(void) {
    static const tn_body_service table = {.size = sizeof(table),
                                          .infer = infer_body,
                                          .run = run_body,
                                          .run_while = run_while,
                                          .value = find_value};
    return &table;
}
