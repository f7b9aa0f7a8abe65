/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator's case to a probe; see subject.h. */
#include "subject.h"
#include "base/hash.h"
#include "base/status.h"
#include "heap.h"
#include "planted.h"
#include "plugin/combination.h"
#include "trace.h"
#include "values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *counted_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    tn_counter *counter = user;
    if (++counter->allocations == counter->fail_at || bytes > (uint64_t)4 << 30) return NULL;
    if (alignment < 16) alignment = 16;
    void *memory =
        aligned_alloc((size_t)alignment, (size_t)((bytes + alignment) / alignment * alignment));
    counter->live += memory != NULL;
    tn_heap_note(memory, (size_t)bytes);
    return memory;
}

static void counted_deallocate(void *user, void *memory) {
    if (memory) ((tn_counter *)user)->live--;
    free(memory);
}

void tn_counter_init(tn_counter *counter) {
    *counter = (tn_counter){.functions = {.size = sizeof(tn_allocator),
                                          .user = counter,
                                          .allocate = counted_allocate,
                                          .deallocate = counted_deallocate}};
}

/* ----------------------------------------------------------------------------------------------
 * changing a case */

/* Whether an input may have values of a kind: not where it is no data but indices, axes or sizes,
 * which are integers of another type than the first input's. */
static bool takes_values(const tn_case *c, uint32_t index, const tn_change *change) {
    const tn_type type = c->inputs[index].type;
    return (tn_type_is_float(type) || type == c->inputs[0].type) &&
           !(change->is_first_alone && index > 0) && tn_values_apply(type, change->values);
}

static void fill(tn_case_input *input, const tn_change *change, uint32_t values, uint32_t index) {
    uint64_t state = tn_hash_add_u64(tn_hash_add_u64(change->seed, values), index);
    size_t count = 0;
    if (tn_shape_count(&input->shape, &count) == TN_OK)
        tn_values_draw(input->data, input->type, count, values, &state);
}

/* Of an input that is made larger: what is tried in other shapes shall not take long. */
enum { MOST_BYTES = 1 << 22, MOST_OUTPUT_BYTES = 1 << 26 };

/* Whether change->axis of an input is one with the first input's. */
static bool is_along(const tn_case *c, uint32_t index, const tn_change *change) {
    const tn_shape *first = &c->inputs[0].shape, *shape = &c->inputs[index].shape;
    const int32_t axis = change->axis;
    return axis >= 0 && (uint32_t)axis < shape->rank && (uint32_t)axis < first->rank &&
           shape->extents[axis] == first->extents[axis] &&
           (index == 0 || shape->rank == first->rank);
}

/* The shape that an input gets. */
static tn_shape shape_of(const tn_case *c, uint32_t index, const tn_change *change) {
    tn_shape shape = c->inputs[index].shape;
    if (change->shapes) return change->shapes[index];
    if (is_along(c, index, change)) shape.extents[change->axis] = change->extent;
    return shape;
}

/* The kind of values that an input gets. */
static uint32_t values_of(const tn_case *c, uint32_t index, const tn_change *change,
                          bool is_resized) {
    if (change->values > TN_VALUES_SMALL && takes_values(c, index, change)) return change->values;
    if (is_resized) return TN_VALUES_SMALL;
    return change->seed && change->values <= TN_VALUES_SMALL ? TN_VALUES_SMALL : TN_VALUES_CASE;
}

/* In any case memory of its own: the case's may be shared. */
static tn_status change_input(tn_subject *subject, uint32_t index, const tn_change *change,
                              const tn_shape *shape, uint32_t values) {
    tn_case_input *input = &subject->c.inputs[index];
    size_t bytes = 0;
    TN_TRY(tn_format_bytes(TN_LINEAR, input->type, shape, &bytes));
    if (bytes > MOST_BYTES && bytes > input->bytes) return tn_fail_memory("a case made of another");
    char *data = tn_arena_allocate(subject->arena, 1, bytes + 128);
    if (!data) return tn_fail_memory("a case");
    data += (64 - (uintptr_t)data % 64) % 64;
    if (values == TN_VALUES_CASE) memcpy(data, input->data, bytes);
    input->data = data;
    input->bytes = bytes;
    input->shape = *shape;
    if (values != TN_VALUES_CASE) fill(input, change, values, index);
    if (change->plants_fields && takes_values(&subject->c, index, change))
        tn_planted_put(subject->op, &subject->c, index);
    return TN_OK;
}

static void leave_out(tn_case *c, uint32_t index) {
    c->input_count--;
    for (uint32_t i = index; i < c->input_count; i++)
        c->inputs[i] = c->inputs[i + 1];
}

/* Others like the last input, which is one of a port that takes any number of them. */
static tn_status repeat_last(tn_subject *subject, uint32_t wanted) {
    tn_case *c = &subject->c;
    if (wanted <= c->input_count || c->input_count == 0) return TN_OK;
    const tn_case_input last = c->inputs[c->input_count - 1];
    if (wanted > TN_PROBE_PORTS || last.has_values ||
        !(subject->op->inputs[last.port].flags & TN_PORT_VARIADIC))
        return tn_fail(TN_ERROR_UNSUPPORTED, "no input of which there may be more");
    tn_case_input *inputs = tn_arena_allocate(subject->arena, wanted, sizeof(*inputs));
    if (!inputs) return tn_fail_memory("a case");
    memcpy(inputs, c->inputs, c->input_count * sizeof(*inputs));
    for (uint32_t i = c->input_count; i < wanted; i++)
        inputs[i] = last;
    c->inputs = inputs;
    c->input_count = wanted;
    return TN_OK;
}

static tn_status change_case(tn_subject *subject, const tn_change *change) {
    tn_case *c = &subject->c;
    TN_TRY(repeat_last(subject, change->input_count));
    tn_shape shapes[TN_PROBE_PORTS];
    bool is_any = change->values <= TN_VALUES_SMALL;
    const uint32_t count = c->input_count < TN_PROBE_PORTS ? c->input_count : TN_PROBE_PORTS;
    for (uint32_t i = 0; i < count; i++)
        shapes[i] = shape_of(c, i, change);
    for (uint32_t i = 0; i < count; i++) {
        if (c->inputs[i].has_values) continue;
        const uint32_t values =
            values_of(c, i, change, !tn_shape_equal(&shapes[i], &c->inputs[i].shape));
        is_any = is_any || values == change->values;
        TN_TRY(change_input(subject, i, change, &shapes[i], values));
    }
    if (change->left_out > 0 && change->left_out <= count) leave_out(c, change->left_out - 1);
    return is_any ? TN_OK : tn_fail(TN_ERROR_UNSUPPORTED, "no input has such values");
}

/* The changed case as text: inputs without values of their own have other extents. */
static const char *describe_case(const tn_subject *subject, const tn_change *change) {
    const char *token = strchr(subject->text, '|');
    char *text = tn_arena_format(subject->arena, "%.*s|", token ? (int)(token - subject->text) : 0,
                                 subject->text);
    if (token) token++;
    for (uint32_t i = 0; text && token && i < subject->c.input_count; i++) {
        if (i + 1 == change->left_out) token += strcspn(token + strspn(token, " "), " ") + 1;
        const tn_case_input *input = &subject->c.inputs[i];
        char shape[160] = "";
        token += strspn(token, " ");
        const size_t length = strcspn(token, " ");
        for (uint32_t k = 0, at = 0; k < input->shape.rank && at < sizeof(shape); k++)
            at += (uint32_t)snprintf(shape + at, sizeof(shape) - at, "%s%lld", k ? "," : "",
                                     (long long)input->shape.extents[k]);
        text = input->has_values
                   ? tn_arena_format(subject->arena, "%s %.*s", text, (int)length, token)
                   : tn_arena_format(subject->arena, "%s %s=%s[%s]", text,
                                     subject->op->inputs[input->port].name,
                                     tn_type_name(input->type), shape);
        token += length;
    }
    return text ? text : subject->text;
}

/* ----------------------------------------------------------------------------------------------
 * ports */

/* The type in which a combination's port stores a tensor: its own, or nothing. */
static bool port_fits(const tn_combination_port *port, tn_type type, const tn_shape *shape) {
    return port && (port->types & TN_TYPE_BIT(type)) && tn_format_fits(port->format, shape->rank);
}

static void describe(tn_probe_port *port, const tn_tensor_storage *known,
                     const tn_combination_port *stored) {
    port->is_given = true;
    port->type = port->own_type = known->tensor.type;
    port->shape = known->shape;
    port->format = stored ? stored->format : TN_LINEAR;
}

static bool refuse(tn_subject *subject, const char *why) {
    subject->refusal = why;
    return false;
}

static bool refuse_types(tn_subject *subject) {
    return refuse(subject, strstr(subject->combination, "16") || strchr(subject->combination, 'q')
                               ? "the combination has lower types than the case: stored-types "
                                 "tries those"
                               : "the combination has other types or formats than the case");
}

static bool describe_ports(tn_subject *subject, const tn_inference *inference,
                           const tn_combination *combination) {
    tn_probe *probe = &subject->probe;
    const tn_graph_node *node = probe->node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port *declared = tn_graph_input_port(subject->op, i);
        const tn_combination_port *stored =
            combination ? tn_combination_input(combination, i) : NULL;
        if (node->inputs[i] == TN_NO_TENSOR) {
            if (stored && !stored->is_optional)
                return refuse(subject, "the combination needs an input that the case leaves out");
            continue;
        }
        const tn_tensor_storage *known = &inference->tensors[node->inputs[i]].storage;
        if (combination && !port_fits(stored, known->tensor.type, &known->shape))
            return refuse_types(subject);
        const tn_graph_tensor *tensor = &subject->graph->tensors[node->inputs[i]];
        describe(&probe->inputs[i], known, stored);
        probe->inputs[i].is_constant = tensor->is_constant;
        probe->inputs[i].is_shape_only = declared->flags & TN_PORT_SHAPE_ONLY;
        probe->inputs[i].is_value_needed = declared->flags & TN_PORT_VALUE_NEEDED;
        probe->inputs[i].own = subject->c.inputs[atoi(tensor->name + 2)].data;
        if (probe->inputs[i].format != TN_LINEAR &&
            (tensor->is_constant || probe->inputs[i].is_value_needed))
            return refuse(subject, "constants are linear, the combination wants another format");
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_combination_port *stored =
            combination ? tn_combination_output(combination, i) : NULL;
        if (node->outputs[i] == TN_NO_TENSOR ||
            subject->graph->tensors[node->outputs[i]].use_count == 0) {
            if (stored && !stored->is_optional && i == 0)
                return refuse(subject, "the combination needs an output that the case leaves out");
            continue;
        }
        const tn_tensor_storage *known = &inference->tensors[node->outputs[i]].storage;
        if (known->tensor.bytes > MOST_OUTPUT_BYTES)
            return refuse(subject, "the outputs are too large to try");
        if (combination && !port_fits(stored, known->tensor.type, &known->shape))
            return refuse_types(subject);
        describe(&probe->outputs[i], known, stored);
    }
    return true;
}

static tn_status make_probe(tn_subject *subject, bool *out_is_taken) {
    tn_inference_plan plan;
    tn_inference inference = {0};
    tn_combination combination;
    tn_probe *probe = &subject->probe;
    *out_is_taken = false;
    if (subject->combination)
        TN_TRY(tn_combination_parse(subject->arena, subject->combination, &combination));
    tn_status status =
        tn_case_infer(subject->graph, &subject->c, subject->arena, &plan, &inference);
    probe->runtime = subject->runtime;
    probe->op = subject->op;
    probe->kernel = subject->kernel;
    probe->library = subject->library;
    probe->node = &subject->graph->nodes[0];
    probe->input_count = probe->node->input_count;
    probe->output_count = probe->node->output_count;
    probe->threads = 1;
    probe->allocator = tn_allocator_default();
    const bool fits = status == TN_OK && probe->input_count <= TN_PROBE_PORTS &&
                      probe->output_count <= TN_PROBE_OUTPUTS;
    subject->refusal = "the node has more tensors than the check holds";
    if (fits) {
        subject->refusal = NULL;
        *out_is_taken =
            describe_ports(subject, &inference, subject->combination ? &combination : NULL) &&
            tn_probe_accepts(probe);
        if (!*out_is_taken && !subject->refusal)
            subject->refusal = "the kernel's accepts refuses the case";
    }
    tn_inference_deinit(&inference);
    return status;
}

tn_status tn_subject_create(tn_subject *subject, tn_runtime *runtime, const tn_operator *op,
                            const tn_kernel *kernel, const char *combination, const char *text,
                            bool are_constant, const tn_change *change, bool *out_is_taken) {
    const bool asks_all = change && change->asks_all;
    const tn_way built = {.are_constant = are_constant, .asks_all = asks_all, .threads = 1};
    const tn_way reference = {.is_reference = true, .asks_all = asks_all, .threads = 1};
    *subject = (tn_subject){.runtime = runtime,
                            .op = op,
                            .kernel = kernel,
                            .combination = combination,
                            .text = text,
                            .are_constant = are_constant};
    *out_is_taken = false;
    TN_TRY(tn_arena_create(tn_allocator_default(), &subject->arena));
    tn_status status = tn_case_read(subject->arena, op, text, &subject->c);
    if (status == TN_OK && change) status = change_case(subject, change);
    if (status == TN_OK) {
        subject->probe.text = change && (change->axis >= 0 || change->shapes ||
                                         change->left_out > 0 || change->input_count > 0)
                                  ? describe_case(subject, change)
                                  : subject->text;
        tn_trace_case(subject->probe.text);
    }
    if (status == TN_OK) status = tn_case_graph(runtime, op, &subject->c, &built, &subject->graph);
    if (status == TN_OK) status = make_probe(subject, out_is_taken);
    if (status == TN_OK && *out_is_taken && op->reference)
        status = tn_case_run(runtime, op, &subject->c, &reference, &subject->expected);
    if (status == TN_OK && *out_is_taken && change && change->values > TN_VALUES_SMALL)
        status = tn_slack_create(runtime, op, &subject->c, change->values, &subject->expected,
                                 &subject->slack);
    if (status != TN_OK) *out_is_taken = false;
    if (!*out_is_taken) {
        const char *refusal = subject->refusal;
        tn_subject_destroy(subject);
        subject->refusal = refusal;
    }
    return status;
}

bool tn_subject_agrees(tn_subject *subject, const tn_outcome *found, char *why, size_t bytes) {
    tn_slack_allow_numbers(&subject->slack, &subject->expected, found);
    return tn_results_near(&subject->expected, found, subject->slack.of, false, why, bytes);
}

bool tn_subject_shares_constants(const tn_subject *a, const tn_subject *b) {
    for (uint32_t i = 0; i < a->probe.input_count; i++) {
        const tn_probe_port *one = &a->probe.inputs[i], *other = &b->probe.inputs[i];
        if (one->is_given && one->is_constant && !tn_shape_equal(&one->shape, &other->shape))
            return false;
    }
    return true;
}

void tn_subject_destroy(tn_subject *subject) {
    tn_slack_destroy(&subject->slack);
    tn_outcome_free(&subject->expected);
    tn_graph_destroy(subject->graph);
    tn_arena_destroy(subject->arena);
    *subject = (tn_subject){0};
}
