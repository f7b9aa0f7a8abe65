/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what comes out of one run; see rules.h. */
#include "base/status.h"
#include "rules.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_deterministic(const tn_test *test) {
    return !test->kernel || (test->kernel->traits & TN_KERNEL_DETERMINISTIC);
}

/* One whole life, compared with `expected`; false after a failure. */
static bool run_and_compare(tn_probe *probe, const tn_outcome *expected, bool is_at_end,
                            bool is_in_place, uint8_t poison, const char *during,
                            tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    if (tn_probe_once(probe, is_at_end, is_in_place, poison, &found) != TN_OK) {
        tn_verdict_error(verdict, probe, during);
        return false;
    }
    const bool is_equal = tn_results_equal(expected, &found, false, why, sizeof(why));
    if (!is_equal) tn_verdict_fail(verdict, "%s%s%s", during, during[0] ? ": " : "", why);
    tn_outcome_free(&found);
    return is_equal;
}

void tn_rule_matches_reference(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, "", verdict))
        run_and_compare(&subject.probe, &subject.expected, false, false, 0xFF, "", verdict);
    tn_subject_destroy(&subject);
}

void tn_rule_writes_all(const tn_test *test, tn_verdict *verdict) {
    static const uint8_t poisons[] = {0x00, 0xFF, 0x3C};
    tn_subject subject;
    tn_outcome first = {0};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    for (size_t i = 0; i < sizeof(poisons) && verdict->outcome == TN_PASSED; i++) {
        tn_outcome found = {0};
        char why[300];
        if (tn_probe_once(&subject.probe, true, false, poisons[i], i == 0 ? &first : &found) !=
            TN_OK)
            tn_verdict_error(verdict, &subject.probe, "");
        else if (i > 0 &&
                 !tn_results_equal(&first, &found, is_deterministic(test), why, sizeof(why)))
            tn_verdict_fail(verdict, "with outputs and workspace full of 0x%02x before: %s",
                            poisons[i], why);
        tn_outcome_free(&found);
    }
    tn_outcome_free(&first);
    tn_subject_destroy(&subject);
}

void tn_rule_other_shapes(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_shape shape = subject.c.input_count ? subject.c.inputs[0].shape : (tn_shape){0};
    tn_subject_destroy(&subject);
    uint32_t tried = 0;
    for (uint32_t axis = 0; axis < shape.rank && verdict->outcome == TN_PASSED; axis++) {
        const int64_t extents[] = {shape.extents[axis] + 1, 1, 0, 2 * shape.extents[axis] + 3, 33};
        for (size_t i = 0; i < 5 && verdict->outcome == TN_PASSED; i++) {
            const tn_change change = {.axis = (int32_t)axis, .extent = extents[i]};
            tn_verdict none = {0};
            char during[80];
            if (extents[i] > 4096 || !tn_test_subject(test, &change, &subject, &none)) continue;
            snprintf(during, sizeof(during), "axis %u of the inputs with %lld elements", axis,
                     (long long)extents[i]);
            run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, during, verdict);
            tn_subject_destroy(&subject);
            tried++;
        }
    }
    if (tried == 0 && verdict->outcome == TN_PASSED) verdict->outcome = TN_SKIPPED;
}

/* Puts special numbers at every fourth place of the float inputs that are not needed values. */
static bool make_special(tn_subject *subject) {
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};
    bool is_any = false;
    for (uint32_t i = 0; i < subject->c.input_count; i++) {
        tn_case_input *input = &subject->c.inputs[i];
        size_t count = 0;
        if (!tn_type_is_float(input->type) || input->has_values) continue;
        if (tn_shape_count(&input->shape, &count) != TN_OK) continue;
        for (size_t k = i; k < count; k += 4) {
            tn_element_set_f64(input->data, input->type, k, special[k / 4 % 6]);
            is_any = true;
        }
    }
    return is_any;
}

void tn_rule_special_values(const tn_test *test, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    const tn_way reference = {.is_reference = true, .threads = 1};
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    /* elsewhere the order of additions decides between NaN and infinity */
    if (!(test->op->traits & TN_OPERATOR_ELEMENTWISE) || test->are_constant) return;
    if (!tn_test_subject(test, &copy, &subject, verdict)) return;
    tn_outcome_free(&subject.expected);
    if (make_special(&subject) &&
        tn_case_run(test->runtime, test->op, &subject.c, &reference, &subject.expected) == TN_OK) {
        verdict->outcome = TN_PASSED;
        run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, "", verdict);
    }
    tn_subject_destroy(&subject);
}

void tn_rule_threads(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_outcome single = {0};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (tn_probe_once(&subject.probe, true, false, 0xFF, &single) != TN_OK)
        tn_verdict_error(verdict, &subject.probe, "");
    for (uint32_t threads = 2; threads <= 3 && verdict->outcome == TN_PASSED; threads++) {
        tn_outcome found = {0};
        char why[300];
        subject.probe.threads = threads;
        if (tn_probe_once(&subject.probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(verdict, &subject.probe, "on several threads");
        else if (!tn_results_equal(&single, &found, is_deterministic(test), why, sizeof(why)))
            tn_verdict_fail(verdict, "on %u threads, against one: %s", threads, why);
        tn_outcome_free(&found);
    }
    tn_outcome_free(&single);
    tn_subject_destroy(&subject);
}

void tn_rule_in_place(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!(test->kernel->traits & TN_KERNEL_IN_PLACE) ||
        !tn_test_subject(test, NULL, &subject, verdict))
        return;
    const tn_probe_port *x = &subject.probe.inputs[0], *y = &subject.probe.outputs[0];
    size_t in = 0, out = 1;
    if (x->is_given && !x->is_constant && !x->is_shape_only && y->is_given &&
        tn_format_bytes(x->format, x->type, &x->shape, &in) == TN_OK &&
        tn_format_bytes(y->format, y->type, &y->shape, &out) == TN_OK && in == out) {
        verdict->outcome = TN_PASSED;
        run_and_compare(&subject.probe, &subject.expected, true, true, 0xFF, "", verdict);
    }
    tn_subject_destroy(&subject);
}

void tn_rule_tactics(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!test->kernel->tactics || !tn_test_subject(test, NULL, &subject, verdict)) return;
    verdict->outcome = TN_PASSED;
    const uint32_t count = tn_probe_tactics(&subject.probe);
    for (uint32_t i = 1; i < count && i < 64 && verdict->outcome == TN_PASSED; i++) {
        char during[40];
        subject.probe.tactic = i;
        snprintf(during, sizeof(during), "tactic %u of %u", i, count);
        run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, during, verdict);
    }
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * epilogues: addition of a tensor like the output, bias along axis 1, ReLU after either */

static void after_step(tn_outcome *expected, const tn_probe_port *y, const float *operand,
                       bool is_bias, bool has_relu) {
    float *values = expected->data[0];
    size_t inner = 1;
    for (uint32_t i = 2; i < y->shape.rank; i++)
        inner *= (size_t)y->shape.extents[i];
    for (size_t i = 0; i < expected->bytes[0] / sizeof(*values); i++) {
        const size_t at = is_bias ? i / inner % (size_t)y->shape.extents[1] : i;
        const double sum = (double)values[i] + (double)operand[at];
        values[i] = (float)(has_relu && sum < 0 ? 0 : sum);
    }
}

static void check_chain(tn_subject *subject, bool is_bias, bool has_relu, tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    const tn_probe_port *y = &probe->outputs[0];
    const tn_way reference = {.is_reference = true, .threads = 1};
    tn_shape shape = is_bias ? (tn_shape){.rank = 1, .extents = {y->shape.extents[1]}} : y->shape;
    size_t count = 0;
    if (tn_shape_count(&shape, &count) != TN_OK) return;
    float *operand = tn_arena_allocate(subject->arena, count + 1, sizeof(*operand));
    for (size_t i = 0; operand && i < count; i++)
        operand[i] = (float)((double)(i * 37 % 101) / 25.0 - 2.0);
    tn_outcome_free(&subject->expected);
    if (!operand || tn_case_run(subject->runtime, subject->op, &subject->c, &reference,
                                &subject->expected) != TN_OK)
        return;
    after_step(&subject->expected, y, operand, is_bias, has_relu);
    probe->step_count = has_relu ? 2 : 1;
    probe->steps[0] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                    .kind = is_bias ? TN_EPILOGUE_BIAS : TN_EPILOGUE_ADD,
                                    .axis = is_bias ? 1 : 0,
                                    .type = y->type};
    probe->steps[1] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                    .kind = TN_EPILOGUE_ACTIVATION,
                                    .activation = TN_ACTIVATION_RELU,
                                    .type = y->type};
    probe->operands[0] = (tn_probe_port){.is_given = true,
                                         .is_constant = is_bias,
                                         .type = y->type,
                                         .own_type = y->type,
                                         .format = is_bias ? TN_LINEAR : y->format,
                                         .shape = shape,
                                         .own = operand};
    if (tn_probe_accepts(probe))
        run_and_compare(probe, &subject->expected, true, false, 0xFF,
                        is_bias ? (has_relu ? "bias and ReLU" : "bias")
                                : (has_relu ? "addition and ReLU" : "addition"),
                        verdict);
    probe->step_count = 0;
    probe->operands[0].is_given = false;
}

void tn_rule_epilogues(const tn_test *test, tn_verdict *verdict) {
    const tn_kernel *kernel = test->kernel;
    tn_subject subject;
    verdict->outcome = TN_SKIPPED;
    if (!kernel->epilogues || !tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_probe_port *y = &subject.probe.outputs[0];
    const bool has_relu = (kernel->epilogues & TN_EPILOGUE_BIT(TN_EPILOGUE_ACTIVATION)) &&
                          (!kernel->activations || (kernel->activations >> TN_ACTIVATION_RELU & 1));
    for (int is_bias = 0; y->is_given && y->type == TN_F32 && is_bias < 2; is_bias++) {
        const uint32_t kind = is_bias ? TN_EPILOGUE_BIAS : TN_EPILOGUE_ADD;
        if (!(kernel->epilogues & TN_EPILOGUE_BIT(kind)) || (is_bias && y->shape.rank < 2))
            continue;
        if (verdict->outcome == TN_SKIPPED) verdict->outcome = TN_PASSED;
        for (int relu = 0; relu <= (int)has_relu && verdict->outcome == TN_PASSED; relu++)
            check_chain(&subject, is_bias, relu, verdict);
    }
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * through the engine */

void tn_rule_plan(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_outcome found = {0};
    char pin[256], why[300];
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    snprintf(pin, sizeof(pin), "%s%s%s=%s", test->op->domain, test->op->domain[0] ? "::" : "",
             test->op->name, test->kernel->name);
    const tn_way way = {.pin = pin, .are_constant = test->are_constant, .threads = 1};
    if (tn_case_run(test->runtime, test->op, &subject.c, &way, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, tn_last_error()->where);
    else if (!tn_results_equal(&subject.expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s", why);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
}

/* The suite for narrow types prints its failures: the first one is the verdict. */
void tn_rule_stored_types(const tn_test *test, tn_verdict *verdict) {
    size_t passed = 0, failed = 0;
    char line[560] = "";
    fflush(stdout);
    FILE *file = tmpfile();
    const int kept = dup(STDOUT_FILENO);
    if (!file || kept < 0) {
        verdict->outcome = TN_SKIPPED;
        return;
    }
    dup2(fileno(file), STDOUT_FILENO);
    tn_stored_check(test->runtime, test->op, test->text, &passed, &failed);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    rewind(file);
    if (failed > 0 && fgets(line, sizeof(line), file)) line[strcspn(line, "\n")] = 0;
    fclose(file);
    if (failed > 0)
        tn_verdict_fail(verdict, "%s", line);
    else if (passed == 0)
        verdict->outcome = TN_SKIPPED;
}
