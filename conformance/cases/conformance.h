/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the conformance suite share: running a case as a network of one node
 * (conformance.c), and checking the combinations that store floating-point values in narrower types
 * (stored.c), which no network asks for by itself.
 */
#ifndef TN_CONFORMANCE_CASES_CONFORMANCE_H
#define TN_CONFORMANCE_CASES_CONFORMANCE_H

#include "case.h"
#include "graph/infer.h"
#include "plugin/runtime.h"
#include <tenon/plugin/sequence.h>
#include <tenon/tenon.h>

/* What one run of a case computed: the outputs, copied. */
typedef struct tn_outcome {
    uint32_t count;
    tn_type types[16];
    tn_shape shapes[16];
    void *data[16];
    size_t bytes[16];
    char kernel[128];
    bool is_random; /* other numbers come each time: types and shapes alone are compared */
} tn_outcome;
void tn_outcome_free(tn_outcome *outcome);
size_t tn_outcome_elements(const tn_outcome *outcome, uint32_t output);

/* How a case is run. */
typedef struct tn_case_options {
    const char *pin; /* "Op=kernel", or null */
    bool is_reference, are_constant;
    bool asks_all;     /* for optional outputs, too */
    bool is_guarded;   /* the engine's guarded runs */
    bool reads_lists;  /* sequences, optionals and maps that the node reads are outputs as well,
                          behind its  own, as they are when it has run */
    uint32_t provided; /* 1 + the case's input that is no constant in any event; 0: none */
    uint32_t threads;
} tn_case_options;

/* The node's name, which a model may have, too: who takes it for a format reads what is no text. */
#define TN_CASE_NODE "node %s%s%s%s%s%s%s%s"
/* --- lists.c: around nodes that read or write sequences, optionals and maps --- */
uint32_t tn_case_kind(const tn_port *port); /* TN_KIND_... */
/* The operators that the graph of such a case needs; nothing for others. */
tn_status tn_case_take_lists(tn_runtime *runtime, const tn_operator *op);
/* What is said of a list beside its items. */
typedef struct tn_case_list {
    tn_type type, key_type; /* key_type: of maps, else TN_NONE */
    bool has_element;       /* of an optional of a sequence */
} tn_case_list;
tn_status tn_case_add_list(tn_graph *graph, uint32_t kind, const tn_case_list *list, uint32_t count,
                           const tn_tensor_id *items, tn_tensor_id *out_list);
/* As how many outputs of the graph tn_case_add_outputs has a tensor of this kind. */
uint32_t tn_case_spread_count(uint32_t kind);
/* A tensor as an output of the graph; a list as two: all shapes, each with its rank before it, and
 * all elements; maps as a third one: all keys, where the elements are the values. */
tn_status tn_case_add_outputs(tn_graph *graph, uint32_t kind, tn_tensor_id tensor);

/* A graph of one node; its inputs are named "in" and the case's input's number. With sequences
 * and optionals there are nodes that make and spread them beside it. */
tn_status tn_case_graph(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                        const tn_case_options *options, tn_graph **out_graph);
/* Types and shapes of that graph's tensors by the operator's own rule. `plan` and what it points to
 * lie in `arena`; the caller calls tn_inference_deinit, also after a failure (*inference zeroed
 * before). */
tn_status tn_case_infer(tn_graph *graph, const tn_case *c, tn_arena *arena, tn_inference_plan *plan,
                        tn_inference *inference);
/* The same of a graph that is sorted: its nodes stay where they are. */
tn_status tn_case_infer_sorted(const tn_graph *graph, const tn_case *c, tn_arena *arena,
                               tn_inference_plan *plan, tn_inference *inference);
tn_status tn_case_run(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                      const tn_case_options *options, tn_outcome *out_outcome);

/* Every kernel's combinations with 8-bit tensors that stand for floating-point values, and those
 * with 16-bit floats where the case has 32-bit ones; prints the failures. */
void tn_stored_check(tn_runtime *runtime, const tn_operator *op, const char *text,
                     size_t *inout_passed, size_t *inout_failed);

/* The same of a device's kernels, on a stream of it, and all their other combinations too. */
void tn_stored_check_on(tn_runtime *runtime, const tn_operator *op, const char *text,
                        const tn_device *device, void *stream, size_t *inout_passed,
                        size_t *inout_failed);

/* Loads the libraries of devices that lie beside the program's folder: the core's own search goes
 * from the core library, which is linked into these programs. */
void tn_device_libraries_load(tn_runtime *runtime);

/* Whether the kernel is one of this operator, in this version. */
bool tn_kernel_serves(const tn_kernel *kernel, const tn_operator *op);
/* Whether two results are the same numbers: bit by bit, or as near as kernels may be. */
/* `slack`: for each output null, or how far each of its elements may be off beyond that; INFINITY:
 * it is not compared. Null: nowhere. */
bool tn_results_near(const tn_outcome *wanted, const tn_outcome *found, double *const *slack,
                     bool is_exact, char *why, size_t bytes);
bool tn_results_equal(const tn_outcome *wanted, const tn_outcome *found, bool is_exact, char *why,
                      size_t bytes);
/* Whether the outputs are what the case itself says of them; `why` names the first that is not. */
bool tn_case_agrees(const tn_operator *op, const tn_case *c, const tn_outcome *found, char *why,
                    size_t bytes);

#endif
