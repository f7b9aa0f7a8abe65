/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about kernels that accept counts (tenon/plugin/counted.h): inputs with more room than
 * elements, with numbers without meaning behind those, and outputs sized by run whose count is
 * stored beside them. See rules.h.
 */
#include "rules/rules.h"
#include "run/sized/counted.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 3 /* more than is there */ };

static bool is_counted(const tn_probe_port *port, uint32_t axis) {
    return port->is_given && port->is_counted && !port->is_constant && !port->is_value_needed &&
           port->format == TN_LINEAR && tn_type_bytes(port->type) > 0 && axis < port->shape.rank &&
           port->shape.extents[axis] > 0;
}

/* Whether an input is counted along the axis, in the set that begins with `first`; `is_alone`:
 * which has no other. */
static bool is_in(const tn_probe *probe, uint32_t input, uint32_t first, uint32_t axis,
                  bool is_alone) {
    const tn_probe_port *port = &probe->inputs[input];
    if (input == first) return true;
    return !is_alone && is_counted(port, axis) &&
           port->shape.extents[axis] == probe->inputs[first].shape.extents[axis];
}

static void give_room(tn_probe_port *port, uint32_t axis) {
    port->counted_axis = axis;
    port->capacity = port->shape.extents[axis] + ROOM;
    port->has_gaps = true;
}

/* The outputs' shapes with more elements. False: there are none. */
static bool infer_longer(const tn_subject *subject, tn_inference *inference, uint32_t first,
                         uint32_t axis, bool is_alone, int64_t more) {
    const tn_graph_node *node = subject->probe.node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_shape shape = subject->probe.inputs[i].shape;
        if (node->inputs[i] == TN_NO_TENSOR || !is_in(&subject->probe, i, first, axis, is_alone))
            continue;
        shape.extents[axis] += more;
        if (tn_inference_set(inference, node->inputs[i], &shape, NULL) != TN_OK) return false;
    }
    return tn_inference_node(inference, 0) == TN_OK;
}

/* 1 + the axis of each output that follows, 0 where none does; false: it is not so simple. */
static bool find_following(tn_subject *subject, uint32_t first, uint32_t axis, bool is_alone,
                           uint32_t *follows) {
    tn_inference_plan plan;
    tn_inference inference = {0};
    const tn_probe *probe = &subject->probe;
    tn_shape longer[TN_COUNTED_PROBES][TN_PROBE_OUTPUTS];
    bool is_sound = tn_case_infer_sorted(subject->graph, &subject->c, subject->arena, &plan,
                                         &inference) == TN_OK;
    for (int k = 0; k < TN_COUNTED_PROBES && is_sound; k++) {
        is_sound = infer_longer(subject, &inference, first, axis, is_alone, tn_counted_more[k]);
        for (uint32_t i = 0; i < probe->output_count && is_sound; i++)
            if (probe->outputs[i].is_given)
                longer[k][i] = inference.tensors[probe->node->outputs[i]].storage.shape;
    }
    for (uint32_t i = 0; i < probe->output_count && is_sound; i++) {
        const tn_shape *const shapes[] = {&longer[0][i], &longer[1][i]};
        if (!probe->outputs[i].is_given) continue;
        follows[i] = tn_counted_follows(&probe->outputs[i].shape, shapes,
                                        probe->inputs[first].shape.extents[axis]);
        is_sound = follows[i] != TN_COUNTED_OTHERWISE && probe->outputs[i].format == TN_LINEAR;
    }
    tn_inference_deinit(&inference);
    return is_sound;
}

static bool run_counted(tn_subject *subject, uint32_t first, uint32_t axis, bool is_alone,
                        tn_verdict *verdict) {
    uint32_t follows[TN_PROBE_OUTPUTS] = {0};
    const tn_probe before = subject->probe;
    tn_probe *probe = &subject->probe;
    char during[96];
    if (!find_following(subject, first, axis, is_alone, follows)) return false;
    for (uint32_t i = 0; i < probe->input_count; i++)
        if (is_in(&before, i, first, axis, is_alone)) give_room(&probe->inputs[i], axis);
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (follows[i] > 0) give_room(&probe->outputs[i], follows[i] - 1);
    const bool is_taken = tn_probe_accepts(probe);
    snprintf(during, sizeof(during), "with a count along axis %u of input %u and room for %d more",
             axis, first, ROOM);
    if (is_taken) tn_rule_run(subject, during, verdict);
    *probe = before;
    if (strcmp(verdict->rule, "writes-all") == 0) verdict->rule[0] = 0;
    return is_taken;
}

static bool run_inputs(tn_subject *subject, tn_verdict *verdict) {
    bool is_tried = false;
    for (uint32_t i = 0; i < subject->probe.input_count; i++)
        for (uint32_t axis = 0; axis < TN_MAX_RANK; axis++)
            for (int is_alone = 0; is_alone < 2 && verdict->outcome == TN_PASSED; is_alone++)
                if (is_counted(&subject->probe.inputs[i], axis))
                    is_tried |= run_counted(subject, i, axis, is_alone, verdict);
    return is_tried;
}

static bool run_outputs(tn_subject *subject, tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    bool is_any = false;
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const tn_port *declared = tn_graph_output_port(probe->op, i);
        probe->outputs[i].is_offered = probe->outputs[i].is_given && probe->outputs[i].is_counted &&
                                       !probe->outputs[i].unbounded &&
                                       (declared->flags & TN_PORT_SIZED_BY_RUN);
        is_any |= probe->outputs[i].is_offered;
    }
    if (is_any) tn_rule_run(subject, "with room for the count of its output", verdict);
    for (uint32_t i = 0; i < probe->output_count; i++)
        probe->outputs[i].is_offered = false;
    return is_any;
}

void tn_rule_counted(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    bool is_tried = run_inputs(&subject, verdict);
    if (verdict->outcome == TN_PASSED) is_tried |= run_outputs(&subject, verdict);
    tn_subject_destroy(&subject);
    if (!is_tried && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no tensor of the case is counted by the combination");
}
