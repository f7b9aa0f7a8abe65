/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of steps on a kernel; see epilogue_chain.h. */
#include "rules/chains/epilogue_chain.h"
#include "rules/shrink.h"
#include "worker/epilogue_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef tn_epilogue_chain chain;

static const char *const kind_names[] = {"", "bias", "scale", "addition"};
static const char *const activation_names[] = {
    "?",          "relu",       "leaky relu",  "clip",  "sigmoid", "tanh", "hard sigmoid",
    "hard swish", "gelu (erf)", "gelu (tanh)", "swish", "elu"};

/* ----------------------------------------------------------------------------------------------
 * what is wanted */

typedef struct computed {
    float *values;
    double largest; /* of the partial sums, which bound the accuracy */
} computed;

static bool compute(const tn_subject *subject, uint32_t count, computed *out) {
    const tn_probe *probe = &subject->probe;
    const size_t elements = subject->expected.bytes[0] / sizeof(float);
    *out = (computed){malloc(subject->expected.bytes[0] + sizeof(float)), 1e-6};
    for (size_t i = 0; out->values && i < elements; i++) {
        double x = (double)((const float *)subject->expected.data[0])[i];
        if (isfinite(x)) out->largest = fmax(out->largest, fabs(x));
        for (uint32_t k = 0; k < count; k++) {
            const tn_chain_step *step = &probe->steps[k];
            x = tn_epilogue_step(step, x, probe->operands[step->operand].own,
                                 &probe->outputs[0].shape, i);
            if (isfinite(x)) out->largest = fmax(out->largest, fabs(x));
        }
        out->values[i] = (float)x;
    }
    return out->values != NULL;
}

/* What an activation makes of infinities is left open; of NaN: loses_nan. */
static bool is_as_wanted(const tn_outcome *before, const computed *wanted, const tn_outcome *found,
                         char *why, size_t bytes) {
    const float *x = before->data[0], *y = found->count ? found->data[0] : NULL;
    snprintf(why, bytes, "output 0 has another size");
    if (!y || found->bytes[0] != before->bytes[0]) return false;
    for (size_t i = 0; i < before->bytes[0] / sizeof(*x); i++) {
        const double a = (double)wanted->values[i], b = (double)y[i];
        if (!isfinite(x[i]) || a == b || fabs(a - b) <= 4e-5 * wanted->largest + 1e-4 * fabs(a))
            continue; /* equal: the steps may leave the type's range */
        snprintf(why, bytes, "output 0, element %zu is %.9g, expected %.9g", i, b, a);
        return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * one chain */

static bool set_chain(const chain *c) {
    tn_probe *probe = &c->subject->probe;
    const double factor = c->is_large ? 48 : 1;
    uint32_t operands = 0;
    bool is_set = true;
    for (uint32_t i = 0; i < c->count && is_set; i++) {
        probe->steps[i] = c->steps[i];
        probe->steps[i].operand = operands;
        if (c->steps[i].kind == TN_CHAIN_ACTIVATION) continue;
        is_set = tn_epilogue_operand(c->subject, operands++, &c->steps[i], factor);
    }
    probe->step_count = c->count;
    return is_set;
}

static void clear_chain(tn_probe *probe) {
    probe->step_count = 0;
    for (uint32_t i = 0; i < TN_PROBE_OPERANDS; i++)
        probe->operands[i].is_given = false;
}

static void name_chain(const chain *c, char *text, size_t bytes) {
    size_t length = 0;
    for (uint32_t i = 0; i < c->count && length < bytes; i++) {
        const tn_chain_step *step = &c->steps[i];
        length +=
            (size_t)snprintf(text + length, bytes - length, "%s%s",
                             i == 0             ? ""
                             : i + 1 < c->count ? ", "
                                                : " and ",
                             step->kind == TN_CHAIN_ACTIVATION ? activation_names[step->activation]
                                                               : kind_names[step->kind]);
    }
}

/* Activations with a bound may give one for NaN: instructions and libraries differ there. */
static bool may_lose_nan(const tn_probe *probe) {
    static const bool is_bounded[TN_ACTIVATION_ELU + 1] = {
        [TN_ACTIVATION_RELU] = true,         [TN_ACTIVATION_CLIP] = true,
        [TN_ACTIVATION_SIGMOID] = true,      [TN_ACTIVATION_TANH] = true,
        [TN_ACTIVATION_HARD_SIGMOID] = true,
    };
    for (uint32_t i = 0; i < probe->step_count; i++) {
        const tn_chain_step *step = &probe->steps[i];
        if (step->kind == TN_CHAIN_ACTIVATION && is_bounded[step->activation]) return true;
    }
    return false;
}

/* What is NaN before a step that keeps it, and a number after it. */
static bool loses_nan(const tn_outcome *before, const computed *wanted, const tn_outcome *found,
                      char *why, size_t bytes) {
    const float *x = before->data[0], *y = found->count ? found->data[0] : NULL;
    for (size_t i = 0; y && i < before->bytes[0] / sizeof(*x); i++) {
        if (!isnan(x[i]) || !isnan(wanted->values[i]) || isnan(y[i])) continue;
        snprintf(why, bytes, "output 0, element %zu is %.9g, expected NaN, which it is before", i,
                 (double)y[i]);
        return true;
    }
    return false;
}

/* The reference's numbers and what the steps make of them, against the kernel's. */
static void run_chain(const chain *c, tn_verdict *verdict) {
    tn_probe *probe = &c->subject->probe;
    computed wanted = {0};
    tn_outcome found = {0};
    char why[300], during[120];
    name_chain(c, during, sizeof(during));
    if (set_chain(c) && compute(c->subject, c->count, &wanted) && tn_probe_accepts(probe)) {
        const uint32_t tactic = tn_probe_limit_tactic(probe);
        if (tn_probe_once(probe, true, false, 0xFF, &found) != TN_OK)
            tn_verdict_error(verdict, probe, during);
        else if (!is_as_wanted(&c->subject->expected, &wanted, &found, why, sizeof(why)) ||
                 (!may_lose_nan(probe) &&
                  loses_nan(&c->subject->expected, &wanted, &found, why, sizeof(why))))
            tn_verdict_fail(verdict, "with %s (seed %u): %s", during, c->test->seed, why);
        probe->tactic = tactic;
    }
    tn_outcome_free(&found);
    free(wanted.values);
    clear_chain(probe);
}

static bool chain_fails(void *user) {
    tn_verdict verdict = {0};
    run_chain(user, &verdict);
    return verdict.outcome == TN_FAILED;
}

/* Steps without which it fails all the same are left out. */
static void shrink_chain(const chain *failed, tn_verdict *inout_verdict) {
    chain smallest = *failed;
    tn_verdict last = {0};
    for (uint32_t at = 0; at < smallest.count && smallest.count > 1;) {
        chain shorter = smallest;
        shorter.count--;
        for (uint32_t i = at; i < shorter.count; i++)
            shorter.steps[i] = shorter.steps[i + 1];
        if (tn_shrink_fails(failed->test, chain_fails, &shorter)) {
            smallest = shorter;
            at = 0;
        } else {
            at++;
        }
    }
    if (smallest.count == failed->count) return;
    run_chain(&smallest, &last);
    if (last.outcome == TN_FAILED) *inout_verdict = last;
}

void tn_epilogue_chain_check(const tn_epilogue_chain *c, tn_verdict *verdict) {
    if (verdict->outcome != TN_PASSED) return;
    run_chain(c, verdict);
    if (verdict->outcome == TN_FAILED && !verdict->rule[0]) shrink_chain(c, verdict);
}
