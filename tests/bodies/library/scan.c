/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: a graph for each slice of its last inputs along their first axis; the results are stacked.
 */
#include "bodies.h"

#include <string.h>

typedef struct scan_params {
    uint64_t present;
    const tn_body_graph *body;
    int64_t num_scan_inputs;
} scan_params;

typedef struct counts {
    uint32_t states, scans;
    int64_t length;
} counts;

static tn_status read_counts(tn_call *call, counts *out_counts) {
    const scan_params *params = call->params;
    const uint32_t given = call->input_count - params->body->capture_count;
    if (params->num_scan_inputs > given || params->body->input_count != given ||
        params->body->output_count < given - (uint32_t)params->num_scan_inputs)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "%u inputs, %d of which are scanned, for a body with %u inputs",
                                given, (int)params->num_scan_inputs, params->body->input_count);
    out_counts->scans = (uint32_t)params->num_scan_inputs;
    out_counts->states = given - out_counts->scans;
    for (uint32_t i = out_counts->states; i < given; i++) {
        const tn_tensor *input = call->inputs[i];
        if (input->rank == 0 || (i > out_counts->states && input->shape[0] != out_counts->length))
            return call->host->fail(call, TN_ERROR_SHAPE, "the scanned inputs differ in length");
        out_counts->length = input->shape[0];
    }
    return TN_OK;
}

static tn_status infer(tn_call *call) {
    const scan_params *params = call->params;
    counts n;
    shapes made;
    tn_tensor slices[TN_BODY_MAX_PORTS];
    int64_t extents[TN_BODY_MAX_PORTS][TN_MAX_RANK];
    const tn_tensor *given[TN_BODY_MAX_PORTS];
    tn_status status = read_counts(call, &n);
    if (status != TN_OK) return status;
    for (uint32_t i = 0; i < n.states + n.scans; i++) {
        given[i] = call->inputs[i];
        if (i < n.states) continue;
        slices[i] = slice_of(call->inputs[i], 0, extents[i]);
        slices[i].data = NULL;
        given[i] = &slices[i];
    }
    shapes_init(&made);
    status = bodies(call)->infer(call, params->body, given, made.pointers);
    for (uint32_t i = 0; i < call->output_count && status == TN_OK; i++)
        if (call->outputs[i])
            write_shape(call->outputs[i], &made.tensors[i], i < n.states ? -1 : n.length);
    return status;
}

/* The states come from the run before; stacked results are written where they belong. */
static tn_status run_slice(tn_call *call, const counts *n, int64_t index, tn_tensor *states) {
    const scan_params *params = call->params;
    tn_tensor inputs[TN_BODY_MAX_PORTS], outputs[TN_BODY_MAX_PORTS];
    int64_t extents[2][TN_BODY_MAX_PORTS][TN_MAX_RANK];
    const tn_tensor *given[TN_BODY_MAX_PORTS];
    tn_tensor *made[TN_BODY_MAX_PORTS] = {NULL};
    for (uint32_t i = 0; i < n->states + n->scans; i++) {
        inputs[i] = i < n->states ? states[i] : slice_of(call->inputs[i], index, extents[0][i]);
        given[i] = &inputs[i];
    }
    for (uint32_t i = 0; i < params->body->output_count; i++) {
        outputs[i] = (tn_tensor){.size = sizeof(tn_tensor)};
        if (i >= n->states && i < call->output_count && call->outputs[i])
            outputs[i] = slice_of(call->outputs[i], index, extents[1][i]);
        if (i < n->states || outputs[i].data) made[i] = &outputs[i];
    }
    const tn_status status = bodies(call)->run(call, params->body, given, made);
    for (uint32_t i = 0; i < n->states && status == TN_OK; i++)
        states[i] = outputs[i];
    return status;
}

static tn_status run(tn_call *call) {
    counts n;
    tn_tensor states[TN_BODY_MAX_PORTS];
    tn_status status = read_counts(call, &n);
    if (status != TN_OK) return status;
    for (uint32_t i = 0; i < n.states; i++)
        states[i] = *call->inputs[i];
    for (int64_t index = 0; index < n.length && status == TN_OK; index++)
        status = run_slice(call, &n, index, states);
    for (uint32_t i = 0; i < n.states && i < call->output_count && status == TN_OK; i++)
        if (call->outputs[i]) memcpy(call->outputs[i]->data, states[i].data, states[i].bytes);
    return status;
}

static const tn_field fields[] = {
    TN_FIELD(scan_params, body, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "what is done to a slice"),
    TN_FIELD_RANGE(scan_params, num_scan_inputs, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 64,
                   "how many of the inputs are scanned, the last ones"),
};
static const tn_port inputs[] = {
    TN_PORT("given", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS,
            "states, then what is scanned, then what the body captured"),
};
static const tn_port outputs[] = {
    TN_PORT("results", "any", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS,
            "states, then what is stacked"),
};
const tn_operator scan_operator = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Test",
                                   .name = "Scan",
                                   .doc = "a graph for each slice",
                                   TN_FIELDS(scan_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = run};
static const char *const combinations[] = {"*... -> *..."};
const tn_kernel scan_kernel = {.size = sizeof(tn_kernel),
                               .revision = 1,
                               .domain = "Test",
                               .op = "Scan",
                               .device = "cpu",
                               .name = "slices",
                               TN_COMBINATIONS(combinations),
                               .run = run};
