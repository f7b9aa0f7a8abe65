/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of a warp on tensor cores, 16 rows by 8 columns, sums in 32-bit floats, those of bytes
 * in 32-bit integers. An operand's word is what a lane hands over at once: four neighbours in depth
 * of 8 bits, two of a 16-bit type, one 32-bit float rounded to tf32. Lane 4g + k has rows g and g +
 * 8 of a and column g of b at depth k (in words), and again 4 words deeper in the high words; of
 * the sums, columns 2k and 2k + 1 of row g and then of row g + 8 ("PTX ISA", warp-level matrix
 * instructions). Depth may be numbered in any order that is the same for a and b. Nothing of the
 * host's.
 */
#ifndef TENON_KIT_CUDA_MATRIX_CUH
#define TENON_KIT_CUDA_MATRIX_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* A 32-bit float that is rounded to tf32 for products. */
struct tn_tf32_number {
    float value;
};

/* 8 words deep: a is row g low, row g + 8 low, row g high, row g + 8 high; b low and high. */
#define TN_MATRIX_DEEP(shape, c, a0, a1, a2, a3, b0, b1)                                           \
    asm("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"         \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                           \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
/* 4 words deep. */
#define TN_MATRIX_FLAT(shape, c, a0, a1, b0)                                                       \
    asm("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                  \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                           \
        : "r"(a0), "r"(a1), "r"(b0))

template <typename T> struct tn_matrix;
template <> struct tn_matrix<__half> {
    enum { each = 2 }; /* elements a word */
    static __device__ __forceinline__ void deep(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0,
                                                uint32_t b1) {
        TN_MATRIX_DEEP("m16n8k16.row.col.f32.f16.f16.f32", c, a0, a1, a2, a3, b0, b1);
    }
    static __device__ __forceinline__ void flat(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t b0) {
        TN_MATRIX_FLAT("m16n8k8.row.col.f32.f16.f16.f32", c, a0, a1, b0);
    }
};
template <> struct tn_matrix<__nv_bfloat16> {
    enum { each = 2 };
    static __device__ __forceinline__ void deep(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0,
                                                uint32_t b1) {
        TN_MATRIX_DEEP("m16n8k16.row.col.f32.bf16.bf16.f32", c, a0, a1, a2, a3, b0, b1);
    }
    static __device__ __forceinline__ void flat(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t b0) {
        TN_MATRIX_FLAT("m16n8k8.row.col.f32.bf16.bf16.f32", c, a0, a1, b0);
    }
};
template <> struct tn_matrix<tn_tf32_number> {
    enum { each = 1 };
    static __device__ __forceinline__ void deep(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0,
                                                uint32_t b1) {
        TN_MATRIX_DEEP("m16n8k8.row.col.f32.tf32.tf32.f32", c, a0, a1, a2, a3, b0, b1);
    }
    static __device__ __forceinline__ void flat(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t b0) {
        TN_MATRIX_FLAT("m16n8k4.row.col.f32.tf32.tf32.f32", c, a0, a1, b0);
    }
};
/* Sums are exact; one beyond 32 bits wraps around. */
template <> struct tn_matrix<int8_t> {
    enum { each = 4 };
    static __device__ __forceinline__ void deep(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                                uint32_t a3, uint32_t b0, uint32_t b1) {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
};

#undef TN_MATRIX_DEEP
#undef TN_MATRIX_FLAT

/* Four matrices of 8 rows of 16 bytes from shared memory, where lane 8i + r says where row r of
 * matrix i lies, aligned to 16 bytes; lane 4g + k gets word k of row g of each. */
static __device__ __forceinline__ void tn_matrix_load(uint32_t (&to)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

/* The bits of a float rounded to tf32, nearest, ties away from zero. */
static __device__ __forceinline__ uint32_t tn_tf32_round(float x) {
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
}

#endif
