/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop: a graph again and again; what comes out of an iteration goes into the next one, and what it
 * returns besides is stacked. While is the same where the number of iterations is only known
 * afterwards, so that a run sizes what is stacked.
 */
#include "bodies.h"

#include <string.h>

typedef struct loop_params {
    uint64_t present;
    const tn_body_graph *body;
} loop_params;

static uint32_t carried_count(const tn_call *call) {
    const loop_params *params = call->params;
    return call->input_count - params->body->capture_count - 2;
}

static int64_t limit_of(const tn_call *call) {
    return call->inputs[0] && call->inputs[0]->data ? *(const int64_t *)call->inputs[0]->data : -1;
}

/* The shapes of the results of an iteration. */
static tn_status infer_body(tn_call *call, const tn_tensor *const *carried, shapes *made) {
    const loop_params *params = call->params;
    const uint32_t count = carried_count(call);
    int64_t one[1] = {1};
    tn_tensor number = {.size = sizeof(number), .type = TN_I64, .shape = one, .strides = one};
    tn_tensor condition = {
        .size = sizeof(condition), .type = TN_BOOL, .shape = one, .strides = one};
    const tn_tensor *given[TN_BODY_MAX_PORTS] = {&number, &condition};
    if (params->body->input_count != count + 2 || params->body->output_count < count + 1)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "%u tensors are carried, and the body has %u inputs and %u outputs",
                                count, params->body->input_count, params->body->output_count);
    for (uint32_t i = 0; i < count; i++)
        given[2 + i] = carried[i];
    shapes_init(made);
    return bodies(call)->infer(call, params->body, given, made->pointers);
}

static bool is_same_shape(const tn_tensor *a, const tn_tensor *b) {
    return a->type == b->type && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof(int64_t)) == 0;
}

static void write_outputs(tn_call *call, const shapes *made, int64_t limit) {
    const uint32_t carried = carried_count(call);
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i])
            write_shape(call->outputs[i], &made->tensors[1 + i], i < carried ? -1 : limit);
}

static tn_status check_limit(tn_call *call) {
    if (call->output_count <= carried_count(call) || limit_of(call) >= 0) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "the number of iterations is not known");
}

static tn_status infer(tn_call *call) {
    shapes made;
    tn_status status = check_limit(call);
    if (status == TN_OK) status = infer_body(call, call->inputs + 2, &made);
    if (status != TN_OK) return status;
    for (uint32_t i = 0; i < carried_count(call); i++)
        if (!is_same_shape(call->inputs[2 + i], &made.tensors[1 + i]))
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "carried tensor %u has another shape after an iteration", i);
    write_outputs(call, &made, limit_of(call));
    return TN_OK;
}

/* What is carried may grow, by as much in each iteration: the body is asked once more with what the
 * last one returns, which is the bound. */
static tn_status infer_sized(tn_call *call) {
    shapes made, last;
    const uint32_t carried = carried_count(call);
    const int64_t limit = limit_of(call);
    tn_status status = check_limit(call);
    if (status == TN_OK) status = infer_body(call, call->inputs + 2, &made);
    if (status != TN_OK) return status;
    for (uint32_t i = 0; i < carried; i++) {
        const tn_tensor *before = call->inputs[2 + i];
        tn_tensor *after = &made.tensors[1 + i];
        if (before->type != after->type || before->rank != after->rank ||
            (limit < 0 && !is_same_shape(before, after)))
            return call->host->fail(call, TN_ERROR_SHAPE, "carried tensor %u grows without end", i);
        for (uint32_t axis = 0; axis < after->rank && limit > 0; axis++)
            after->shape[axis] += (limit - 1) * (after->shape[axis] - before->shape[axis]);
    }
    status = infer_body(call, (const tn_tensor *const *)made.pointers + 1, &last);
    if (status == TN_OK) write_outputs(call, &made, limit);
    return status;
}

static tn_status stack(void *user, int64_t iteration, const tn_tensor *outputs) {
    tn_call *call = user;
    const uint32_t carried = carried_count(call);
    for (uint32_t i = carried; i < call->output_count; i++) {
        const tn_tensor *from = &outputs[i - carried];
        if (call->outputs[i])
            memcpy((char *)call->outputs[i]->data + (uint64_t)iteration * from->bytes, from->data,
                   from->bytes);
    }
    return TN_OK;
}

static tn_status run_loop(tn_call *call, bool is_sized, int64_t *out_iterations) {
    const loop_params *params = call->params;
    const uint32_t carried = carried_count(call);
    tn_tensor results[TN_BODY_MAX_PORTS];
    const tn_tensor *condition = call->inputs[1];
    tn_body_loop loop = {.size = sizeof(loop),
                         .carried_count = carried,
                         .limit = limit_of(call),
                         .condition = !condition || *(const bool *)condition->data,
                         .carried = call->inputs + 2,
                         .results = results,
                         .each = stack,
                         .user = call};
    const tn_status status = bodies(call)->run_while(call, params->body, &loop);
    if (status != TN_OK) return status;
    for (uint32_t i = 0; i < carried && i < call->output_count; i++) {
        tn_tensor *output = call->outputs[i];
        if (!output) continue;
        memcpy(output->data, results[i].data, results[i].bytes);
        if (is_sized) memcpy(output->shape, results[i].shape, output->rank * sizeof(int64_t));
    }
    *out_iterations = loop.iterations;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    int64_t iterations = 0;
    const tn_status status = run_loop(call, false, &iterations);
    if (status != TN_OK) return status;
    if (call->output_count > carried_count(call) && iterations != limit_of(call))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "it ended after %d of %d iterations, and stacks results",
                                (int)iterations, (int)limit_of(call));
    return TN_OK;
}

static tn_status run_sized(tn_call *call) {
    int64_t iterations = 0;
    const tn_status status = run_loop(call, true, &iterations);
    if (status != TN_OK) return status;
    for (uint32_t i = carried_count(call); i < call->output_count; i++)
        if (call->outputs[i]) call->outputs[i]->shape[0] = iterations;
    return TN_OK;
}

static const tn_field fields[] = {
    TN_FIELD(loop_params, body, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "one iteration"),
};
static const tn_port inputs[] = {
    TN_PORT("M", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "how many at most"),
    TN_PORT("cond", "bool", TN_PORT_OPTIONAL, "whether there is a first one"),
    TN_PORT("carried", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL,
            "what is carried, then what the body captured"),
};
static const tn_port outputs[] = {
    TN_PORT("results", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS,
            "what was carried, then what is stacked"),
};
static const tn_port sized_outputs[] = {
    TN_PORT("results", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_SIZED_BY_RUN,
            "what was carried, then what is stacked"),
};
static const char *const combinations[] = {"i64?, bool?, *?... -> *..."};

#define LOOP(table, text, its_outputs, its_infer, its_run)                                         \
    const tn_operator table##_operator = {.size = sizeof(tn_operator),                             \
                                          .since_version = 1,                                      \
                                          .state_version = 1,                                      \
                                          .domain = "Test",                                        \
                                          .name = text,                                            \
                                          .doc = "a graph again and again",                        \
                                          TN_FIELDS(loop_params, fields),                          \
                                          TN_INPUTS(inputs),                                       \
                                          TN_OUTPUTS(its_outputs),                                 \
                                          .infer = its_infer,                                      \
                                          .reference = its_run};                                   \
    const tn_kernel table##_kernel = {.size = sizeof(tn_kernel),                                   \
                                      .revision = 1,                                               \
                                      .domain = "Test",                                            \
                                      .op = text,                                                  \
                                      .device = "cpu",                                             \
                                      .name = "iterate",                                           \
                                      TN_COMBINATIONS(combinations),                               \
                                      .run = its_run}
LOOP(loop, "Loop", outputs, infer, run);
LOOP(while, "While", sized_outputs, infer_sized, run_sized);
