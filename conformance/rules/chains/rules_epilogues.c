/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about kernels that absorb facets: bias and scale along axis 1 and others, addition of
 * a tensor like the output and activations, each alone, each activation after each of the others,
 * and chains of any order drawn at random; see rules.h. Operators that describe themselves
 * are rules_describes.c's.
 */
#include "base/hash.h"
#include "base/status.h"
#include "rules/chains/epilogue_chain.h"
#include "tensor/type.h"
#include "worker/epilogue_step.h"
#include "worker/ordered_pool.h"

#include <math.h>
#include <string.h>

typedef tn_epilogue_chain chain;

/* ----------------------------------------------------------------------------------------------
 * which chains */

static bool takes_kind(const chain *c, uint32_t kind) {
    const bool is_per_channel = kind == TN_CHAIN_BIAS || kind == TN_CHAIN_SCALE;
    return tn_chain_is_listed(c->test->kernel->absorbs, kind, 0) &&
           !(is_per_channel && c->subject->probe.outputs[0].shape.rank < 2);
}

static bool takes_activation(const chain *c, uint32_t activation) {
    return tn_chain_is_listed(c->test->kernel->absorbs, TN_CHAIN_ACTIVATION, activation);
}

static tn_chain_step step_of(uint32_t kind, uint32_t activation, float alpha, float beta) {
    return (tn_chain_step){.kind = kind,
                           .activation = activation,
                           .axis = kind == TN_CHAIN_BIAS || kind == TN_CHAIN_SCALE,
                           .alpha = activation == TN_ACTIVATION_CLIP ? -alpha - 0.05f : alpha,
                           .beta = beta};
}

/* Each kind alone (of large values: the bias), each activation alone, also with a steep slope, and
 * each activation after each kind and before it. */
static void try_short_chains(chain *c, tn_verdict *verdict) {
    const uint32_t last = c->is_large ? TN_CHAIN_BIAS : TN_CHAIN_RESIDUAL;
    for (uint32_t kind = 0; kind <= last; kind++) {
        if (kind > 0 && !takes_kind(c, kind)) continue;
        const uint32_t first = kind > 0;
        if (first) c->steps[0] = step_of(kind, 0, 0, 0);
        c->count = first;
        if (first) tn_epilogue_chain_check(c, verdict);
        for (uint32_t i = 1; i <= TN_ACTIVATION_ELU; i++) {
            if (!takes_activation(c, i)) continue;
            c->steps[first] = step_of(TN_CHAIN_ACTIVATION, i, 0.25f, 0.75f);
            c->count = first + 1;
            tn_epilogue_chain_check(c, verdict);
            if (first) {
                const tn_chain_step before = c->steps[0];
                c->steps[0] = c->steps[1];
                c->steps[1] = before;
                tn_epilogue_chain_check(c, verdict);
                c->steps[0] = before;
                continue;
            }
            c->steps[0] = step_of(TN_CHAIN_ACTIVATION, i, 2.5f, 0.75f);
            tn_epilogue_chain_check(c, verdict);
        }
    }
}

/* Bias and scale along each axis, axis 1 counted from the end, too. accepts may refuse some. */
static void try_axes(chain *c, tn_verdict *verdict) {
    const int32_t rank = (int32_t)c->subject->probe.outputs[0].shape.rank;
    for (uint32_t kind = TN_CHAIN_BIAS; kind <= TN_CHAIN_SCALE; kind++)
        for (int32_t axis = -1; axis < rank && takes_kind(c, kind); axis++) {
            c->steps[0] = step_of(kind, 0, 0, 0);
            c->steps[0].axis = axis < 0 ? 1 - rank : axis;
            c->count = 1;
            if (axis != 1) tn_epilogue_chain_check(c, verdict);
        }
}

static tn_chain_step draw_step(const chain *c, uint64_t *random) {
    static const float alphas[] = {0.1f, 0.25f, 0.5f, 1}, betas[] = {0.3f, 0.5f, 0.75f, 1};
    for (;;) {
        const uint32_t kind = 1 + (uint32_t)tn_random_below(random, TN_CHAIN_ACTIVATION);
        const uint32_t activation = 1 + (uint32_t)tn_random_below(random, TN_ACTIVATION_ELU);
        const float alpha = alphas[tn_random_below(random, 4)];
        const float beta = betas[tn_random_below(random, 4)];
        tn_chain_step step =
            step_of(kind, kind == TN_CHAIN_ACTIVATION ? activation : 0, alpha, beta);
        if (step.axis > 0 && tn_random_below(random, 2))
            step.axis -= (int32_t)c->subject->probe.outputs[0].shape.rank;
        if (kind == TN_CHAIN_ACTIVATION ? takes_activation(c, activation) : takes_kind(c, kind))
            return step;
    }
}

/* Any order of any length, the same kind several times too. */
static void try_random_chains(chain *c, tn_verdict *verdict) {
    const uint32_t chains = c->is_large ? 4 : 8;
    uint64_t random = tn_hash_add_text(c->test->seed, c->test->text);
    bool is_any = false;
    for (uint32_t i = 1; i <= TN_ACTIVATION_ELU; i++)
        is_any = is_any || takes_activation(c, i);
    for (uint32_t kind = TN_CHAIN_BIAS; kind <= TN_CHAIN_RESIDUAL; kind++)
        is_any = is_any || takes_kind(c, kind);
    for (uint32_t i = 0; is_any && i < chains * c->test->effort; i++) {
        c->count = 2 + (uint32_t)tn_random_below(&random, TN_PROBE_STEPS - 1);
        for (uint32_t k = 0; k < c->count; k++)
            c->steps[k] = draw_step(c, &random);
        tn_epilogue_chain_check(c, verdict);
    }
}

/* Large values, where exp overflows. */
static void try_large(const tn_test *test, tn_verdict *verdict) {
    const tn_change wide = {.seed = test->seed, .values = TN_VALUES_WIDE, .axis = -1};
    tn_subject subject;
    tn_verdict none = {0};
    chain c = {.test = test, .subject = &subject, .is_large = true};
    if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &wide, &subject, &none)) return;
    try_short_chains(&c, verdict);
    try_random_chains(&c, verdict);
    tn_subject_destroy(&subject);
}

/* NaN in every other element of the first input: what an activation keeps of it is kept. Not of
 * blocked outputs, whose padded elements may be NaN then, as a product with zero. */
static void try_nan(const tn_test *test, tn_verdict *verdict) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    const tn_change own = {.axis = -1, .frees_values = true};
    tn_subject subject;
    tn_verdict none = {0};
    chain c = {.test = test, .subject = &subject, .count = 1};
    if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &own, &subject, &none)) return;
    tn_case_input *first = subject.c.input_count > 0 ? &subject.c.inputs[0] : NULL;
    const bool is_blocked = (subject.probe.outputs[0].format & 0xFF) == TN_LAYOUT_BLOCKED;
    const bool is_drawn = first && first->type == TN_F32 && !first->has_values && !is_blocked;
    for (size_t i = 0; is_drawn && i < first->bytes / sizeof(float); i += 2)
        ((float *)first->data)[i] = NAN;
    tn_outcome_free(&subject.expected);
    if (is_drawn &&
        tn_case_run(test->runtime, test->op, &subject.c, &reference, &subject.expected) == TN_OK)
        for (uint32_t i = 1; i <= TN_ACTIVATION_ELU; i++) {
            c.steps[0] = step_of(TN_CHAIN_ACTIVATION, i, 0.25f, 0.75f);
            if (takes_activation(&c, i)) tn_epilogue_chain_check(&c, verdict);
        }
    tn_subject_destroy(&subject);
}

static bool has_output(const tn_subject *subject) {
    return subject->probe.outputs[0].is_given && subject->expected.count > 0;
}

static bool is_judged(const tn_subject *subject) {
    return has_output(subject) && subject->probe.outputs[0].type == TN_F32;
}

/* Bytes that are integers, not a lower type of floats. */
static bool is_of_bytes(const tn_subject *subject) {
    const tn_probe_port *y = &subject->probe.outputs[0];
    return has_output(subject) && (y->type == TN_I8 || y->type == TN_U8) && y->own_type == y->type;
}

/* Chains in other shapes, an axis of the first input at a time: one element, and no multiple of
 * anything. */
static void try_shapes(const tn_test *test, uint32_t rank, tn_verdict *verdict) {
    static const int64_t extents[] = {1, 7};
    for (uint32_t i = 0; i < 2 * rank && verdict->outcome == TN_PASSED; i++) {
        const tn_change change = {.axis = (int32_t)(i / 2), .extent = extents[i % 2]};
        tn_subject subject;
        tn_verdict none = {0};
        chain c = {.test = test, .subject = &subject};
        if (!tn_test_subject(test, &change, &subject, &none)) continue;
        if (is_judged(&subject)) {
            try_random_chains(&c, verdict);
            tn_rule_facets(test, &subject, verdict);
        }
        tn_subject_destroy(&subject);
    }
}

/* Whether there is time for references, some of which take work by the product of two inputs'
 * elements. */
static bool are_few(const tn_shape *shapes, uint32_t count) {
    enum { MOST_ELEMENTS = 20000 };
    for (uint32_t i = 0; i < count; i++) {
        size_t elements = 0;
        if (tn_shape_count(&shapes[i], &elements) != TN_OK || elements > MOST_ELEMENTS)
            return false;
    }
    return true;
}

/* Wherever an extent of the case stands it becomes 13 or 131: a rest behind whole vectors, and more
 * than the pieces in which sums are computed; in the ranges of three threads. */
static void try_renamed(const tn_test *test, const tn_shape *shapes, uint32_t count, int64_t extent,
                        tn_verdict *verdict) {
    enum { THREADS = 3 };
    static const int64_t extents[] = {13, 131};
    for (size_t i = 0; i < TN_COUNT(extents) && verdict->outcome == TN_PASSED; i++) {
        tn_shape renamed[TN_PROBE_PORTS];
        const tn_change change = {.axis = -1, .shapes = renamed};
        tn_subject subject;
        tn_verdict none = {0};
        chain c = {.test = test, .subject = &subject};
        memcpy(renamed, shapes, count * sizeof(*renamed));
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t axis = 0; axis < renamed[k].rank; axis++)
                if (shapes[k].extents[axis] == extent) renamed[k].extents[axis] = extents[i];
        if (!are_few(renamed, count) || !tn_test_subject(test, &change, &subject, &none)) continue;
        tn_ordered_pool pool; /* the operands of a range are those of its elements */
        tn_ordered_pool_init(&pool, THREADS, false);
        subject.probe.threads = THREADS;
        subject.probe.pool = &pool.pool;
        if (is_judged(&subject)) try_random_chains(&c, verdict);
        tn_subject_destroy(&subject);
    }
}

/* Each extent that the case has, once. */
static void try_long(const tn_test *test, tn_verdict *verdict) {
    enum { MOST = 8 };
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    int64_t known[MOST];
    uint32_t count = 0, known_count = 0;
    if (!tn_test_shapes(test, shapes, &count, &none)) return;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t axis = 0; axis < shapes[i].rank && known_count < MOST; axis++) {
            const int64_t extent = shapes[i].extents[axis];
            bool is_known = extent < 2;
            for (uint32_t k = 0; k < known_count; k++)
                is_known = is_known || known[k] == extent;
            if (is_known) continue;
            known[known_count++] = extent;
            try_renamed(test, shapes, count, extent, verdict);
        }
}

void tn_rule_absorbs(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    bool is_tried = false;
    uint32_t rank = 0;
    chain c = {.test = test, .subject = &subject};
    if (!test->kernel->absorbs) {
        tn_verdict_skip(verdict, "the kernel absorbs nothing");
        return;
    }
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    tn_verdict_skip(verdict, "output 0 is neither of 32-bit floats nor of bytes");
    if (is_of_bytes(&subject)) {
        verdict->outcome = TN_PASSED;
        tn_rule_byte_facets(test, &subject, verdict);
    }
    if (is_judged(&subject)) {
        verdict->outcome = TN_PASSED;
        try_short_chains(&c, verdict);
        try_axes(&c, verdict);
        try_random_chains(&c, verdict);
        tn_rule_facets(test, &subject, verdict);
        is_tried = true;
        if (subject.c.input_count > 0) rank = subject.c.inputs[0].shape.rank;
    }
    tn_subject_destroy(&subject);
    if (is_tried) try_large(test, verdict);
    if (is_tried) try_nan(test, verdict);
    if (is_tried) try_shapes(test, rank, verdict);
    if (is_tried) try_long(test, verdict);
}
