/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules, and what they share; see rules.h. */
#include "rules.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const tn_rule tn_rules[] = {
    {"has-cases", "The operator's table has at least one case.", TN_CAUSE_LOAD, TN_RULE_OPERATOR,
     tn_rule_has_cases},
    {"has-reference", "The operator has a reference, or a view's outputs alone.", TN_CAUSE_LOAD,
     TN_RULE_OPERATOR, tn_rule_has_reference},
    {"is-tried", "Each kernel is taken by some case, in each combination of its own types.",
     TN_CAUSE_LOAD, TN_RULE_COMBINATION, tn_rule_is_tried},
    {"shape-rule",
     "The shape rule is a pure function: twice the same, without data that its ports do not "
     "declare; run keeps to its shapes.",
     TN_CAUSE_CONTRACT, TN_RULE_CASE | TN_RULE_SHAPES, tn_rule_shape_rule},
    {"case-results", "The reference gives what a case says of its outputs.", TN_CAUSE_VALUES,
     TN_RULE_CASE, tn_rule_case_results},
    {"leaks",
     "prepare and release, open and close, load and destroy_params give back all memory, files, "
     "mappings and threads; what other callbacks ask for is given back when they return, also "
     "where they refuse. No file is left in the working folder or among temporary files, and none "
     "anywhere by other callbacks than prepare, load and save.",
     TN_CAUSE_MEMORY, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_leaks},
    {"matches-reference",
     "The outputs are those of the operator's reference, in every combination, on memory that ends "
     "and that begins at a page that cannot be touched; on small values, and on those that reach "
     "the "
     "sign, the width and the ends of each type.",
     TN_CAUSE_VALUES, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_matches_reference},
    {"writes-all",
     "Every element of every output is written; nothing depends on what lay in the outputs "
     "or in the workspace.",
     TN_CAUSE_UNWRITTEN, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_writes_all},
    {"other-shapes",
     "The same with other extents (one more, one, none, many, one against many, at random): what "
     "the shape rule takes is computed right.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_other_shapes},
    {"unasked-outputs",
     "An output that is not requested is null; the others are the same, in every combination.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_unasked_outputs},
    {"special-values",
     "NaN, infinities, zeros and large values come out as the reference has them.", TN_CAUSE_OTHER,
     TN_RULE_KERNEL, tn_rule_special_values},
    {"repeatable",
     "The same inputs give the same outputs after other inputs, bit by bit where "
     "TN_KERNEL_DETERMINISTIC is declared; other inputs at the same addresses give others.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_repeatable},
    {"threads",
     "The outputs are the same on two, three and 131 threads, whichever thread has which range; no "
     "range calls parallel_for.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_threads},
    {"contexts",
     "Two contexts of one engine do not disturb each other, in turn, in other shapes and on two "
     "threads; no function of the C library is called that keeps its state for all threads.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_contexts},
    {"reshape", "New shapes, and the old ones again, give the right outputs in one context.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_reshape},
    {"any-shape",
     "A kernel with TN_KERNEL_ANY_SHAPE is prepared without extents, and computes several shapes "
     "then.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_any_shape},
    {"in-place",
     "Output 0 on the memory of input 0 is right where TN_KERNEL_IN_PLACE is declared, and each "
     "output with TN_PORT_ALIAS on the memory of its input, alone and together.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_in_place},
    {"strided",
     "Operands whose rows lie apart are read and written right at the ports where a combination "
     "says `strided`, and nothing between the rows is written.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_strided},
    {"counted",
     "Where a combination says `counted`, elements from the count on change nothing; a kernel that "
     "sizes its output stores the count within the bound and leaves the shape alone.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_counted},
    {"sequences",
     "Kernels of sequences and optionals compute what the reference does, on no item, one, three "
     "and items of several shapes; both write every element of what they add, nothing outside it, "
     "and no item that they read.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL | TN_RULE_REFERENCE, tn_rule_sequences},
    {"tactics", "Every tactic gives the same outputs.", TN_CAUSE_OTHER, TN_RULE_KERNEL,
     tn_rule_tactics},
    {"combinations",
     "A kernel that is asked for its combinations answers with well-formed texts, the same each "
     "time, and with an end; so does one that is asked for its timing key.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_combinations},
    {"absorbs",
     "Every facet that the kernel lists, a third party's too, is absorbed as it is declared: "
     "alone, "
     "in any order, with the operands of the operators that describe themselves so, in odd shapes.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_absorbs},
    {"absorbs-before",
     "Every facet that the kernel lists before an input (\"@1 tn.convert/1\") is computed on what "
     "is "
     "stored there: alone, one after another and with a step after the kernel, with the operands "
     "of "
     "the operators that describe themselves so.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_absorbs_before},
    {"describes",
     "An operator that describes itself by a facet computes what the facet states. It may be asked "
     "about itself, also whether it is an identity and for its operations, with any set of its "
     "inputs constant; the data of the others is null.",
     TN_CAUSE_OTHER, TN_RULE_CASE, tn_rule_describes},
    {"windows",
     "Tensors that an operator describes as windows of one another (\"tn.view/1\") have the larger "
     "one's elements, and do not overlap in an output.",
     TN_CAUSE_OTHER, TN_RULE_CASE, tn_rule_windows},
    {"reads-samples",
     "Each sample of an importer is read, again and again with the same graph, and nothing of the "
     "host's or the C library's memory is left behind.",
     TN_CAUSE_OTHER, TN_RULE_LIBRARY, tn_rule_reads_samples},
    {"reads-damage",
     "A sample's files cut off, or with a flipped bit, give a graph or an error with a reason; no "
     "byte past the end is looked at, by a probe neither.",
     TN_CAUSE_OTHER, TN_RULE_LIBRARY, tn_rule_reads_damage},
    {"unload", "When the library was used and unloaded, no thread, file or mapping of it is left.",
     TN_CAUSE_MEMORY, TN_RULE_LIBRARY, tn_rule_unload},
    {"no-memory", "When the host has no memory the callback fails, and leaks nothing.",
     TN_CAUSE_MEMORY, TN_RULE_KERNEL, tn_rule_no_memory},
    {"host-failures",
     "When parallel_for fails, or the memory of an output without a bound, the callback that "
     "called "
     "it fails, and leaks nothing.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_host_failures},
    {"no-heap",
     "When malloc gives nothing the callback, or the library's load, fails or does the same "
     "without, and leaks nothing.",
     TN_CAUSE_MEMORY, TN_RULE_KERNEL | TN_RULE_REFERENCE | TN_RULE_LIBRARY, tn_rule_no_heap},
    {"plan",
     "A network of one node, built, saved, loaded and run, gives the same outputs; so does a node "
     "beside another one that has its constants and other fields, and beside one with constants "
     "of its own.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_plan},
    {"stored-types",
     "8-bit values with scales and 16-bit floats are read, rounded to even and saturated as "
     "declared.",
     TN_CAUSE_OTHER, TN_RULE_CASE, tn_rule_stored_types},
    {"fields-default",
     "A field that is absent means its default, alone and together with others; kernels agree with "
     "the reference on which fields are given.",
     TN_CAUSE_OTHER, TN_RULE_CASE | TN_RULE_KERNEL, tn_rule_fields_default},
    {"fields-hostile",
     "Zero, negative and large values, empty lists and every choice in fields are refused, or "
     "computed by kernels as by the reference.",
     TN_CAUSE_OTHER, TN_RULE_CASE | TN_RULE_KERNEL, tn_rule_fields_hostile},
    {"traits",
     "Elementwise, identity, constant, selects and commutative are true where they are declared, "
     "whatever the fields are.",
     TN_CAUSE_OTHER, TN_RULE_CASE, tn_rule_traits},
    {"row", "The row function gives what the reference gives.", TN_CAUSE_OTHER, TN_RULE_CASE,
     tn_rule_row},
    {"expression",
     "The expression is of its language and gives what the reference gives, computed in 32-bit "
     "floats, where no step overflows.",
     TN_CAUSE_OTHER, TN_RULE_CASE, tn_rule_expression},
    {"rewrite",
     "A rewrite applies to each of its cases, in every form of its pattern, and computes the same; "
     "it does not apply to its near misses.",
     TN_CAUSE_OTHER, TN_RULE_REWRITE, tn_rule_rewrite},
    {"upgrade",
     "Fields of each older state version, in any order, become fields that mean the same.",
     TN_CAUSE_OTHER, TN_RULE_CASE, tn_rule_upgrade},
    {"state",
     "What save writes is what load reads, to the last bit, whatever the fields are, of operators "
     "and of kernels; load refuses what is damaged and keeps nothing of it, or lives with it.",
     TN_CAUSE_OTHER, TN_RULE_CASE | TN_RULE_KERNEL, tn_rule_state},
    {"packed",
     "What a kernel packed of constants is read, and does as well from a plan: with other bytes it "
     "computes something else, and touches nothing outside.",
     TN_CAUSE_OTHER, TN_RULE_KERNEL, tn_rule_packed},
    {"device-cases",
     "On a device (`--device`): the outputs are those of the reference in every combination, "
     "nothing "
     "is written beside them, inputs stay as they are.",
     TN_CAUSE_OTHER, TN_RULE_DEVICE, tn_rule_device_cases},
    {"library-loads", "The library loads and its tables are sound.", TN_CAUSE_LOAD, TN_RULE_SHOWN,
     NULL},
    {"case-runs", "Each case can be read, and its reference computes it.", TN_CAUSE_LOAD,
     TN_RULE_SHOWN, NULL},
    {"reads-inside", "Nothing is read outside a tensor.", TN_CAUSE_MEMORY, TN_RULE_SHOWN, NULL},
    {"writes-inside",
     "Nothing is written outside an output, nor past the end of memory of host->allocate.",
     TN_CAUSE_MEMORY, TN_RULE_SHOWN, NULL},
    {"inputs-unchanged", "Inputs, their descriptions and the parameters are not written.",
     TN_CAUSE_CONTRACT, TN_RULE_SHOWN, NULL},
    {"workspace-inside", "The workspace is used within the bytes that reshape asked for.",
     TN_CAUSE_MEMORY, TN_RULE_SHOWN, NULL},
    {"pointer-life",
     "A call, its tensors, shapes and data are not used after the callback returned.",
     TN_CAUSE_CONTRACT, TN_RULE_SHOWN, NULL},
    {"fails-honestly", "A failure has a status and a reason; a reason comes with a failure.",
     TN_CAUSE_CONTRACT, TN_RULE_SHOWN, NULL},
    {"environment",
     "The calling thread, and each of parallel_for's within a range, stays as it is: how it "
     "computes "
     "with floats, its locale, name, signals, processors, priority and scheduling. So do the "
     "process' locale, folder, umask, variables, signal handlers, limits, timer and standard "
     "input. "
     "No lock is held when a callback or a range returns; the C library's random numbers are "
     "neither "
     "seeded nor drawn; numbers of texts do not hang on the locale; nothing is printed to the "
     "standard output or error, and what is logged is one line.",
     TN_CAUSE_CONTRACT, TN_RULE_SHOWN, NULL},
    {"padding",
     "The padded elements of the last block of a blocked format are written as zeros, and so are "
     "the bits behind the last element of a packed type.",
     TN_CAUSE_UNWRITTEN, TN_RULE_SHOWN, NULL},
    {"booleans", "Every byte of a boolean output is 0 or 1.", TN_CAUSE_VALUES, TN_RULE_SHOWN, NULL},
    {"strings",
     "The elements of an output of strings lie within the heap that append or share gave it.",
     TN_CAUSE_VALUES, TN_RULE_SHOWN, NULL},
    {"crash", "No signal, no abort, no exit.", TN_CAUSE_CRASH, TN_RULE_SHOWN, NULL},
    {"time-limit", "A test ends in its time, and does not wait for what never comes.",
     TN_CAUSE_CRASH, TN_RULE_SHOWN, NULL},
    {NULL, NULL, 0, 0, NULL}};

void tn_verdict_fail(tn_verdict *verdict, const char *format, ...) {
    va_list arguments;
    verdict->outcome = TN_FAILED;
    va_start(arguments, format);
    vsnprintf(verdict->why, sizeof(verdict->why), format, arguments);
    va_end(arguments);
}

void tn_verdict_skip(tn_verdict *verdict, const char *why) {
    verdict->outcome = TN_SKIPPED;
    snprintf(verdict->why, sizeof(verdict->why), "%s", why);
}

void tn_verdict_error(tn_verdict *verdict, const tn_probe *probe, const char *during) {
    tn_verdict_fail(verdict, "%s%s%s", during, during[0] ? ": " : "", tn_last_error()->message);
    if (probe && probe->rule[0]) snprintf(verdict->rule, sizeof(verdict->rule), "%s", probe->rule);
}

/* What the engine says of a library that breaks the contract, by the rule that is broken. */
static const char *contract_rule(const char *message) {
    if (strstr(message, "without a reason")) return "fails-honestly";
    return strstr(message, "was written outside") ? "writes-inside" : "shape-rule";
}

/* A changed case may be refused, but not with shapes or views that there cannot be. */
static void judge_refusal(const tn_change *change, tn_verdict *verdict) {
    const bool is_broken = tn_last_error()->status == TN_ERROR_PLUGIN ||
                           strstr(tn_last_error()->message, "without a reason");
    if (change && !is_broken) {
        tn_verdict_skip(verdict, "the operator refuses the changed case");
        return;
    }
    tn_verdict_error(verdict, NULL, change ? "with other fields, extents or numbers" : "");
    snprintf(verdict->rule, sizeof(verdict->rule), "%s",
             change ? contract_rule(tn_last_error()->message) : "case-runs");
}

bool tn_test_subject(const tn_test *test, const tn_change *change, tn_subject *subject,
                     tn_verdict *verdict) {
    bool is_taken = false;
    tn_change with_all = change ? *change : (tn_change){.axis = -1};
    with_all.asks_all = true;
    if (test->asks_all) change = &with_all;
    const tn_status status =
        tn_subject_create(subject, test->runtime, test->op, test->kernel, test->combination,
                          test->text, test->are_constant, change, &is_taken);
    if (status == TN_OK && is_taken) {
        subject->probe.library = test->library;
        subject->probe.allocator = &test->counter->functions;
        if (test->tactic > 0)
            subject->probe.tactic = test->tactic % tn_probe_tactics(&subject->probe);
        return true;
    }
    if (status == TN_OK) {
        tn_verdict_skip(verdict, subject->refusal ? subject->refusal : "not taken");
    } else if (change && change->plants_fields) { /* the numbers may be indices or axes */
        tn_change plain = *change;
        plain.plants_fields = false;
        return tn_test_subject(test, &plain, subject, verdict);
    } else {
        judge_refusal(change, verdict);
    }
    return false;
}

bool tn_test_shapes(const tn_test *test, tn_shape *shapes, uint32_t *out_count,
                    tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return false;
    *out_count = subject.c.input_count;
    for (uint32_t i = 0; i < *out_count && i < TN_PROBE_PORTS; i++)
        shapes[i] = subject.c.inputs[i].shape;
    tn_subject_destroy(&subject);
    return *out_count <= TN_PROBE_PORTS;
}

bool tn_test_is_repeated(const tn_test *test) {
    tn_test provided = *test;
    tn_subject subject;
    tn_verdict none = {0};
    provided.are_constant = false;
    if (!test->are_constant || !tn_test_subject(&provided, NULL, &subject, &none)) return false;
    tn_subject_destroy(&subject);
    return true;
}

const char *tn_test_first_type(const char *text) {
    const char *bar = strchr(text, '|'), *equals = bar ? strchr(bar, '=') : NULL;
    return equals ? equals + 1 : "";
}
