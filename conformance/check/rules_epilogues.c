/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about epilogues: kernels that absorb them (bias along axis 1, addition of a tensor like the
 * output, an activation after either or alone), and operators that describe themselves as one; see
 * rules.h.
 */
#include "base/status.h"
#include "frame.h"
#include "rules.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the header says of an activation. */
static double activate(const tn_epilogue *step, double x) {
    const double a = (double)step->alpha, b = (double)step->beta;
    switch (step->activation) {
    case TN_ACTIVATION_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case TN_ACTIVATION_CLIP:
        return isnan(x) ? x : fmin(fmax(x, a), b);
    case TN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case TN_ACTIVATION_TANH:
        return tanh(x);
    case TN_ACTIVATION_HARD_SIGMOID:
        return fmin(fmax(a * x + b, 0), 1);
    case TN_ACTIVATION_HARD_SWISH:
        return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    case TN_ACTIVATION_GELU_ERF:
        return x * 0.5 * (1 + erf(x * M_SQRT1_2));
    case TN_ACTIVATION_GELU_TANH:
        return x * 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case TN_ACTIVATION_SWISH:
        return x / (1 + exp(-a * x));
    case TN_ACTIVATION_ELU:
        return x < 0 ? a * expm1(x) : x;
    default:
        return NAN;
    }
}
enum { MOST_ACTIVATION = TN_ACTIVATION_ELU };

/* A step on element `index` of a tensor of this shape. */
static double after_step(const tn_epilogue *step, double x, const float *operand,
                         const tn_shape *shape, size_t index) {
    size_t inner = 1;
    if (step->kind == TN_EPILOGUE_ACTIVATION) return activate(step, x);
    for (uint32_t i = (uint32_t)step->axis + 1; i < shape->rank; i++)
        inner *= (size_t)shape->extents[i];
    const size_t along = index / inner % (size_t)shape->extents[step->axis];
    const double number = (double)operand[step->kind == TN_EPILOGUE_ADD ? index : along];
    return step->kind == TN_EPILOGUE_SCALE ? x * number : x + number;
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

static const char *const kind_names[] = {"", "bias", "scale", "addition"};

/* As near as sums of the size that they had before may be; what an activation makes of NaN and
 * infinities is left open. */
static bool is_as_wanted(const tn_outcome *before, const float *wanted, const tn_outcome *found,
                         char *why, size_t bytes) {
    const float *x = before->data[0], *y = found->count ? found->data[0] : NULL;
    const size_t count = before->bytes[0] / sizeof(*x);
    double largest = 1e-6;
    for (size_t i = 0; i < count; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    snprintf(why, bytes, "output 0 has another size");
    if (!y || found->bytes[0] != before->bytes[0]) return false;
    for (size_t i = 0; i < count; i++) {
        const double a = (double)wanted[i], b = (double)y[i];
        if (!isfinite(x[i]) || fabs(a - b) <= 4e-5 * largest + 1e-4 * fabs(a)) continue;
        snprintf(why, bytes, "output 0, element %zu is %.9g, expected %.9g", i, b, a);
        return false;
    }
    return true;
}

/* The chain in probe->steps, against the reference's numbers and what the steps make of them. */
static void check_chain(tn_subject *subject, uint32_t count, tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    const tn_probe_port *y = &probe->outputs[0];
    const size_t elements = subject->expected.bytes[0] / sizeof(float);
    float *values = malloc(subject->expected.bytes[0] + sizeof(float));
    if (!values) return;
    for (size_t i = 0; i < elements; i++) {
        double x = (double)((const float *)subject->expected.data[0])[i];
        for (uint32_t k = 0; k < count; k++)
            x = after_step(&probe->steps[k], x, probe->operands[0].own, &y->shape, i);
        values[i] = (float)x;
    }
    probe->step_count = count;
    if (tn_probe_accepts(probe)) {
        tn_outcome found = {0};
        char why[300];
        const tn_epilogue *last = &probe->steps[count - 1];
        if (tn_probe_once(probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(verdict, probe, "with an epilogue");
        else if (!is_as_wanted(&subject->expected, values, &found, why, sizeof(why)))
            tn_verdict_fail(verdict, "with %s%s%s%.0u: %s",
                            probe->steps[0].kind < 4 ? kind_names[probe->steps[0].kind] : "",
                            count > 1 ? " and " : "",
                            last->kind == TN_EPILOGUE_ACTIVATION ? "activation " : "",
                            last->kind == TN_EPILOGUE_ACTIVATION ? last->activation : 0, why);
        tn_outcome_free(&found);
    }
    probe->step_count = 0;
    free(values);
}

/* An operand's numbers: of the output's shape, or one for each place along axis 1. */
static bool set_operand(tn_subject *subject, uint32_t kind) {
    tn_probe *probe = &subject->probe;
    const tn_probe_port *y = &probe->outputs[0];
    const bool is_add = kind == TN_EPILOGUE_ADD;
    const tn_shape shape =
        is_add ? y->shape : (tn_shape){.rank = 1, .extents = {y->shape.extents[1]}};
    size_t count = 0;
    if (tn_shape_count(&shape, &count) != TN_OK) return false;
    float *operand = tn_arena_allocate(subject->arena, count + 1, sizeof(*operand));
    for (size_t i = 0; operand && i < count; i++)
        operand[i] = (float)((double)(i * 37 % 101) / 25.0 - 2.0);
    probe->operands[0] = (tn_probe_port){.is_given = operand != NULL,
                                         .is_constant = !is_add,
                                         .type = y->type,
                                         .own_type = y->type,
                                         .format = is_add ? y->format : TN_LINEAR,
                                         .shape = shape,
                                         .own = operand};
    probe->steps[0] = (tn_epilogue){
        .size = sizeof(tn_epilogue), .kind = kind, .axis = is_add ? 0 : 1, .type = y->type};
    return operand != NULL;
}

/* After what stands in `first` steps: nothing, and each activation that the kernel lists. */
static void check_activations(const tn_test *test, tn_subject *subject, uint32_t first,
                              tn_verdict *verdict) {
    const tn_kernel *kernel = test->kernel;
    if (first > 0) check_chain(subject, first, verdict);
    if (!(kernel->epilogues & TN_EPILOGUE_BIT(TN_EPILOGUE_ACTIVATION))) return;
    for (uint32_t i = 1; i <= MOST_ACTIVATION && verdict->outcome == TN_PASSED; i++) {
        if (kernel->activations && !(kernel->activations >> i & 1)) continue;
        subject->probe.steps[first] =
            (tn_epilogue){.size = sizeof(tn_epilogue),
                          .kind = TN_EPILOGUE_ACTIVATION,
                          .activation = i,
                          .alpha = i == TN_ACTIVATION_CLIP ? -0.3f : 0.25f,
                          .beta = 0.75f,
                          .type = subject->probe.outputs[0].type};
        check_chain(subject, first + 1, verdict);
    }
}

void tn_rule_epilogues(const tn_test *test, tn_verdict *verdict) {
    static const uint32_t kinds[] = {0, TN_EPILOGUE_BIAS, TN_EPILOGUE_SCALE, TN_EPILOGUE_ADD};
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!test->kernel->epilogues || !tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_probe_port *y = &subject.probe.outputs[0];
    if (y->is_given && y->type == TN_F32 && subject.expected.count > 0) {
        verdict->outcome = TN_PASSED;
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            const bool is_per_channel =
                kinds[i] == TN_EPILOGUE_BIAS || kinds[i] == TN_EPILOGUE_SCALE;
            if (kinds[i] && !(test->kernel->epilogues & TN_EPILOGUE_BIT(kinds[i]))) continue;
            if ((is_per_channel && y->shape.rank < 2) || verdict->outcome != TN_PASSED) continue;
            if (kinds[i] == 0 || set_operand(&subject, kinds[i]))
                check_activations(test, &subject, kinds[i] != 0, verdict);
            subject.probe.operands[0].is_given = false;
        }
    }
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * operators that are epilogues, or affine */

static void compare_description(const tn_subject *subject, const float *values, const char *as,
                                tn_verdict *verdict) {
    tn_outcome described = subject->expected;
    char why[300];
    described.count = 1;
    described.data[0] = (void *)(uintptr_t)values;
    verdict->outcome = TN_PASSED;
    if (!tn_results_equal(&subject->expected, &described, false, why, sizeof(why)))
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

static bool is_operand(const tn_subject *subject, const tn_epilogue *step) {
    const tn_shape *shape = &subject->expected.shapes[0];
    size_t count = 0, wanted = 0;
    if (step->kind == TN_EPILOGUE_ACTIVATION) return true;
    if (step->kind > TN_EPILOGUE_ADD || step->operand >= subject->probe.input_count) return false;
    const tn_probe_port *port = &subject->probe.inputs[step->operand];
    if (step->kind != TN_EPILOGUE_ADD && (step->axis < 0 || (uint32_t)step->axis >= shape->rank))
        return false;
    if (!port->is_given || port->own_type != TN_F32 ||
        tn_shape_count(&port->shape, &count) != TN_OK || tn_shape_count(shape, &wanted) != TN_OK)
        return false;
    return count == (step->kind == TN_EPILOGUE_ADD ? wanted : (size_t)shape->extents[step->axis]);
}

static void check_epilogue(tn_subject *subject, uint32_t input, float *values,
                           tn_verdict *verdict) {
    tn_epilogue step = {.size = sizeof(step)};
    tn_frame frame;
    const float *x = floats_like_output(subject, input);
    if (!x || tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return;
    const tn_status status = subject->op->epilogue(frame.call, input, &step);
    tn_frame_close(&frame);
    if (status != TN_OK || !is_operand(subject, &step)) return;
    const float *operand =
        step.kind == TN_EPILOGUE_ACTIVATION ? NULL : subject->probe.inputs[step.operand].own;
    for (size_t i = 0; i < subject->expected.bytes[0] / sizeof(float); i++)
        values[i] =
            (float)after_step(&step, (double)x[i], operand, &subject->expected.shapes[0], i);
    compare_description(subject, values, "an epilogue", verdict);
}

static void check_affine(tn_subject *subject, float *values, tn_verdict *verdict) {
    enum { ROOM = 4096 };
    const tn_shape *shape = &subject->expected.shapes[0];
    const float *x = floats_like_output(subject, 0);
    double *numbers = calloc(2 * ROOM, sizeof(*numbers));
    tn_affine affine = {.size = sizeof(affine), .count = ROOM, .factors = numbers};
    tn_frame frame;
    if (x && numbers &&
        tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_VALUES) == TN_OK) {
        affine.shifts = numbers + ROOM;
        const tn_status status = subject->op->affine(frame.call, &affine);
        tn_frame_close(&frame);
        if (status == TN_OK && affine.axis >= 0 && (uint32_t)affine.axis < shape->rank &&
            affine.count == (uint64_t)shape->extents[affine.axis]) {
            size_t inner = 1;
            for (uint32_t i = (uint32_t)affine.axis + 1; i < shape->rank; i++)
                inner *= (size_t)shape->extents[i];
            for (size_t i = 0; i < subject->expected.bytes[0] / sizeof(float); i++) {
                const size_t at = i / inner % affine.count;
                values[i] = (float)(affine.factors[at] * (double)x[i] + affine.shifts[at]);
            }
            compare_description(subject, values, "factor * x + shift", verdict);
        }
    }
    free(numbers);
}

void tn_rule_describes(const tn_test *test, tn_verdict *verdict) {
    tn_test constant = *test;
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    constant.are_constant = test->op->input_count > 1;
    if ((!test->op->epilogue && !test->op->affine) ||
        !tn_test_subject(&constant, NULL, &subject, verdict))
        return;
    const bool is_plain = subject.expected.count > 0 && subject.expected.types[0] == TN_F32;
    float *values = is_plain ? malloc(subject.expected.bytes[0] + sizeof(float)) : NULL;
    for (uint32_t i = 0; values && test->op->epilogue && i < subject.probe.input_count; i++)
        if (verdict->outcome != TN_FAILED) check_epilogue(&subject, i, values, verdict);
    if (values && test->op->affine && verdict->outcome != TN_FAILED)
        check_affine(&subject, values, verdict);
    free(values);
    tn_subject_destroy(&subject);
}
