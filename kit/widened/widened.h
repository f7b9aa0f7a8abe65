/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of 16-bit floats by kernels of 32-bit ones: inputs are widened into the workspace
 * (constants once, in prepare), the other kernel runs, and its outputs are rounded. For kernels of
 * linear tensors whose `accepts` reads no values of more than four elements; inputs of other types
 * are handed on.
 */
#ifndef TN_KIT_WIDENED_WIDENED_H
#define TN_KIT_WIDENED_WIDENED_H

#include "kit/operator/layer.h"

/* The callbacks; `user` points at the kernel of 32-bit floats. */
tn_status tn_widened_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_widened_prepare(tn_call *call) TN_NOEXCEPT;
void tn_widened_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_widened_open(tn_call *call) TN_NOEXCEPT;
void tn_widened_close(tn_call *call) TN_NOEXCEPT;
tn_status tn_widened_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_widened_run(tn_call *call) TN_NOEXCEPT;

/* Defines the kernels PREFIX of an operator of ONNX's by the kernels BASE of the same levels;
 * `table`: the combinations, of f16 and bf16. */
#define TN_WIDENED_KERNELS(prefix, base, operator_name, more_traits, table)                        \
    TN_WIDENED_KERNELS_OF(prefix, TN_LEVELS_MADE, base, operator_name, more_traits, table)
/* The same of any levels: `levels` is the macro. */
#define TN_WIDENED_KERNELS_OF(prefix, levels, base, operator_name, more_traits, table)             \
    TN_LEVEL_KERNELS_OF(                                                                           \
        static, prefix, levels(base), "", 1, operator_name, "widened",                             \
        "16-bit floats, computed in 32 bits.", .traits = TN_KERNEL_DETERMINISTIC | (more_traits),  \
        TN_COMBINATIONS(table), .accepts = tn_widened_accepts, .prepare = tn_widened_prepare,      \
        .release = tn_widened_release, .open = tn_widened_open, .close = tn_widened_close,         \
        .reshape = tn_widened_reshape, .run = tn_widened_run)

#endif
