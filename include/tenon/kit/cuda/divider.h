/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Division of numbers below 2^31 by one from 1 to 2^31 - 1 that is known when a kernel is launched:
 * a multiplication and a shift (Granlund and Montgomery, "Division by invariant integers using
 * multiplication", 1994). The host's part; dividing is tenon/kit/cuda/number.cuh.
 */
#ifndef TENON_KIT_CUDA_DIVIDER_H
#define TENON_KIT_CUDA_DIVIDER_H

#ifndef __CUDACC_RTC__
#include <stdint.h>
#endif

typedef struct tn_divider {
    uint32_t divisor, multiplier, shift;
} tn_divider;

#ifndef __CUDACC_RTC__
static inline tn_divider tn_divider_make(uint32_t divisor) {
    tn_divider d = {divisor, 0, 0};
    while (d.shift < 32 && (UINT64_C(1) << d.shift) < divisor)
        d.shift++;
    d.multiplier =
        (uint32_t)(((UINT64_C(1) << 32) * ((UINT64_C(1) << d.shift) - divisor)) / divisor + 1);
    return d;
}
#endif

#endif
