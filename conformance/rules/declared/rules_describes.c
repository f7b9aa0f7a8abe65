/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about operators that describe themselves by facets: what they describe is what their
 * reference computes. See rules.h.
 */
#include "base/status.h"
#include "rules/variants.h"
#include "worker/epilogue_step.h"
#include "worker/probe/frame.h"

#include <math.h>
#include <stdlib.h>

/* What the reference has no number for, like a division by zero, is not asked. */
static void compare_description(const tn_subject *subject, float *values, const char *as,
                                tn_verdict *verdict) {
    tn_outcome described = subject->expected, wanted = subject->expected;
    const float *expected = described.data[0];
    char why[300];
    for (size_t i = 0; i < described.bytes[0] / sizeof(float); i++)
        if (!isfinite(expected[i])) values[i] = expected[i];
    described.count = wanted.count = 1; /* other outputs are not described */
    described.data[0] = (void *)(uintptr_t)values;
    verdict->outcome = TN_PASSED;
    if (!tn_results_equal(&wanted, &described, false, why, sizeof(why)))
        tn_verdict_fail(
            verdict, "described as %s, which gives something else than the reference: %s", as, why);
}

static const float *floats_like_output(const tn_subject *subject, uint32_t input) {
    const tn_probe_port *port = &subject->probe.inputs[input];
    return port->is_given && port->own_type == TN_F32 &&
                   tn_shape_equal(&port->shape, &subject->expected.shapes[0])
               ? port->own
               : NULL;
}

/* An axis of `shape` that may count from the end; false: there is none such. */
static bool find_axis(const tn_shape *shape, int32_t axis, uint32_t *out_axis) {
    const int32_t found = axis < 0 ? axis + (int32_t)shape->rank : axis;
    *out_axis = (uint32_t)found;
    return found >= 0 && (uint32_t)found < shape->rank;
}

static bool is_operand(const tn_subject *subject, const tn_chain_step *step) {
    uint32_t axis = 0;
    const tn_shape *shape = &subject->expected.shapes[0];
    size_t count = 0, wanted = 0;
    if (step->kind == TN_CHAIN_ACTIVATION) /* limits the wrong way round cut to anything */
        return step->activation != TN_ACTIVATION_CLIP || step->alpha <= step->beta;
    if (step->kind > TN_CHAIN_RESIDUAL || step->operand >= subject->probe.input_count) return false;
    const tn_probe_port *port = &subject->probe.inputs[step->operand];
    if (step->kind != TN_CHAIN_RESIDUAL && !find_axis(shape, step->axis, &axis)) return false;
    if (!port->is_given || port->own_type != TN_F32 ||
        tn_shape_count(&port->shape, &count) != TN_OK || tn_shape_count(shape, &wanted) != TN_OK)
        return false;
    return count == (step->kind == TN_CHAIN_RESIDUAL ? wanted : (size_t)shape->extents[axis]);
}

static bool are_windows(const tn_chain_step *step, const tn_shape *x, const tn_shape *y) {
    if (x->rank != y->rank || x->rank < 2 || step->window[0] == 0 || step->window[1] == 0)
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t window = i + 2 < x->rank ? 1 : step->window[i + 2 - x->rank];
        const int64_t whole = x->extents[i] / window;
        if (y->extents[i] != whole && y->extents[i] != whole + (x->extents[i] % window != 0))
            return false;
    }
    return true;
}

static bool are_planes(const tn_shape *x, const tn_shape *y) {
    if (x->rank != y->rank || x->rank < 3) return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (y->extents[i] != (i < 2 ? x->extents[i] : 1)) return false;
    return true;
}

/* What the described step makes of an input, into `values`; false: it cannot be said. */
static bool take_step(const tn_subject *subject, uint32_t input, const tn_chain_step *step,
                      float *values) {
    const tn_probe_port *port = &subject->probe.inputs[input];
    const tn_shape *shape = &subject->expected.shapes[0];
    const float *x = floats_like_output(subject, input);
    if (step->kind == TN_CHAIN_WINDOW_MAX) {
        if (!port->is_given || port->own_type != TN_F32 || !are_windows(step, &port->shape, shape))
            return false;
        tn_epilogue_windows(step, port->own, &port->shape, shape, values);
        return true;
    }
    if (step->kind == TN_CHAIN_PLANE_MEAN) {
        if (!port->is_given || port->own_type != TN_F32) return false;
        tn_epilogue_plane_mean(port->own, &port->shape, values);
        return true;
    }
    if (!x) return false;
    if (step->kind == TN_CHAIN_SOFTMAX) {
        tn_epilogue_softmax(x, shape, values);
        return true;
    }
    if (!is_operand(subject, step)) return false;
    const float *operand =
        step->kind == TN_CHAIN_ACTIVATION ? NULL : subject->probe.inputs[step->operand].own;
    for (size_t i = 0; i < subject->expected.bytes[0] / sizeof(float); i++)
        values[i] = (float)tn_epilogue_step(step, (double)x[i], operand, shape, i);
    return true;
}

static tn_status ask(tn_subject *subject, uint32_t input, const char *name, tn_facet *out_facet) {
    tn_frame frame;
    tn_frame_watch watch;
    TN_TRY(tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_CONSTANTS));
    tn_frame_enter(&frame, &subject->probe, "facet", &watch);
    const tn_status status = subject->op->facet(frame.call, input, name, out_facet);
    tn_frame_finish(&frame, &subject->probe, &watch);
    return status;
}

static void check_facet(tn_subject *subject, uint32_t input, uint32_t kind, float *values,
                        tn_verdict *verdict) {
    const char *name = tn_chain_facet(kind);
    uint64_t buffer[16] = {0};
    tn_facet facet = {.size = sizeof(facet), .what = buffer, .what_bytes = sizeof(buffer)};
    tn_chain_step step;
    if (ask(subject, input, name, &facet) != TN_OK) return;
    if (facet.what != buffer || facet.operand_count > 3 || !tn_chain_read(&facet, kind, &step)) {
        tn_verdict_fail(verdict,
                        "described as %s, but with another variant, operand or struct than that "
                        "facet has",
                        name);
        return;
    }
    if (tn_chain_has_operand(kind) && !is_operand(subject, &step)) {
        tn_verdict_fail(verdict,
                        "described as %s with its input %u, which is not of 32-bit floats, %s",
                        name, step.operand,
                        kind == TN_CHAIN_RESIDUAL ? "or has not as many elements as the output"
                                                  : "or has not one for each index along the axis");
        return;
    }
    if (kind == TN_CHAIN_WINDOW_MAX &&
        (!(facet.flags & TN_FACET_RESHAPES) ||
         !are_windows(&step, &subject->probe.inputs[input].shape, &subject->expected.shapes[0]))) {
        tn_verdict_fail(verdict, "described as the largest of windows of %u x %u, %s",
                        step.window[0], step.window[1],
                        facet.flags & TN_FACET_RESHAPES ? "which gives another shape"
                                                        : "but not with TN_FACET_RESHAPES");
        return;
    }
    if (kind == TN_CHAIN_PLANE_MEAN &&
        (!(facet.flags & TN_FACET_RESHAPES) ||
         !are_planes(&subject->probe.inputs[input].shape, &subject->expected.shapes[0]))) {
        tn_verdict_fail(verdict, "described as the mean of planes, %s",
                        facet.flags & TN_FACET_RESHAPES ? "which gives another shape"
                                                        : "but not with TN_FACET_RESHAPES");
        return;
    }
    if (take_step(subject, input, &step, values))
        compare_description(subject, values, name, verdict);
}

/* The index of an element along an axis. */
static size_t index_along(const tn_shape *shape, uint32_t axis, size_t element) {
    size_t inner = 1;
    for (uint32_t i = axis + 1; i < shape->rank; i++)
        inner *= (size_t)shape->extents[i];
    return element / inner % (size_t)shape->extents[axis];
}

static void check_affine(tn_subject *subject, float *values, tn_verdict *verdict) {
    enum { COUNT = 4096 };
    const tn_shape *shape = &subject->expected.shapes[0];
    const float *x = floats_like_output(subject, 0);
    double *numbers = calloc(2 * COUNT, sizeof(*numbers));
    tn_affine affine = {.size = sizeof(affine), .count = COUNT, .factors = numbers};
    tn_facet facet = {.size = sizeof(facet), .what = &affine, .what_bytes = sizeof(affine)};
    if (x && numbers && (affine.shifts = numbers + COUNT) &&
        ask(subject, 0, TN_FACET_AFFINE, &facet) == TN_OK) {
        uint32_t axis = 0;
        if (find_axis(shape, affine.axis, &axis) &&
            affine.count == (uint64_t)shape->extents[axis]) {
            for (size_t i = 0; i < subject->expected.bytes[0] / sizeof(float); i++) {
                const size_t at = index_along(shape, axis, i);
                values[i] = (float)(affine.factors[at] * (double)x[i] + affine.shifts[at]);
            }
            compare_description(subject, values, "factor * x + shift", verdict);
        } else {
            tn_verdict_fail(verdict,
                            "described as factor * x + shift with %llu factors along axis %d, "
                            "which output 0 of rank %u does not have",
                            (unsigned long long)affine.count, affine.axis, shape->rank);
        }
    }
    free(numbers);
}

/* ----------------------------------------------------------------------------------------------
 * linear in the weights */

static tn_case_input *input_of_port(tn_case *c, uint32_t port) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].port == port) return &c->inputs[i];
    return NULL;
}

static float factor_of(size_t c) {
    return (float)(1 + c % 3);
}

/* With slice c of the weights times f(c), element c along the axis is f(c) * (y - bias) + bias. */
static void check_linear(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    const tn_shape *shape = &subject->expected.shapes[0];
    tn_linear linear = {.size = sizeof(linear), .bias = TN_MAX_RANK + 1000};
    tn_outcome found = {0}, wanted = subject->expected;
    char why[300];
    tn_facet facet = {.size = sizeof(facet), .what = &linear, .what_bytes = sizeof(linear)};
    const tn_status status = ask(subject, 0, TN_FACET_LINEAR, &facet);
    tn_case_input *weights = input_of_port(&subject->c, linear.weights),
                  *bias = input_of_port(&subject->c, linear.bias);
    uint32_t axis = 0, weights_axis = 0;
    if (status != TN_OK || !weights || weights->type != TN_F32 ||
        !find_axis(shape, linear.axis, &axis) ||
        !find_axis(&weights->shape, linear.weights_axis, &weights_axis) ||
        weights->shape.extents[weights_axis] != shape->extents[axis] ||
        (bias &&
         (bias->type != TN_F32 || bias->bytes != (size_t)shape->extents[axis] * sizeof(float))))
        return; /* the builder does not use such a one */
    float *w = weights->data, *values = malloc(wanted.bytes[0] + sizeof(float));
    for (size_t i = 0; i < weights->bytes / sizeof(float); i++)
        w[i] *= factor_of(index_along(&weights->shape, weights_axis, i));
    if (values && tn_case_run(test->runtime, test->op, &subject->c, &reference, &found) == TN_OK) {
        const float *y = subject->expected.data[0];
        for (size_t i = 0; i < wanted.bytes[0] / sizeof(float); i++) {
            const size_t c = index_along(shape, axis, i);
            const float b = bias ? ((const float *)bias->data)[c] : 0;
            values[i] = factor_of(c) * (y[i] - b) + b;
        }
        wanted.count = 1;
        wanted.data[0] = values;
        verdict->outcome = TN_PASSED;
        tn_outcome first = found;
        first.count = 1;
        if (!tn_results_equal(&wanted, &first, false, why, sizeof(why)))
            tn_verdict_fail(verdict,
                            "described as linear in input %u along axis %d, but with its slices "
                            "multiplied %s",
                            linear.weights, linear.weights_axis, why);
    }
    free(values);
    tn_outcome_free(&found);
}

/* ----------------------------------------------------------------------------------------------
 * inputs that are no constants */

/* Inputs of which each is constant or not, whatever the others are: those behind them are as one of
 * them. In variants of a case it is every other input. */
enum { FREELY = 5, FREELY_IN_VARIANTS = 2 };

/* The data of what is no constant is null, of any input and of any number of them. What is
 * answered all the same is true: a factor is one for all that those inputs may hold. */
static void check_unknown(tn_subject *subject, uint32_t freely, float *values,
                          tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    bool were_constant[TN_PROBE_PORTS];
    const uint32_t sets = 1u << (probe->input_count < freely ? probe->input_count : freely);
    for (uint32_t i = 0; i < probe->input_count; i++)
        were_constant[i] = probe->inputs[i].is_constant;
    for (uint32_t set = 0; set < sets && verdict->outcome != TN_FAILED; set++) {
        for (uint32_t i = 0; i < probe->input_count; i++)
            probe->inputs[i].is_constant = set >> i % freely & 1;
        tn_rule_ask_node(subject);
        if (values && subject->op->facet) check_affine(subject, values, verdict);
    }
    for (uint32_t i = 0; i < probe->input_count; i++)
        probe->inputs[i].is_constant = were_constant[i];
}

static void check_descriptions(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    const bool is_plain = subject.expected.count > 0 && subject.expected.types[0] == TN_F32;
    tn_verdict_skip(verdict, is_plain ? "the node does not describe itself, or not as what is known"
                                      : "output 0 is not of 32-bit floats");
    float *values = is_plain ? malloc(subject.expected.bytes[0] + sizeof(float)) : NULL;
    for (uint32_t i = 0; values && test->op->facet && i < subject.probe.input_count; i++)
        for (uint32_t kind = 1; kind < TN_CHAIN_KINDS; kind++)
            if (verdict->outcome != TN_FAILED) check_facet(&subject, i, kind, values, verdict);
    if (verdict->outcome != TN_FAILED)
        check_unknown(&subject, change->plants_fields ? FREELY_IN_VARIANTS : FREELY, values,
                      verdict);
    if (values && test->op->facet && verdict->outcome != TN_FAILED)
        check_affine(&subject, values, verdict);
    if (values && test->op->facet && verdict->outcome != TN_FAILED)
        check_linear(test, &subject, verdict);
    free(values);
    tn_subject_destroy(&subject);
}

void tn_rule_describes(const tn_test *test, tn_verdict *verdict) {
    if (!test->op->facet) {
        tn_verdict_skip(verdict, "the operator describes itself by no facet");
        return;
    }
    tn_test constant = *test;
    constant.are_constant = test->op->input_count > 1;
    tn_claim_check(&constant, check_descriptions, verdict);
    const tn_change wide = {.seed = test->seed, .values = TN_VALUES_WIDE, .axis = -1};
    tn_verdict beyond = {0}; /* what the case's own numbers are within: 6 of relu6 */
    if (verdict->outcome != TN_FAILED) check_descriptions(test, &wide, &beyond);
    if (beyond.outcome == TN_FAILED) *verdict = beyond;
}
