/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the products of queries and keys in Attention: which keys a row sees, masks, and
 * the online softmax. Private to cuda_online.cuh. */
#ifndef TN_LAYERS_ATTENTION_CUDA_CUDA_SCORE_CUH
#define TN_LAYERS_ATTENTION_CUDA_CUDA_SCORE_CUH

#include "attention/cuda/cuda_attention.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <float.h>
#include <math.h>

namespace {

/* The keys that a row sees. */
struct seen {
    int begin, end;
};

__device__ __forceinline__ seen seen_of(const tn_cuda_attention &job, int batch, int row) {
    seen range = {0, 0};
    if (row >= job.group * job.queries) return range;
    int length = job.keys;
    if (job.lengths) {
        const int64_t given = job.lengths[batch];
        length = given < 0 ? 0 : given < job.keys ? (int)given : job.keys;
    }
    const int position = row % job.queries + (job.lengths ? length - job.queries : job.past);
    range.end = min(length, job.mask_keys);
    if (job.right >= 0) range.end = min(range.end, position + job.right + 1);
    range.end = max(range.end, 0);
    if (job.left >= 0) range.begin = max(position - job.left, 0);
    range.begin = min(range.begin, range.end);
    return range;
}

__device__ __forceinline__ float mask_at(const tn_cuda_attention &job, int64_t at) {
    switch (job.mask_type) {
    case TN_CUDA_MASK_BOOL:
        return ((const uint8_t *)job.mask)[at] ? 0.0f : -INFINITY;
    case TN_CUDA_MASK_F32:
        return ((const float *)job.mask)[at];
    case TN_CUDA_MASK_F16:
        return __half2float(((const __half *)job.mask)[at]);
    default:
        return __bfloat162float(((const __nv_bfloat16 *)job.mask)[at]);
    }
}

/* What a warp has of its rows: row g and row g + 8 of this lane. */
template <typename F, int D> struct rows_state {
    float largest[2], total[2];
    float sums[D / 8][4];
    seen range[2];
    int64_t mask[2]; /* where the rows of the mask begin */
};

/* Whether a row sees all of a warp's keys of a tile. */
template <typename F> __device__ __forceinline__ bool sees_all(const seen &range, int first) {
    return range.begin <= first && first + F::OWN <= range.end;
}

/* Finite where the bias is: the lowest number, as masks have it, stays above minus infinity. */
__device__ __forceinline__ float in_units(float bias, float unit) {
    const float scaled = bias * unit;
    return isinf(scaled) && !isinf(bias) ? copysignf(FLT_MAX, bias) : scaled;
}

__device__ __noinline__ float cap(float score, float softcap) {
    return softcap * tanhf(score / softcap);
}

/* A score as its row sees it; minus infinity where it does not see the key. */
template <typename F>
__device__ __forceinline__ float cover(const tn_cuda_attention &job, const seen &range,
                                       int64_t mask, int key, float unit, float score) {
    if (key < range.begin || key >= range.end) return -INFINITY;
    if (F::IS_BARE || job.mask_type == TN_CUDA_NO_MASK) return score;
    const float bias = mask_at(job, mask + key * job.mask_step[3]);
    return bias == -INFINITY ? bias : score + in_units(bias, unit);
}

/* The products become scores: scaled, capped, masked. */
template <typename F, int D>
__device__ __forceinline__ void finish_scores(const tn_cuda_attention &job, int first,
                                              const rows_state<F, D> &rows, float (&s)[F::NT][4]) {
    const int t = threadIdx.x & 3;
    const float unit = F::powers::UNIT, scale = job.scale * unit;
#pragma unroll
    for (int n = 0; n < F::NT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[n][i] *= scale;
    if (!F::IS_BARE && job.softcap > 0) {
#pragma unroll
        for (int n = 0; n < F::NT; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] = cap(s[n][i], job.softcap * unit);
    }
    if ((F::IS_BARE || job.mask_type == TN_CUDA_NO_MASK) && sees_all<F>(rows.range[0], first) &&
        sees_all<F>(rows.range[1], first))
        return;
#pragma unroll
    for (int n = 0; n < F::NT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[n][i] = cover<F>(job, rows.range[i / 2], rows.mask[i / 2],
                               first + n * 8 + 2 * t + i % 2, unit, s[n][i]);
}

/* Scores become weights, and what there is of earlier tiles is scaled to the same offset. */
template <typename F, int D>
__device__ __forceinline__ void soften(rows_state<F, D> &rows, float (&s)[F::NT][4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float largest = -INFINITY, total = 0;
#pragma unroll
        for (int n = 0; n < F::NT; n++)
            largest = fmaxf(largest, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        largest = fmaxf(largest, rows.largest[half]);
        const float offset = largest == -INFINITY ? 0.0f : largest;
        const float factor = F::powers::of(rows.largest[half] - offset);
#pragma unroll
        for (int n = 0; n < F::NT; n++)
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; i++)
                total += s[n][i] = F::powers::of(s[n][i] - offset);
        rows.largest[half] = largest;
        rows.total[half] = rows.total[half] * factor + total;
#pragma unroll
        for (int d = 0; d < D / 8; d++) {
            rows.sums[d][2 * half] *= factor;
            rows.sums[d][2 * half + 1] *= factor;
        }
    }
}

} // namespace

#endif
