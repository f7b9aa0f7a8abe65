/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor levels. A loop of the kit is compiled once for each of them, and each level's functions
 * are a table of their own, named after it: tn_rows_baseline, tn_rows_avx2, tn_rows_avx512.
 *
 *     baseline     what every processor of the architecture has (x86-64: SSE2)
 *     avx2         AVX2 and FMA
 *     avx512       AVX-512 F, BW, VL, DQ
 *     avx512vnni   those with VNNI, for products of 8 bits
 *
 * A plugin gives the host a kernel for each level, whose `requires_features` is the level's; the
 * host offers those that the processor has, and they compete by measured time. Code that is no
 * kernel asks tn_kit_level. Functions of a level may run only where its features are.
 *
 * Loops of a plugin's own are compiled so by the package's CMake function tenon_kit_levels
 * (docs/kernel-kit.md). On other architectures than x86-64 the baseline stands for all levels.
 */
#ifndef TENON_KIT_LEVELS_H
#define TENON_KIT_LEVELS_H

#include <stddef.h>
#include <tenon/kit/version.h>

/* For tn_kernel.requires_features. */
#define TN_KIT_FEATURES_baseline   NULL
#define TN_KIT_FEATURES_avx2       "avx2,fma"
#define TN_KIT_FEATURES_avx512     "avx512f,avx512bw,avx512vl,avx512dq"
#define TN_KIT_FEATURES_avx512vnni "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"

typedef enum tn_kit_level_number {
    TN_KIT_BASELINE = 0,
    TN_KIT_AVX2 = 1,
    TN_KIT_AVX512 = 2
} tn_kit_level_number;

/* The highest level of this processor. [thread: any] */
static inline tn_kit_level_number tn_kit_level(void) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return TN_KIT_BASELINE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
               ? TN_KIT_AVX512
               : TN_KIT_AVX2;
#else
    return TN_KIT_BASELINE;
#endif
}

/* The table of that level: TN_KIT_BEST(tn_rows)->maps[TN_MAP_EXP]. */
#define TN_KIT_BEST(table)                                                                         \
    (tn_kit_level() == TN_KIT_AVX512 ? &table##_avx512                                             \
     : tn_kit_level() == TN_KIT_AVX2 ? &table##_avx2                                               \
                                     : &table##_baseline)

#if !defined(__x86_64__)
#define tn_rows_avx2       tn_rows_baseline
#define tn_rows_avx512     tn_rows_baseline
#define tn_matrix_avx2     tn_matrix_baseline
#define tn_matrix_avx512   tn_matrix_baseline
#define tn_reduce_avx2     tn_reduce_baseline
#define tn_reduce_avx512   tn_reduce_baseline
#define tn_resample_avx2   tn_resample_baseline
#define tn_resample_avx512 tn_resample_baseline
#define tn_dot_avx2        tn_dot_baseline
#define tn_dot_avx512vnni  tn_dot_baseline
#endif

#endif
