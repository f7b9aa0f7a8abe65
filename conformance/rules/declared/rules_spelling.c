/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about spellings: what an operator is put in place of computes the same. Each operator of
 * a spelling is run by its own reference, as a network of its own, so that nothing is recognised
 * meanwhile; see rules.h.
 */
#include "base/status.h"
#include "plugin/library.h"
#include "plugin/spelling.h"
#include "rules/rules.h"
#include "tensor/type.h"

#include <stdlib.h>
#include <string.h>

/* A value of the evaluation; lies in the subject's arena. */
typedef tn_case_input value;

static tn_status make_number(tn_subject *subject, double number, value *out) {
    const tn_type type = subject->c.inputs[0].type;
    void *data = tn_arena_allocate(subject->arena, 1, 64);
    if (!data) return tn_fail_memory("a spelling");
    tn_element_set_f64(data, type, 0, number);
    *out = (value){.type = type, .data = data, .bytes = tn_type_bytes(type)};
    return TN_OK;
}

/* What the reference makes of the arguments. */
static tn_status apply(tn_subject *subject, const tn_operator *op, value *arguments, uint32_t count,
                       value *out) {
    const tn_way reference = {.is_reference = true, .threads = 1};
    const tn_case c = {.input_count = count, .inputs = arguments};
    tn_outcome found = {0};
    for (uint32_t i = 0; i < count; i++) {
        const bool is_variadic = op->inputs[op->input_count - 1].flags & TN_PORT_VARIADIC;
        if (i >= op->input_count && !is_variadic)
            return tn_fail(TN_ERROR_ARGUMENT, "operator '%s' has %u inputs, the spelling gives %u",
                           op->name, op->input_count, count);
        arguments[i].port = i < op->input_count ? i : op->input_count - 1;
    }
    TN_TRY(tn_case_run(subject->runtime, op, &c, &reference, &found));
    *out = (value){.type = found.types[0], .shape = found.shapes[0], .bytes = found.bytes[0]};
    char *room = tn_arena_allocate(subject->arena, 1, found.bytes[0] + 128);
    if (room) {
        out->data = room + (64 - (uintptr_t)room % 64) % 64;
        memcpy(out->data, found.data[0], found.bytes[0]);
    }
    tn_outcome_free(&found);
    return room ? TN_OK : tn_fail_memory("a spelling");
}

static tn_status evaluate(tn_subject *subject, const tn_spelling *tree, value *out) {
    value arguments[TN_SPELLING_ARGUMENTS];
    const tn_operator_entry *entry = NULL;
    if (tree->kind == TN_SPELLING_INPUT) {
        *out = subject->c.inputs[0];
        return TN_OK;
    }
    if (tree->kind == TN_SPELLING_NUMBER) return make_number(subject, tree->number, out);
    for (uint32_t i = 0; i < tree->argument_count; i++)
        TN_TRY(evaluate(subject, tree->arguments[i], &arguments[i]));
    TN_TRY(tn_registry_find_operator(tn_runtime_registry(subject->runtime), subject->op->domain,
                                     tree->name, 0, &entry));
    const tn_status status = apply(subject, entry->op, arguments, tree->argument_count, out);
    tn_library_release(entry->library);
    return status;
}

static void check_spelling(tn_subject *subject, const char *spelling, tn_verdict *verdict) {
    const tn_spelling *tree = NULL;
    value found;
    char why[300];
    tn_status status =
        tn_spelling_parse(subject->arena, spelling, subject->op->inputs[0].name, &tree);
    if (status == TN_OK) status = evaluate(subject, tree, &found);
    if (status != TN_OK) {
        tn_verdict_fail(verdict, "spelling \"%s\": %s", spelling, tn_last_error()->message);
        return;
    }
    const tn_outcome spelled = {.count = 1,
                                .types = {found.type},
                                .shapes = {found.shape},
                                .data = {found.data},
                                .bytes = {found.bytes}};
    if (!tn_results_equal(&subject->expected, &spelled, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "spelling \"%s\" computes something else: %s", spelling, why);
}

void tn_rule_spelling(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (subject.c.attribute_count > 0)
        tn_verdict_skip(verdict, "a spelling stands for the fields' defaults");
    else if (subject.c.input_count == 0 || subject.c.inputs[0].type != TN_F32)
        tn_verdict_skip(verdict, "spellings are compared in 32-bit floats, as their numbers are");
    for (uint64_t i = 0; i < test->op->spelling_count && verdict->outcome == TN_PASSED; i++)
        check_spelling(&subject, test->op->spellings[i], verdict);
    tn_subject_destroy(&subject);
}
