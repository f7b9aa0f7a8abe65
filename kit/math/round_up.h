/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that are rounded up. */
#ifndef TN_KIT_MATH_ROUND_UP_H
#define TN_KIT_MATH_ROUND_UP_H

#include <stdint.h>

/* How many parts of `size` there are in `count`, the last one perhaps not whole; both above 0. */
static inline int64_t tn_divide_up(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

/* Bytes up to the next whole cache line, of 64. */
static inline uint64_t tn_whole_lines(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* 32-bit floats up to the next whole vector of 512 bits. */
static inline int64_t tn_whole_vectors(int64_t floats) {
    return (floats + 15) / 16 * 16;
}

#endif
