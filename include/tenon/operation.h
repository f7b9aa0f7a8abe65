/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operator without a network: the types and shapes of its outputs, and its result, on the
 * processor. For who has a single thing to compute; a network is faster as a plan.
 *
 *     tn_operation_create -> tn_operation_infer, tn_operation_run, as often as wanted
 */
#ifndef TENON_OPERATION_H
#define TENON_OPERATION_H

#include <tenon/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_operation tn_operation;

/* What to compute. Texts, arrays and attributes are copied. */
typedef struct tn_operation_description {
    uint32_t size;
    uint32_t version;                   /* of the operator's opset; 0: the newest registered */
    const char *domain, *op;            /* domain null: "" */
    uint32_t input_count, output_count; /* as many as are given to infer and run */
    uint64_t attribute_count;
    const tn_attribute *const *attributes; /* as in tn_node_description; no graphs */
    /* Bit i: input i is a weight. While its pointer, type and shape stay the same, so does its
     * data, which is read once. Kernels that pack weights (of convolutions, say) are there for
     * constants alone. */
    uint64_t constant_inputs;
    uint32_t threads;  /* at most 1024; 0: one for each core that this process may use */
    uint32_t reserved; /* 0 */
} tn_operation_description;

/* Finds the operator and checks its attributes. TN_ERROR_UNSUPPORTED with the nearest name or
 * version (also an attribute that is a graph); TN_ERROR_ARGUMENT, TN_ERROR_RANGE, TN_ERROR_TYPE
 * name the field; TN_ERROR_MEMORY. The caller destroys it; it holds a reference to the runtime.
 * [thread: one at a time for one operation, in all calls here] */
TN_EXPORT tn_status tn_operation_create(tn_runtime *runtime,
                                        const tn_operation_description *description,
                                        tn_operation **out_operation);
TN_EXPORT void tn_operation_destroy(tn_operation *operation); /* null is fine */

/* The types, ranks and shapes of the outputs. `inputs` are input_count linear tensors, null for an
 * absent one, of which `type`, `rank` and `shape` are read, and `data` where values decide shapes.
 * `outputs` are output_count tensors, null for one that is not wanted: `type`, `rank` and `shape`,
 * which has room for TN_MAX_RANK, are written. Of an output that only a run sizes it is the largest
 * shape that it can have, with -1 for an extent that nothing bounds. Errors name operator and
 * input: TN_ERROR_ARGUMENT, TN_ERROR_TYPE, TN_ERROR_SHAPE, TN_ERROR_RANGE, TN_ERROR_UNSUPPORTED (a
 * sequence or an optional), TN_ERROR_MEMORY; outputs are untouched then. */
TN_EXPORT tn_status tn_operation_infer(tn_operation *operation, const tn_tensor *const *inputs,
                                       tn_tensor *const *outputs);

/* Computes the outputs. Inputs as in tn_operation_infer, each with its data; memory aligned to 64
 * bytes is read in place. Of an output with `data`, which has `bytes`, that memory is written, and
 * must not overlap others; with null `data`, `data` and `bytes` become those of memory that the
 * operation keeps until its next call. `type`, `rank` and `shape` are written as above.
 *
 * The kernel is the first by rule for these types and shapes (nothing is timed), and the reference
 * where there is none. The first run with types, shapes, values that decide shapes, or constants
 * prepares (about a millisecond and more); the last eight such sets are kept. A further run with
 * one of them allocates nothing. Errors as above, and TN_ERROR_ARGUMENT where an output's memory is
 * too small, and what a kernel fails with. On failure the outputs' tensors are untouched, and what
 * is in their memory is undefined. */
TN_EXPORT tn_status tn_operation_run(tn_operation *operation, const tn_tensor *const *inputs,
                                     tn_tensor *const *outputs);

/* What the last run was done by, as tn_engine_report has it; "" before. Owned by the operation,
 * until its next call. */
TN_EXPORT const char *tn_operation_report(const tn_operation *operation);

#ifdef __cplusplus
}
#endif
#endif
