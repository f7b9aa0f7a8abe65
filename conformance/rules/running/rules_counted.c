/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about kernels that accept counts (tenon/plugin/counted.h): inputs of a larger capacity
 * than elements, with numbers without meaning behind those, and outputs sized by run whose count is
 * stored beside them. See rules.h.
 */
#include "rules/rules.h"
#include "run/sized/counted.h"

#include <stdio.h>
#include <string.h>

enum { SPARE = 3 /* more than is there */ };

/* The inputs that are counted together: along `axis`, in the set that begins with `first`;
 * `is_alone`: which has no other. */
typedef struct counting {
    uint32_t first, axis;
    bool is_alone;
} counting;

static bool is_counted(const tn_probe_port *port, uint32_t axis) {
    return port->is_given && port->is_counted && !port->is_constant && !port->is_value_needed &&
           port->format == TN_LINEAR && tn_type_bytes(port->type) > 0 && axis < port->shape.rank;
}

static bool is_in(const tn_probe *probe, uint32_t input, const counting *of) {
    const tn_probe_port *port = &probe->inputs[input];
    if (input == of->first) return true;
    return !of->is_alone && is_counted(port, of->axis) &&
           port->shape.extents[of->axis] == probe->inputs[of->first].shape.extents[of->axis];
}

static void add_capacity(tn_probe_port *port, uint32_t axis, int64_t spare) {
    port->counted_axis = axis;
    port->capacity = port->shape.extents[axis] + spare;
    port->has_gaps = true;
}

/* The outputs' shapes with more elements. False: there are none. */
static bool infer_longer(const tn_subject *subject, tn_inference *inference, const counting *of,
                         int64_t more) {
    const tn_graph_node *node = subject->probe.node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_shape shape = subject->probe.inputs[i].shape;
        if (node->inputs[i] == TN_NO_TENSOR || !is_in(&subject->probe, i, of)) continue;
        shape.extents[of->axis] += more;
        if (tn_inference_set(inference, node->inputs[i], &shape, NULL) != TN_OK) return false;
    }
    return tn_inference_node(inference, 0) == TN_OK;
}

/* 1 + the axis of each output that follows, 0 where none does; false: it is not so simple. */
static bool find_following(tn_subject *subject, const counting *of, uint32_t *follows) {
    tn_inference_plan plan;
    tn_inference inference = {0};
    const tn_probe *probe = &subject->probe;
    tn_shape longer[TN_COUNTED_PROBES][TN_PROBE_OUTPUTS];
    bool is_sound = tn_case_infer_sorted(subject->graph, &subject->c, subject->arena, &plan,
                                         &inference) == TN_OK;
    for (int k = 0; k < TN_COUNTED_PROBES && is_sound; k++) {
        is_sound = infer_longer(subject, &inference, of, tn_counted_more[k]);
        for (uint32_t i = 0; i < probe->output_count && is_sound; i++)
            if (probe->outputs[i].is_given)
                longer[k][i] = inference.tensors[probe->node->outputs[i]].storage.shape;
    }
    for (uint32_t i = 0; i < probe->output_count && is_sound; i++) {
        const tn_shape *const shapes[] = {&longer[0][i], &longer[1][i]};
        if (!probe->outputs[i].is_given) continue;
        follows[i] = tn_counted_follows(&probe->outputs[i].shape, shapes,
                                        probe->inputs[of->first].shape.extents[of->axis]);
        is_sound = follows[i] != TN_COUNTED_OTHERWISE && probe->outputs[i].format == TN_LINEAR;
    }
    tn_inference_deinit(&inference);
    return is_sound;
}

/* Gives the inputs, and the outputs that follow (of `follows`), room for more elements. False: the
 * kernel refuses it. */
static bool set_capacities(tn_probe *probe, const counting *of, const uint32_t *follows,
                           int64_t spare) {
    bool is_member[TN_PROBE_PORTS] = {0};
    for (uint32_t i = 0; i < probe->input_count; i++)
        is_member[i] = is_in(probe, i, of);
    for (uint32_t i = 0; i < probe->input_count; i++)
        if (is_member[i]) add_capacity(&probe->inputs[i], of->axis, spare);
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (follows[i] > 0) add_capacity(&probe->outputs[i], follows[i] - 1, spare);
    return tn_probe_accepts(probe);
}

/* Behind the count lie large values, and the other time NaN. */
static void run_both(tn_subject *subject, const char *during, tn_verdict *verdict) {
    for (int i = 0; i < 2 && verdict->outcome == TN_PASSED; i++) {
        subject->probe.swaps_slack = i;
        tn_rule_run(subject, during, verdict);
    }
    subject->probe.swaps_slack = false;
    if (strcmp(verdict->rule, "writes-all") == 0) verdict->rule[0] = 0;
}

/* ----------------------------------------------------------------------------------------------
 * other counts */

/* The test's case with `count` elements; false: that is not taken. */
static bool make_count(const tn_test *test, const tn_subject *subject, const counting *of,
                       int64_t count, tn_subject *out) {
    tn_shape shapes[TN_PROBE_PORTS];
    const tn_change change = {.axis = -1, .shapes = shapes};
    const tn_graph_node *node = subject->probe.node;
    tn_verdict none = {0};
    for (uint32_t i = 0; i < subject->c.input_count && i < TN_PROBE_PORTS; i++)
        shapes[i] = subject->c.inputs[i].shape;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR || !is_in(&subject->probe, i, of)) continue;
        shapes[tn_subject_case_input(subject, i)].extents[of->axis] = count;
    }
    return tn_test_subject(test, &change, out, &none);
}

/* A context of one capacity runs the case's count, the other one, and the first again. */
static void alternate(tn_subject *const *subjects, int64_t count, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    char during[96];
    snprintf(during, sizeof(during), "with counts that change from run to run (%lld among them)",
             (long long)count);
    if (tn_rule_start(&life, &context, &subjects[0]->probe, verdict))
        for (int round = 0; round < 3 && verdict->outcome == TN_PASSED; round++)
            tn_rule_run_open(&context, subjects[round % 2], &subjects[round % 2]->expected, false,
                             false, during, verdict);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
}

/* `subject` has its capacities already. */
static void run_other_count(const tn_test *test, tn_subject *subject, const counting *of,
                            const uint32_t *follows, int64_t count, tn_verdict *verdict) {
    const int64_t capacity = subject->probe.inputs[of->first].capacity;
    tn_subject other;
    char during[96];
    if (verdict->outcome != TN_PASSED || !make_count(test, subject, of, count, &other)) return;
    snprintf(during, sizeof(during), "with a count of %lld along axis %u of input %u of %lld",
             (long long)count, of->axis, of->first, (long long)capacity);
    if (set_capacities(&other.probe, of, follows, capacity - count)) {
        run_both(&other, during, verdict);
        if (verdict->outcome == TN_PASSED)
            alternate((tn_subject *const[]){subject, &other}, count, verdict);
    }
    tn_subject_destroy(&other);
}

static bool run_counted(const tn_test *test, tn_subject *subject, const counting *of,
                        tn_verdict *verdict) {
    uint32_t follows[TN_PROBE_OUTPUTS] = {0};
    const tn_probe before = subject->probe;
    const int64_t count = before.inputs[of->first].shape.extents[of->axis];
    const int64_t others[] = {0, 1, count - 1, count + SPARE};
    char during[96];
    if (!find_following(subject, of, follows)) return false;
    const bool is_taken = set_capacities(&subject->probe, of, follows, SPARE);
    snprintf(during, sizeof(during), "with a count along axis %u of input %u and room for %d more",
             of->axis, of->first, SPARE);
    if (is_taken) run_both(subject, during, verdict);
    for (size_t i = 0; i < TN_COUNT(others) && is_taken; i++)
        if (others[i] != count && (i == 0 || others[i] != others[i - 1]))
            run_other_count(test, subject, of, follows, others[i], verdict);
    subject->probe = before;
    return is_taken;
}

static bool run_inputs(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    bool is_tried = false;
    for (uint32_t i = 0; i < subject->probe.input_count; i++)
        for (uint32_t axis = 0; axis < TN_MAX_RANK; axis++)
            for (int is_alone = 0; is_alone < 2 && verdict->outcome == TN_PASSED; is_alone++)
                if (is_counted(&subject->probe.inputs[i], axis) &&
                    subject->probe.inputs[i].shape.extents[axis] > 0)
                    is_tried |= run_counted(test, subject, &(counting){i, axis, is_alone}, verdict);
    return is_tried;
}

/* Which outputs may have counts, all of them or one alone; how many that are. */
static uint32_t offer(tn_probe *probe, uint32_t alone) {
    uint32_t offered = 0;
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const tn_port *declared = tn_graph_output_port(probe->op, i);
        probe->outputs[i].is_offered = probe->outputs[i].is_given && probe->outputs[i].is_counted &&
                                       !probe->outputs[i].unbounded &&
                                       (declared->flags & TN_PORT_SIZED_BY_RUN) &&
                                       (alone == TN_PROBE_OUTPUTS || alone == i);
        offered += probe->outputs[i].is_offered;
    }
    return offered;
}

static bool run_outputs(tn_subject *subject, tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    const uint32_t all = offer(probe, TN_PROBE_OUTPUTS);
    if (all > 0) tn_rule_run(subject, "with room for the count of its output", verdict);
    for (uint32_t i = 0; i < probe->output_count && all > 1; i++)
        if (verdict->outcome == TN_PASSED && offer(probe, i) > 0)
            tn_rule_run(subject, "with room for the count of one output alone", verdict);
    for (uint32_t i = 0; i < probe->output_count; i++)
        probe->outputs[i].is_offered = false;
    return all > 0;
}

void tn_rule_counted(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    bool is_tried = run_inputs(test, &subject, verdict);
    if (verdict->outcome == TN_PASSED) is_tried |= run_outputs(&subject, verdict);
    tn_subject_destroy(&subject);
    if (!is_tried && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no tensor of the case is counted by the combination");
}
