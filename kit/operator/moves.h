/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that move elements. Such an operator is one function of a mover (tenon/kit/region.h),
 * from which its reference and its kernels follow: here those of the processor, in
 * kit/cuda/region/region.h those of CUDA.
 */
#ifndef TN_KIT_OPERATOR_MOVES_H
#define TN_KIT_OPERATOR_MOVES_H

#include "kit/operator/layer.h"
#include "kit/operator/strings.h"
#include <tenon/kit/region.h>

/* Defines PREFIX_reference, which moves strings of input 0 as well, and, for kernels, PREFIX_run.
 */
#define TN_MOVES(prefix, move)                                                                     \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        const tn_status status = move(call, tn_region_copy);                                       \
        return status == TN_OK ? tn_strings_share(call, 0) : status;                               \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return move(call, tn_region_copy_parallel);                                                \
    }

/* The same of a function that is told whether to use the engine's threads. */
#define TN_MOVES_PARALLEL(prefix, move)                                                            \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        const tn_status status = move(call, false);                                                \
        return status == TN_OK ? tn_strings_share(call, 0) : status;                               \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return move(call, true);                                                                   \
    }

/* Defines the kernels PREFIX_runs, for any type, and PREFIX_bytes, of an operator of ONNX's with
 * one tensor that is moved. */
#define TN_MOVE_KERNELS(prefix, operator_name)                                                     \
    static const tn_kernel prefix##_runs = TN_REGION_KERNEL(operator_name, prefix##_run);          \
    static const tn_kernel prefix##_bytes = TN_REGION_BYTES_KERNEL(                                \
        operator_name, tn_region_bytes_combinations, tn_region_bytes_accepts, prefix##_run)

#endif
