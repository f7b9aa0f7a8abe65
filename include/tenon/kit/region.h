/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes of elements that are copied from one tensor to another with strides of their own on both
 * sides: what operators that only move data (Concat, Slice, Expand, Transpose) come down to.
 * Elements are bytes: 1, 2, 4 or 8 of them, or the 16 of a string's tn_string, whose heap the
 * caller shares.
 */
#ifndef TENON_KIT_REGION_H
#define TENON_KIT_REGION_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Strides count elements; a source may be repeated (stride 0) or read backwards. */
typedef struct tn_region {
    uint32_t rank;
    size_t element_bytes;
    int64_t extents[TN_MAX_RANK + 1], to_strides[TN_MAX_RANK + 1], from_strides[TN_MAX_RANK + 1];
} tn_region;

/* Row-major strides of a shape. */
void tn_region_strides(uint32_t rank, const int64_t *shape, int64_t *out_strides);
/* A whole tensor of this shape, row-major on both sides. */
void tn_region_init(tn_region *region, uint32_t rank, const int64_t *shape, tn_type type);
/* Takes out axes of one element and joins axes that both sides traverse as one. At least one axis
 * is left. False when there are no elements. */
bool tn_region_simplify(tn_region *region);

/* How a region is copied; the status is for those that use threads. */
typedef tn_status (*tn_region_mover)(tn_call *call, const tn_region *region, void *to,
                                     const void *from);
/* On the calling thread; never fails. `call` is not used, and may be null. */
tn_status tn_region_copy(tn_call *call, const tn_region *region, void *to, const void *from);
/* On the engine's threads. [called: run] */
tn_status tn_region_copy_parallel(tn_call *call, const tn_region *region, void *to,
                                  const void *from);

/* The kernel table of an operator that moves data: any type, linear. */
#define TN_REGION_KERNEL(operator_name, kernel_run)                                                \
    TN_REGION_KERNEL_OF("", operator_name, kernel_run)
/* The same in another domain than ONNX's own. */
#define TN_REGION_KERNEL_OF(domain_name, operator_name, kernel_run)                                \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = domain_name, .op = operator_name,      \
        .device = "cpu", .name = "runs", .doc = "Runs of elements copied on all threads.",         \
        .traits = TN_KERNEL_DETERMINISTIC, .run = kernel_run,                                      \
    }

/* The same on 8-bit tensors that stand for floating-point values: input 0 (of variadic ports all)
 * and the outputs must have one scale, so that bits can be copied. [called: build, load] */
tn_status tn_region_bytes_accepts(tn_call *call) TN_NOEXCEPT;
#define TN_REGION_BYTES_KERNEL(operator_name, combination_table, kernel_accepts, kernel_run)       \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "", .op = operator_name,               \
        .device = "cpu", .name = "int8_runs",                                                      \
        .doc = "Runs of 8-bit elements copied on all threads.", .traits = TN_KERNEL_DETERMINISTIC, \
        TN_COMBINATIONS(combination_table), .accepts = kernel_accepts, .run = kernel_run,          \
    }
/* One tensor in, one out, and others that say where. */
extern const char *const tn_region_bytes_combinations[1];

#ifdef __cplusplus
}
#endif

#endif
