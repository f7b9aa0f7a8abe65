/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about NaN, infinities, zeros and numbers that are large or close to zero. Elementwise
 * operators get all of them at once in all inputs. For others the order of additions may decide
 * between NaN and infinity: they get one kind at a time, in the first input alone; see rules.h.
 */
#include "base/status.h"
#include "rules/rules.h"
#include "tensor/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is put where. Of every `step` elements one is special, or, with `is_dense`, all but one. */
typedef struct special {
    const char *name;
    double value; /* 0: each element is drawn from `low` to `high` */
    double low, high;
    bool is_dense;
    bool is_alone;  /* there is no other element */
    bool has_zeros; /* all others are zero */
    uint32_t input; /* 1 + the only one that gets them; 0: those of the first port of floats */
} special;

static const special specials[] = {
    {.name = "NaN among numbers", .value = NAN},
    {.name = "NaN among zeros", .value = NAN, .has_zeros = true},
    {.name = "infinity among numbers", .value = INFINITY},
    {.name = "-infinity among numbers", .value = -INFINITY},
    {.name = "-infinity almost everywhere", .value = -INFINITY, .is_dense = true},
    {.name = "infinity almost everywhere", .value = INFINITY, .is_dense = true},
    {.name = "-infinity alone", .value = -INFINITY, .is_alone = true},
    {.name = "infinity alone", .value = INFINITY, .is_alone = true},
    {.name = "NaN alone", .value = NAN, .is_alone = true},
    {.name = "zeros alone", .low = 0, .high = 0},
    {.name = "numbers up to 1000", .low = -1000, .high = 1000},
    {.name = "numbers from -1000 to -200", .low = -1000, .high = -200},
    {.name = "numbers from 200 to 1000", .low = 200, .high = 1000},
    {.name = "numbers from 999 to 1001", .low = 999, .high = 1001}, /* whose squares cancel */
};
enum { SPECIAL_COUNT = sizeof(specials) / sizeof(specials[0]), FIRST_NUMBERS = 9, STEP = 7 };

/* ----------------------------------------------------------------------------------------------
 * elementwise operators */

/* The port of the first floats: those before it choose. */
static uint32_t float_port(const tn_case *c) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (tn_type_is_float(c->inputs[i].type)) return c->inputs[i].port;
    return 0;
}

/* Puts special values at every fourth element of the float inputs that are not needed values. */
static bool mix_specials(tn_case *c) {
    static const double mixed[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};
    enum { MIXED = sizeof(mixed) / sizeof(mixed[0]) };
    bool is_any = false;
    for (uint32_t i = 0; i < c->input_count; i++) {
        tn_case_input *input = &c->inputs[i];
        size_t count = 0;
        if (!tn_type_is_float(input->type) || input->has_values) continue;
        if (tn_shape_count(&input->shape, &count) != TN_OK) continue;
        for (size_t k = i; k < count; k += 4) {
            tn_element_set_f64(input->data, input->type, k, mixed[k / 4 % MIXED]);
            is_any = true;
        }
    }
    return is_any;
}

/* ----------------------------------------------------------------------------------------------
 * others */

/* Whether an input of the case gets them: of the first port there may be several. */
static bool is_for(const special *what, const tn_case *c, uint32_t index) {
    const tn_case_input *input = &c->inputs[index];
    if (!tn_type_is_float(input->type) || input->has_values) return false;
    return what->input ? index + 1 == what->input : input->port == float_port(c);
}

/* NaN is NaN whatever its other bits are: of those that stand beside one another each has others.
 */
static void vary_nan(tn_case_input *input, size_t index, size_t number) {
    static const uint32_t singles[] = {0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0x7FC00001};
    static const uint16_t halves[] = {0x7E00, 0xFE00, 0x7FFF, 0x7E01};
    static const uint16_t upper_halves[] = {0x7FC0, 0xFFC0, 0x7FFF, 0x7FC1};
    const size_t kind = number % TN_COUNT(singles);
    if (input->type == TN_F32) ((uint32_t *)input->data)[index] = singles[kind];
    if (input->type == TN_F16) ((uint16_t *)input->data)[index] = halves[kind];
    if (input->type == TN_BF16) ((uint16_t *)input->data)[index] = upper_halves[kind];
}

static bool put_special(tn_case *c, const special *what) {
    bool is_any = false;
    uint64_t state = 7;
    for (uint32_t i = 0; i < c->input_count; i++) {
        tn_case_input *input = &c->inputs[i];
        size_t count = 0;
        if (!is_for(what, c, i) || tn_shape_count(&input->shape, &count) != TN_OK) continue;
        for (size_t k = 0; k < count; k++) {
            const double drawn = (double)tn_random_below(&state, 1 << 20) * 0x1p-20;
            const bool is_special = what->is_alone || (k % STEP == STEP / 2) != what->is_dense;
            if (what->value != 0 && !is_special && !what->has_zeros) continue;
            const double number =
                what->has_zeros ? 0 : what->low + (what->high - what->low) * drawn;
            tn_element_set_f64(input->data, input->type, k,
                               what->value != 0 && is_special ? what->value : number);
            if (isnan(what->value) && is_special) vary_nan(input, k, k / STEP);
        }
        is_any = is_any || count > 0;
    }
    return is_any;
}

/* ----------------------------------------------------------------------------------------------
 * sums
 *
 * An algorithm of sums may add what the reference does not: zero times an element beside the
 * window, or an element and its negative (interpolation, Winograd's transforms). NaN and infinity
 * then make NaN of more elements than the reference has. Of others, maxima above all, that is a
 * mistake. */

/* Products of two tensors are sums whatever they are made of. */
bool tn_rule_is_of_products(const tn_case *c) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].port > 0 && tn_type_is_float(c->inputs[i].type) &&
            c->inputs[i].shape.rank >= 2)
            return true;
    return false;
}

enum { ADDITIVE_RUNS = 4 }; /* of zero, a, b and a + b */

/* Elements of the first port in run `which`. */
static void put_summands(tn_case *c, uint32_t which) {
    uint64_t first = 1, second = 2;
    for (uint32_t i = 0; i < c->input_count; i++) {
        tn_case_input *input = &c->inputs[i];
        size_t count = 0;
        if (input->port != float_port(c) || !tn_type_is_float(input->type) || input->has_values ||
            tn_shape_count(&input->shape, &count) != TN_OK)
            continue;
        for (size_t k = 0; k < count; k++) { /* integers: their sums are exact */
            const double a = (double)tn_random_below(&first, 65) - 32;
            const double b = (double)tn_random_below(&second, 65) - 32;
            tn_element_set_f64(input->data, input->type, k,
                               (which & 1 ? a : 0) + (which & 2 ? b : 0));
        }
    }
}

static bool are_additive(const tn_outcome *y) {
    for (uint32_t i = 0; i < y[0].count; i++) {
        const tn_type type = y[0].types[i];
        for (size_t k = 0; k < tn_outcome_elements(&y[0], i); k++) {
            double value[ADDITIVE_RUNS];
            for (int run = 0; run < ADDITIVE_RUNS; run++) {
                if (i >= y[run].count || y[run].bytes[i] != y[0].bytes[i]) return false;
                value[run] = tn_element_get_f64(y[run].data[i], type, k);
            }
            if (!(fabs(value[3] - value[1] - value[2] + value[0]) <=
                  0.02 * (fabs(value[1]) + fabs(value[2]) + 1)))
                return false;
        }
    }
    return true;
}

/* Whether the reference of a sum is the sum of the references. Overwrites the first port's inputs.
 */
static bool is_of_sums(const tn_test *test, tn_case *c) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_outcome y[ADDITIVE_RUNS] = {0};
    bool is_additive = true;
    for (uint32_t run = 0; run < ADDITIVE_RUNS && is_additive; run++) {
        put_summands(c, run);
        is_additive = tn_case_run(test->runtime, test->op, c, &reference, &y[run]) == TN_OK;
    }
    is_additive = is_additive && are_additive(y);
    for (uint32_t run = 0; run < ADDITIVE_RUNS; run++)
        tn_outcome_free(&y[run]);
    return is_additive;
}

static bool is_index(const tn_outcome *outcome, uint32_t output) {
    return !tn_type_is_float(outcome->types[output]) && tn_type_bits(outcome->types[output]) > 8;
}

/* The reference's answer with a special put in. */
static bool refer(tn_subject *subject, const special *what, tn_outcome *out) {
    const tn_case_options reference = {
        .is_reference = true, .asks_all = subject->asks_all, .threads = 1};
    return put_special(&subject->c, what) &&
           tn_case_run(subject->runtime, subject->op, &subject->c, &reference, out) == TN_OK;
}

/* Whether the indices are the same with another special instead of each that was put. */
static bool has_indices_of(tn_subject *subject, const tn_outcome *wanted, const special *other) {
    tn_outcome y = {0};
    bool is_same = refer(subject, other, &y);
    for (uint32_t i = 0; i < wanted->count && is_same; i++)
        is_same = i < y.count &&
                  (!is_index(wanted, i) || (y.bytes[i] == wanted->bytes[i] &&
                                            memcmp(y.data[i], wanted->data[i], y.bytes[i]) == 0));
    tn_outcome_free(&y);
    return is_same;
}

/* Whether the reference ranks NaN below all numbers or above all, wherever it lies. What compares
 * with it by < alone hangs on the order of the elements. */
static bool is_nan_ranked(tn_subject *subject) {
    static const special lowest = {.value = -INFINITY}, highest = {.value = INFINITY},
                         nan = {.value = NAN};
    tn_outcome y = {0};
    const bool is_ranked = refer(subject, &nan, &y) && (has_indices_of(subject, &y, &lowest) ||
                                                        has_indices_of(subject, &y, &highest));
    tn_outcome_free(&y);
    return is_ranked;
}

/* Which index is the greatest one's where there are NaNs is nobody's to say unless the reference
 * ranks them, nor what overlaps with an infinite box. */
static bool is_defined(tn_subject *subject, const special *what) {
    bool has_indices = false;
    uint32_t floats = 0;
    for (uint32_t i = 0; i < subject->expected.count; i++)
        has_indices = has_indices || is_index(&subject->expected, i);
    for (uint32_t i = 0; i < subject->c.input_count; i++)
        floats += tn_type_is_float(subject->c.inputs[i].type);
    if (!has_indices || what->value == 0) return true;
    return floats == 1 && (!isnan(what->value) || is_nan_ranked(subject));
}

/* Where a NaN that is found instead of a number is no failure; nor, `or_expected`, a number instead
 * of a NaN, which infinities make in one order of steps and not in another. */
static void allow_nan(tn_subject *subject, const tn_outcome *found, bool or_expected) {
    for (uint32_t i = 0; i < subject->slack.count && i < found->count; i++) {
        const tn_type type = subject->expected.types[i];
        if (found->bytes[i] != subject->expected.bytes[i] || found->types[i] != type) continue;
        for (size_t k = 0; k < tn_outcome_elements(found, i); k++) {
            const bool is_found = isnan(tn_element_get_f64(found->data[i], type, k));
            const bool is_wanted = isnan(tn_element_get_f64(subject->expected.data[i], type, k));
            if (is_found != is_wanted && (is_found || or_expected))
                subject->slack.of[i][k] = (double)INFINITY;
        }
    }
}

/* By truths, one element of the inputs each: nothing is multiplied. */
static bool is_chosen(const tn_subject *subject) {
    bool has_truths = false;
    for (uint32_t i = 0; i < subject->c.input_count; i++)
        has_truths = has_truths || subject->c.inputs[i].type == TN_BOOL;
    return has_truths && tn_slack_is_selected(&subject->c, &subject->expected, 0);
}

static void compare(const tn_test *test, tn_subject *subject, const special *what,
                    tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    if (tn_probe_once(&subject->probe, true, false, 0xFF, &found) != TN_OK) {
        tn_verdict_error(verdict, &subject->probe, what->name);
    } else if (!tn_subject_agrees(subject, &found, why, sizeof(why))) {
        /* an infinite factor may be folded with another one */
        const bool is_factor = what->input && isinf(what->value);
        const bool may_spread =
            what->value != 0 && !is_chosen(subject) &&
            (is_factor || tn_rule_is_of_products(&subject->c) || is_of_sums(test, &subject->c));
        if (may_spread) allow_nan(subject, &found, is_factor);
        if (!may_spread || !tn_subject_agrees(subject, &found, why, sizeof(why)))
            tn_verdict_fail(verdict, "%s: %s", what->name, why);
    }
    tn_outcome_free(&found);
}

/* The reference's answer, and how far a right kernel may be off. */
static bool expect(const tn_test *test, tn_subject *subject) {
    const tn_case_options reference = {
        .is_reference = true, .asks_all = subject->asks_all, .threads = 1};
    tn_outcome_free(&subject->expected);
    return tn_case_run(test->runtime, test->op, &subject->c, &reference, &subject->expected) ==
               TN_OK &&
           tn_slack_create(test->op, &subject->c, TN_VALUES_WIDE, subject->asks_all,
                           &subject->expected, &subject->slack) == TN_OK;
}

bool tn_rule_special_subject(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    const tn_change all = {.axis = -1, .frees_values = true, .asks_all = true},
                    own = {.axis = -1, .frees_values = true};
    tn_verdict none = {0};
    return tn_test_subject(test, &all, subject, &none) ||
           tn_test_subject(test, &own, subject, verdict);
}

/* Whether an output of indices has one below 0. The lowest integers are what casts make of NaN. */
static bool has_negative_index(const tn_outcome *outcome, uint32_t output) {
    enum { LEAST = -65536 };
    const tn_type type = outcome->types[output];
    for (size_t k = 0; tn_type_is_signed(type) && k < tn_outcome_elements(outcome, output); k++) {
        const int64_t index = tn_element_get_i64(outcome->data[output], type, k);
        if (index < 0 && index >= LEAST) return true;
    }
    return false;
}

/* What nobody can say of indices is not compared; but memory is memory, and -1 is no index where
 * the reference has none, on these numbers and on others. */
static void run_undefined(tn_subject *subject, const tn_outcome *usual, const special *what,
                          tn_verdict *verdict) {
    const tn_outcome *wanted = &subject->expected;
    tn_outcome found = {0};
    const tn_status status = tn_probe_once(&subject->probe, true, false, 0xFF, &found);
    if (status != TN_OK && subject->probe.rule[0])
        tn_verdict_error(verdict, &subject->probe, what->name);
    for (uint32_t i = 0; status == TN_OK && i < wanted->count && i < found.count; i++)
        if (is_index(wanted, i) && i < usual->count && !has_negative_index(usual, i) &&
            !has_negative_index(wanted, i) && has_negative_index(&found, i))
            tn_verdict_fail(verdict,
                            "%s: output %u has an index below 0, where the reference has none",
                            what->name, i);
    tn_outcome_free(&found);
}

static void check_special(const tn_test *test, const special *what, tn_verdict *verdict) {
    tn_verdict none = {0};
    tn_subject subject;
    tn_outcome usual = {0};
    if (!tn_rule_special_subject(test, &subject, &none)) return;
    const bool is_compared = is_defined(&subject, what);
    usual = subject.expected;
    subject.expected = (tn_outcome){.is_random = usual.is_random};
    if (put_special(&subject.c, what) && expect(test, &subject)) {
        if (verdict->outcome == TN_SKIPPED) verdict->outcome = TN_PASSED;
        if (is_compared)
            compare(test, &subject, what, verdict);
        else
            run_undefined(&subject, &usual, what, verdict);
    }
    tn_outcome_free(&usual);
    tn_subject_destroy(&subject);
}

static void check_elementwise(const tn_test *test, tn_verdict *verdict) {
    static const special mixed = {.name = "special values"};
    tn_subject subject;
    tn_verdict passed = {0};
    if (!tn_rule_special_subject(test, &subject, &passed)) {
        *verdict = passed;
        return;
    }
    if (mix_specials(&subject.c) && expect(test, &subject)) {
        *verdict = passed;
        compare(test, &subject, &mixed, verdict);
    }
    tn_subject_destroy(&subject);
}

/* NaN in each of the inputs of other ports alone: a factor or a bound may not lose it. */
static void check_other_inputs(const tn_test *test, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t count = 0;
    if (!tn_test_shapes(test, shapes, &count, &none)) return;
    for (uint32_t i = 1; i < count && verdict->outcome != TN_FAILED; i++) {
        const special others[] = {
            {.name = "NaN in another input", .value = NAN, .input = i + 1},
            {.name = "infinity in another input", .value = INFINITY, .input = i + 1},
            {.name = "-infinity in another input", .value = -INFINITY, .input = i + 1}};
        for (size_t k = 0; k < TN_COUNT(others) && verdict->outcome != TN_FAILED; k++)
            check_special(test, &others[k], verdict);
    }
}

void tn_rule_special_values(const tn_test *test, tn_verdict *verdict) {
    if (tn_test_is_repeated(test)) { /* the same as those that come at run time */
        tn_verdict_skip(verdict, "tried with inputs that a run provides");
        return;
    }
    const bool is_elementwise = test->op->traits & TN_OPERATOR_ELEMENTWISE;
    tn_verdict_skip(verdict, "input 0 has no floats without values of its own");
    if (is_elementwise) check_elementwise(test, verdict);
    for (size_t i = is_elementwise ? FIRST_NUMBERS : 0;
         i < SPECIAL_COUNT && verdict->outcome != TN_FAILED; i++)
        check_special(test, &specials[i], verdict);
    if (verdict->outcome == TN_PASSED && !is_elementwise) check_other_inputs(test, verdict);
    if (verdict->outcome == TN_PASSED && !is_elementwise) tn_rule_run_isolated(test, verdict);
}
