/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator's case to a probe; see subject.h. */
#include "subject.h"
#include "base/status.h"
#include "worker/probe/frame.h"
#include "plugin/fields/combination.h"
#include "plugin/fields/kernel_fields.h"
#include "worker/watch/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * ports */

enum { MOST_OUTPUT_BYTES = 1 << 26 }; /* what is tried in other shapes shall not take long */

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
    port->is_strided = stored && stored->is_strided;
    port->is_counted = stored && stored->is_counted;
}

static bool refuse(tn_subject *subject, const char *why) {
    subject->refusal = why;
    return false;
}

static bool refuse_types(tn_subject *subject) {
    const char *combination = subject->combination;
    if (!combination)
        return refuse(subject, "a kernel without combinations gets types of the group any alone");
    return refuse(subject, strstr(combination, "16") || strchr(combination, 'q')
                               ? "the combination has lower types than the case: stored-types "
                                 "tries those"
                               : "the combination has other types or formats than the case");
}

/* What is stored before a chain: of a type that the combination names, or that the port has. */
static bool stored_fits(const tn_subject *subject, uint32_t input,
                        const tn_combination_port *stored) {
    const tn_before *before = &subject->before;
    return port_fits(stored, before->type, before->shape) &&
           (!stored->is_every ||
            tn_graph_input_takes(subject->graph->nodes[0].entry, input, before->type));
}

static void set_before(tn_probe_port *port, const tn_before *before) {
    port->type = port->own_type = before->type;
    port->shape = *before->shape;
    port->own = before->own;
    port->is_constant = port->is_strided = port->is_counted = false;
}

uint32_t tn_subject_case_input(const tn_subject *subject, uint32_t input) {
    const tn_graph_node *node = &subject->graph->nodes[0];
    return (uint32_t)atoi(subject->graph->tensors[node->inputs[input]].name + 2);
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
        const bool is_before = i + 1 == subject->before.port;
        if (combination && !(is_before ? stored_fits(subject, i, stored)
                                       : port_fits(stored, known->tensor.type, &known->shape)))
            return refuse_types(subject);
        const tn_graph_tensor *tensor = &subject->graph->tensors[node->inputs[i]];
        describe(&probe->inputs[i], known, stored);
        probe->inputs[i].is_constant = tensor->is_constant;
        probe->inputs[i].is_shape_only = declared->flags & TN_PORT_SHAPE_ONLY;
        probe->inputs[i].is_value_needed = declared->flags & TN_PORT_VALUE_NEEDED;
        probe->inputs[i].own = subject->c.inputs[tn_subject_case_input(subject, i)].data;
        if (is_before) set_before(&probe->inputs[i], &subject->before);
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
        const tn_inferred_tensor *inferred = &inference->tensors[node->outputs[i]];
        const tn_tensor_storage *known = &inferred->storage;
        if (known->tensor.bytes > MOST_OUTPUT_BYTES)
            return refuse(subject, "the outputs are too large to try");
        if (combination && !port_fits(stored, known->tensor.type, &known->shape))
            return refuse_types(subject);
        describe(&probe->outputs[i], known, stored);
        probe->outputs[i].unbounded = inferred->unbounded;
    }
    return true;
}

/* From here on the node's fields are guarded. Their pages have an address that stays. */
static tn_status guard_fields(tn_subject *subject) {
    subject->fields = tn_arena_allocate(subject->arena, 1, sizeof(*subject->fields));
    if (!subject->fields) return tn_fail_memory("a case's fields");
    *subject->fields = (tn_field_pages){0};
    tn_field_pages_move(subject->fields, subject->arena, subject->op,
                        subject->graph->nodes[0].params);
    return TN_OK;
}

/* The kernel's own parameters; a case's fields may be none of them. */
static tn_status fill_params(tn_subject *subject, bool *out_fits) {
    tn_probe *probe = &subject->probe;
    *out_fits = true;
    probe->kernel_params = NULL;
    if (!probe->kernel) return TN_OK;
    const tn_status status = tn_kernel_fields_fill(subject->arena, probe->kernel, subject->op,
                                                   probe->node->params, &probe->kernel_params);
    *out_fits =
        status == TN_OK || refuse(subject, "the kernel has fields that the case's cannot fill");
    return status == TN_ERROR_MEMORY ? status : TN_OK;
}

/* As a build reads it: a kernel without a table has one as well. */
static const char *combination_of(const tn_subject *subject) {
    const bool is_any = !subject->combination && subject->kernel && !subject->kernel->combination;
    return is_any ? TN_COMBINATION_ANY : subject->combination;
}

static tn_status make_probe(tn_subject *subject, bool *out_is_taken) {
    const char *text = combination_of(subject);
    tn_inference_plan plan;
    tn_inference inference = {0};
    tn_combination combination;
    tn_probe *probe = &subject->probe;
    *out_is_taken = false;
    if (text) TN_TRY(tn_combination_parse(subject->arena, text, TN_ABI_MINOR, &combination));
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
        bool are_filled = false;
        subject->refusal = NULL;
        status = fill_params(subject, &are_filled);
        *out_is_taken = are_filled &&
                        describe_ports(subject, &inference, text ? &combination : NULL) &&
                        (subject->skips_accepts || tn_probe_accepts(probe));
        if (!*out_is_taken && !subject->refusal)
            subject->refusal = "the kernel's accepts refuses the case";
    }
    tn_inference_deinit(&inference);
    return status;
}

/* An operator that may not be folded may be one of random numbers: then its reference shows it. */
static tn_status find_random(tn_subject *subject, const tn_case_options *reference) {
    tn_outcome again = {0};
    char why[8];
    if (!(subject->op->traits & TN_OPERATOR_NO_FOLD)) return TN_OK;
    TN_TRY(tn_case_run(subject->runtime, subject->op, &subject->c, reference, &again));
    subject->expected.is_random =
        !tn_results_equal(&subject->expected, &again, true, why, sizeof(why));
    subject->probe.is_random = subject->expected.is_random;
    tn_outcome_free(&again);
    return TN_OK;
}

/* One text; false: there are no more. */
static bool ask_combination(tn_subject *subject, uint32_t index, char *text) {
    tn_frame frame;
    tn_frame_watch watch;
    tn_probe *probe = &subject->probe;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return false;
    text[0] = 0;
    tn_frame_enter(&frame, probe, "combination", &watch);
    const tn_status status =
        probe->kernel->combination(frame.call, index, text, TN_KERNEL_TEXT_BYTES);
    tn_frame_finish(&frame, probe, &watch);
    return status == TN_OK && memchr(text, 0, TN_KERNEL_TEXT_BYTES);
}

static bool is_in_table(const tn_subject *subject) {
    const tn_kernel *kernel = subject->kernel;
    for (uint32_t i = 0; i < kernel->combination_count; i++)
        if (strcmp(kernel->combinations[i], subject->combination) == 0) return true;
    return false;
}

/* Whether the kernel answers its combination for the changed case, too. */
static tn_status find_offered(const tn_subject *subject, const tn_change *change,
                              bool *out_is_offered) {
    tn_subject plain;
    char asked[TN_KERNEL_TEXT_BYTES];
    bool is_taken = false, fits = false;
    *out_is_offered = true;
    if (!change || !subject->kernel || !subject->kernel->combination || !subject->combination ||
        is_in_table(subject))
        return TN_OK;
    TN_TRY(tn_subject_create(&plain, subject->runtime, subject->op, NULL, NULL, subject->text,
                             subject->are_constant, change, &is_taken));
    if (!is_taken) return TN_OK;
    plain.kernel = plain.probe.kernel = subject->kernel;
    const tn_status status = fill_params(&plain, &fits);
    *out_is_offered = false;
    for (uint32_t i = 0; fits && !*out_is_offered && i < TN_SUBJECT_COMBINATIONS &&
                         ask_combination(&plain, i, asked);
         i++)
        *out_is_offered = strcmp(asked, subject->combination) == 0;
    tn_subject_destroy(&plain);
    return status;
}

tn_status tn_subject_create(tn_subject *subject, tn_runtime *runtime, const tn_operator *op,
                            const tn_kernel *kernel, const char *combination, const char *text,
                            bool are_constant, const tn_change *change, bool *out_is_taken) {
    const bool asks_all = change && change->asks_all;
    const tn_case_options built = {.are_constant = are_constant,
                                   .asks_all = asks_all,
                                   .provided = change ? change->provided : 0,
                                   .threads = 1};
    const tn_case_options reference = {.is_reference = true, .asks_all = asks_all, .threads = 1};
    *subject = (tn_subject){.runtime = runtime,
                            .op = op,
                            .kernel = kernel,
                            .combination = combination,
                            .text = text,
                            .are_constant = are_constant,
                            .asks_all = asks_all,
                            .skips_accepts = change && change->skips_accepts};
    if (change) subject->before = change->before;
    bool is_offered = true;
    *out_is_taken = false;
    TN_TRY(tn_arena_create(tn_allocator_default(), &subject->arena));
    tn_status status = tn_case_read(subject->arena, op, text, &subject->c);
    if (status == TN_OK && change) status = tn_subject_change(subject, change);
    if (status == TN_OK) {
        subject->probe.text = change && (change->axis >= 0 || change->shapes ||
                                         change->left_out > 0 || change->input_count > 0 ||
                                         change->set_input > 0 || change->first_type != TN_NONE)
                                  ? tn_subject_describe(subject, change)
                                  : subject->text;
        tn_trace_case(subject->probe.text);
    }
    if (status == TN_OK) status = tn_case_graph(runtime, op, &subject->c, &built, &subject->graph);
    if (status == TN_OK) status = guard_fields(subject);
    if (status == TN_OK) status = find_offered(subject, change, &is_offered);
    if (status == TN_OK && is_offered) status = make_probe(subject, out_is_taken);
    if (!is_offered) refuse(subject, "the kernel does not answer the combination for the case");
    if (status == TN_OK && *out_is_taken && op->reference)
        status = tn_case_run(runtime, op, &subject->c, &reference, &subject->expected);
    if (status == TN_OK && *out_is_taken && op->reference)
        status = find_random(subject, &reference);
    if (status == TN_OK && *out_is_taken && change && change->values > TN_VALUES_SMALL)
        status = tn_slack_create(op, &subject->c, change->values, asks_all, &subject->expected,
                                 &subject->slack);
    if (status != TN_OK) *out_is_taken = false;
    if (!*out_is_taken) {
        const char *refusal = subject->refusal;
        tn_subject_destroy(subject);
        subject->refusal = refusal;
    }
    return status;
}

tn_status tn_subject_combinations(tn_arena *arena, tn_runtime *runtime, const tn_operator *op,
                                  const tn_kernel *kernel, const char *text, bool are_constant,
                                  uint32_t *out_count, const char **out_texts) {
    tn_subject subject;
    char asked[TN_KERNEL_TEXT_BYTES];
    bool is_taken = false, fits = false;
    *out_count = 0;
    /* As the reference has the case: linear, in the tensors' own types. */
    TN_TRY(
        tn_subject_create(&subject, runtime, op, NULL, NULL, text, are_constant, NULL, &is_taken));
    if (!is_taken) return TN_OK;
    subject.kernel = subject.probe.kernel = kernel;
    tn_status status = fill_params(&subject, &fits);
    while (status == TN_OK && fits && *out_count < TN_SUBJECT_COMBINATIONS &&
           ask_combination(&subject, *out_count, asked)) {
        out_texts[*out_count] = tn_arena_text(arena, asked);
        if (!out_texts[(*out_count)++]) status = tn_fail_memory("a combination");
    }
    tn_subject_destroy(&subject);
    return status;
}

bool tn_subject_agrees(tn_subject *subject, const tn_outcome *found, char *why, size_t bytes) {
    tn_slack *slack = &subject->slack;
    tn_slack_allow_values(slack, &subject->expected, found);
    if (tn_results_near(&subject->expected, found, slack->of, false, why, bytes)) return true;
    if (slack->is_moved || slack->count == 0) return false;
    return tn_slack_move(subject->runtime, subject->op, &subject->c, &subject->expected, slack) !=
               TN_OK ||
           tn_results_near(&subject->expected, found, slack->of, false, why, bytes);
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
    if (subject->fields) tn_field_pages_retire(subject->fields);
    tn_arena_destroy(subject->arena);
    *subject = (tn_subject){0};
}
