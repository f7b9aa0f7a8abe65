/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of conformance: what each checks is in `doc`, which docs/conformance.md prints. A rule
 * looks at an operator, or at a kernel (or an operator's reference instead of a kernel), on one
 * case.
 */
#ifndef TN_CONFORMANCE_RULES_RULES_H
#define TN_CONFORMANCE_RULES_RULES_H

#include "plugin/devices.h"
#include "worker/subject.h"
#include "worker/watch/held.h"

/* The library as a whole, for rules about it. */
typedef struct tn_library_test {
    tn_runtime **runtime; /* the tests'; null in it: the library was unloaded */
    const char *path;
    const tn_operator *const *operators; /* all that there are */
    const bool *is_own;
    size_t operator_count;
    const tn_kernel *const *kernels; /* the library's */
    size_t kernel_count;
    const tn_held *before; /* it was loaded */
} tn_library_test;

typedef struct tn_test {
    tn_runtime *runtime;
    tn_counter *counter; /* the runtime's allocator */
    const tn_operator *op;
    const tn_kernel *kernel; /* null: the reference */
    const char *combination; /* null: the operator's types, linear */
    const char *library, *text;
    bool are_constant;
    const tn_operator *const *operators; /* all that there are */
    size_t operator_count;
    const tn_device *device; /* that is not the processor, of rules about it; else null */
    void *stream;            /* of that device */
    const tn_library_test
        *whole;                /* of rules about the library, which have no operator; else null */
    const tn_rewrite *rewrite; /* of rules about it, which have no operator; else null */
    bool is_near_miss;         /* the text is one of the rewrite's near misses */
    uint32_t seed, effort;     /* of what is drawn; how much of it, from 1 */
    uint32_t tactic;           /* of the kernel, modulo how many it has */
    bool asks_all;             /* for optional outputs, too, in all that is made of the case */
    int lines;                 /* the descriptor that the worker's lines go to */
} tn_test;

enum { TN_PASSED = 0, TN_FAILED = 1, TN_SKIPPED = 2 };

typedef struct tn_verdict {
    int outcome;
    char rule[32]; /* that was broken, where a test found another one than its own */
    char why[600];
} tn_verdict;

enum {
    TN_RULE_OPERATOR = 1,     /* once an operator */
    TN_RULE_CASE = 2,         /* each case, by the operator's own functions */
    TN_RULE_KERNEL = 4,       /* each case, by each kernel */
    TN_RULE_REFERENCE = 8,    /* the same, by the reference */
    TN_RULE_COMBINATION = 32, /* once each kernel's combination */
    TN_RULE_DEVICE = 64,      /* each case that kernels of the device may take, on it */
    TN_RULE_LIBRARY = 128,    /* once, at the end */
    TN_RULE_SHAPES = 256,     /* each case of an operator without a reference */
    TN_RULE_REWRITE = 512,    /* each case and near miss of each rewrite, and once without either */
    TN_RULE_SHOWN = 16        /* never run by itself: others find it */
};

/* What a broken rule is about: what comes first is likely to be the cause of what comes after. */
enum {
    TN_CAUSE_LOAD,
    TN_CAUSE_CONTRACT,
    TN_CAUSE_CRASH,
    TN_CAUSE_MEMORY,
    TN_CAUSE_UNWRITTEN,
    TN_CAUSE_VALUES,
    TN_CAUSE_OTHER
};

typedef struct tn_rule {
    const char *id, *doc;
    int cause;
    uint32_t kinds;
    void (*check)(const tn_test *test, tn_verdict *verdict);
} tn_rule;

/* Ends with a null id. */
extern const tn_rule tn_rules[];

/* The rule's check; then, while it passes, by the kernel's other tactics and with its optional
 * outputs where those are nobody else's matter. */
void tn_rule_apply(const tn_rule *rule, const tn_test *test, tn_verdict *verdict);

/* --- for the rules --- */
void tn_verdict_fail(tn_verdict *verdict, const char *format, ...) TN_PRINTF(2, 3);
/* The rule cannot be applied here: why. */
void tn_verdict_skip(tn_verdict *verdict, const char *why);
/* The last error becomes the verdict: the contract's rule, where the probe found one broken. */
void tn_verdict_error(tn_verdict *verdict, const tn_probe *probe, const char *during);
/* Makes the test's subject; false: skipped, or failed. */
bool tn_test_subject(const tn_test *test, const tn_change *change, tn_subject *subject,
                     tn_verdict *verdict);

/* The shapes of the test's case, of at most TN_PROBE_PORTS inputs; false: skipped, failed, or of
 * more inputs. */
bool tn_test_shapes(const tn_test *test, tn_shape *out_shapes, uint32_t *out_count,
                    tn_verdict *verdict);

/* Whether the kernel takes the same case with inputs that a run provides: constants show nothing
 * more where it does. */
bool tn_test_is_repeated(const tn_test *test);

/* "f32[2,3] ...": from the type of a case's first input on; "": it has none. */
const char *tn_test_first_type(const char *text);

/* --- rules_results.c --- */
/* One whole life, compared with what is expected; `during` is for the message. */
void tn_rule_run_ports(tn_probe *probe, const tn_outcome *expected, const char *during,
                       tn_verdict *verdict);
void tn_rule_run(tn_subject *subject, const char *during, tn_verdict *verdict);
/* The same with outputs where probe.laid_on has them. */
void tn_rule_run_in_place(tn_subject *subject, const char *during, tn_verdict *verdict);
/* On drawn values, as near as they let it be; false: there are none. */
bool tn_rule_run_on_values(const tn_test *test, const tn_change *change, tn_verdict *verdict);
void tn_rule_matches_reference(const tn_test *test, tn_verdict *verdict);
void tn_rule_writes_all(const tn_test *test, tn_verdict *verdict);
void tn_rule_case_results(const tn_test *test, tn_verdict *verdict);
void tn_rule_other_shapes(const tn_test *test, tn_verdict *verdict);
void tn_rule_special_values(const tn_test *test, tn_verdict *verdict);
void tn_rule_plan(const tn_test *test, tn_verdict *verdict);
void tn_rule_stored_types(const tn_test *test, tn_verdict *verdict);
/* --- rules_in_place.c --- */
void tn_rule_in_place(const tn_test *test, tn_verdict *verdict);
/* --- rules_counted.c --- */
void tn_rule_counted(const tn_test *test, tn_verdict *verdict);

/* --- rules_sequences.c --- */
void tn_rule_sequences(const tn_test *test, tn_verdict *verdict);
/* Whether the kernel (or the reference) takes the case and computes it, in a network. */
bool tn_rule_runs_lists(const tn_test *test);

/* --- rules_strided.c --- */
void tn_rule_strided(const tn_test *test, tn_verdict *verdict);
/* --- rules_special.c --- */
/* Products of two tensors are sums whatever they are made of. */
bool tn_rule_is_of_products(const tn_case *c);
/* The case with data of its own memory, optional outputs asked for where the kernel has them. */
bool tn_rule_special_subject(const tn_test *test, tn_subject *subject, tn_verdict *verdict);
/* --- rules_isolated.c --- */
/* A part of special-values: what is no part of an element's sum does not reach it. */
void tn_rule_run_isolated(const tn_test *test, tn_verdict *verdict);
/* --- rules_tactics.c --- */
void tn_rule_tactics(const tn_test *test, tn_verdict *verdict);
void tn_rule_combinations(const tn_test *test, tn_verdict *verdict);
/* --- rules_ports.c --- */
void tn_rule_unasked_outputs(const tn_test *test, tn_verdict *verdict);
/* A part of matches-reference: without each optional input that the case gives. */
void tn_rule_run_without_optional(const tn_test *test, tn_verdict *verdict);
/* --- rules_indices.c --- */
/* A part of matches-reference: indices from the end, and out of range. */
void tn_rule_run_with_indices(const tn_test *test, tn_verdict *verdict);
/* --- rules_types.c --- */
/* A part of matches-reference: types that no case has. */
void tn_rule_run_types(const tn_test *test, tn_verdict *verdict);
/* --- rules_flush.c --- */
/* A part of matches-reference: nothing is read between a tensor's end and its alignment's. */
void tn_rule_run_flush(const tn_test *test, tn_verdict *verdict);
/* --- rules_commas.c --- */
/* A part of matches-reference: in a locale with decimal commas. */
void tn_rule_run_with_commas(const tn_test *test, tn_verdict *verdict);
/* --- rules_stead.c --- */
/* A part of plan: a node at the addresses of one that is gone. */
void tn_rule_run_in_stead(const tn_test *test, tn_verdict *verdict);
/* --- rules_sharing.c --- */
/* A part of plan: two nodes that have constants in common. */
void tn_rule_run_sharing(const tn_test *test, tn_verdict *verdict);
/* --- rules_epilogues.c --- */
void tn_rule_absorbs(const tn_test *test, tn_verdict *verdict);

/* --- rules_facets.c --- */
/* --- rules_before.c --- */
void tn_rule_absorbs_before(const tn_test *test, tn_verdict *verdict);
/* The facets of libraries that a kernel lists, on a subject of it: a part of tn_rule_absorbs. */
void tn_rule_facets(const tn_test *test, tn_subject *subject, tn_verdict *verdict);
/* Of the same rule: facets behind a kernel of bytes. */
void tn_rule_byte_facets(const tn_test *test, tn_subject *subject, tn_verdict *verdict);

/* --- rules_describes.c --- */
void tn_rule_describes(const tn_test *test, tn_verdict *verdict);
/* --- rules_windows.c --- */
void tn_rule_windows(const tn_test *test, tn_verdict *verdict);
/* --- rules_threads.c --- */
void tn_rule_threads(const tn_test *test, tn_verdict *verdict);
void tn_rule_contexts(const tn_test *test, tn_verdict *verdict);
/* --- rules_races.c --- */
/* A part of threads: what two ranges of one parallel_for write. */
void tn_rule_check_races(tn_subject *subject, tn_verdict *verdict);
/* A part of contexts: two of one engine, which have run, write no static variables. */
void tn_rule_check_statics(tn_probe_context *const *contexts, tn_subject *const *subjects,
                           tn_verdict *verdict);
/* --- rules_life.c --- */
/* Prepares, opens and reshapes; both zero before. The caller closes and releases. */
bool tn_rule_start(tn_probe_life *life, tn_probe_context *context, tn_probe *probe,
                   tn_verdict *verdict);
/* A run of an open context, compared with what is expected, bit by bit where `is_exact`. */
bool tn_rule_run_open(tn_probe_context *context, tn_subject *subject, const tn_outcome *expected,
                      bool is_exact, bool is_in_place, const char *during, tn_verdict *verdict);
void tn_rule_repeatable(const tn_test *test, tn_verdict *verdict);
void tn_rule_reshape(const tn_test *test, tn_verdict *verdict);
void tn_rule_any_shape(const tn_test *test, tn_verdict *verdict);
/* --- rules_leaks.c --- */
void tn_rule_leaks(const tn_test *test, tn_verdict *verdict);
/* A part of others: what a run that the kernel refuses leaves behind. */
void tn_rule_check_refused(const tn_test *test, tn_subject *subject, const char *during,
                           tn_verdict *verdict);
/* Another subject with larger shapes, to which a life goes on; false: there is none. The caller
 * takes it from the probe again, and destroys it. */
bool tn_rule_grow(const tn_test *test, tn_subject *subject, tn_subject *out_grown);
/* One life with two contexts, the second of which is never run. */
tn_status tn_rule_live_once(tn_probe *probe);
/* Every callback of the operator that asks about the node, with the constants that the probe has.
 */
void tn_rule_ask_node(tn_subject *subject);
/* --- rules_failures.c --- */
void tn_rule_no_memory(const tn_test *test, tn_verdict *verdict);
void tn_rule_host_failures(const tn_test *test, tn_verdict *verdict);
/* --- rules_library.c --- */
void tn_rule_reads_samples(const tn_test *test, tn_verdict *verdict); /* rules_readers.c */
void tn_rule_reads_damage(const tn_test *test, tn_verdict *verdict);
void tn_rule_unload(const tn_test *test, tn_verdict *verdict);
void tn_rule_load_no_heap(const tn_test *test, tn_verdict *verdict); /* of no-heap */
/* --- rules_heap.c --- */
void tn_rule_no_heap(const tn_test *test, tn_verdict *verdict);
/* --- rules_operator.c --- */
void tn_rule_has_cases(const tn_test *test, tn_verdict *verdict);
void tn_rule_has_reference(const tn_test *test, tn_verdict *verdict);
void tn_rule_shape_rule(const tn_test *test, tn_verdict *verdict);
/* A part of shape-rule, in rules_sizes.c: extents and needed values that no case has. */
void tn_rule_infer_sizes(const tn_test *test, tn_verdict *verdict);
/* Gives the inputs of a probe a longer axis, and the outputs the shapes that the shape rule says;
 * false: it is refused, or is a constant's. */
bool tn_sizes_infer(tn_probe *probe, uint32_t axis, int64_t extent, const char *during,
                    tn_verdict *verdict);
/* --- rules_workspace.c --- */
/* A part of reshape: the workspace of shapes beyond 32 bits. */
void tn_rule_run_workspace(const tn_test *test, tn_verdict *verdict);
void tn_rule_row(const tn_test *test, tn_verdict *verdict);
void tn_rule_expression(const tn_test *test, tn_verdict *verdict);
void tn_rule_is_tried(const tn_test *test, tn_verdict *verdict);
/* --- rules_device.c --- */
void tn_rule_device_cases(const tn_test *test, tn_verdict *verdict);
/* --- rules_fields.c --- */
void tn_rule_fields_default(const tn_test *test, tn_verdict *verdict);
void tn_rule_fields_hostile(const tn_test *test, tn_verdict *verdict);
/* A part of matches-reference: on the numbers that the fields hold. */
void tn_rule_run_planted(const tn_test *test, tn_verdict *verdict);
/* The kernel on another text of the case agrees with the reference; false: it is refused. */
bool tn_rule_try_text(const tn_test *test, const char *text, tn_verdict *verdict);
/* --- rules_inputs.c --- */
/* A part of matches-reference: types of inputs, and optional inputs, that no case has. */
void tn_rule_run_other_inputs(const tn_test *test, tn_verdict *verdict);
/* --- rules_traits.c --- */
void tn_rule_traits(const tn_test *test, tn_verdict *verdict);
/* --- rules_rewrite.c --- */
void tn_rule_rewrite(const tn_test *test, tn_verdict *verdict);
/* --- rules_upgrade.c --- */
void tn_rule_upgrade(const tn_test *test, tn_verdict *verdict);
/* --- rules_state.c --- */
void tn_rule_state(const tn_test *test, tn_verdict *verdict);
/* What each round of damaged states loses is lost where they are refused: the leaks of a load that
 * succeeds are found by another rule. `bytes`: of the state. */
void tn_rule_check_refusals(void (*refuse)(void *user, tn_verdict *verdict), void *user,
                            size_t bytes, tn_verdict *verdict);
/* --- rules_packed.c --- */
void tn_rule_packed(const tn_test *test, tn_verdict *verdict);
/* A part of state, in rules_kernel_state.c. */
void tn_rule_kernel_state(const tn_test *test, tn_verdict *verdict);

#endif
