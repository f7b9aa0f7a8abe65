/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a number for tensor cores (matrix.cuh) is stored as, and the word of an operand that 32
 * stored bits are: floats are rounded to tf32, pairs of 16 bits are taken as they lie.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_STORED_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_STORED_CUH

#include <tenon/kit/cuda/matrix.cuh>

namespace {

template <typename T> struct stored;
template <> struct stored<__half> {
    typedef __half type;
    static __device__ __forceinline__ uint32_t word(uint32_t bits) { return bits; }
};
template <> struct stored<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    static __device__ __forceinline__ uint32_t word(uint32_t bits) { return bits; }
};
template <> struct stored<tn_tf32_number> {
    typedef float type;
    static __device__ __forceinline__ uint32_t word(uint32_t bits) {
        return tn_tf32_round(__uint_as_float(bits));
    }
};

} // namespace

#endif
