/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about kernels that absorb epilogues: bias along axis 1, addition of a tensor like the
 * output, an activation after either or alone; see rules.h. Operators that describe themselves as
 * one are rules_describes.c's.
 */
#include "base/status.h"
#include "epilogue_step.h"
#include "rules.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            x = tn_epilogue_step(&probe->steps[k], x, probe->operands[0].own, &y->shape, i);
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
    for (uint32_t i = 1; i <= TN_ACTIVATION_ELU && verdict->outcome == TN_PASSED; i++) {
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
    if (!test->kernel->epilogues) {
        tn_verdict_skip(verdict, "the kernel absorbs no epilogue");
        return;
    }
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_probe_port *y = &subject.probe.outputs[0];
    tn_verdict_skip(verdict, "output 0 is not of 32-bit floats");
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
