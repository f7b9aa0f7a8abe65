/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers for tests: the same ones for the same seed, everywhere. The generator is
 * splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
 * 2014).
 */
#ifndef TN_TESTS_RANDOM_H
#define TN_TESTS_RANDOM_H

#include <stdint.h>

typedef struct test_random {
    uint64_t state; /* the seed */
} test_random;

static inline uint64_t random_u64(test_random *source) {
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Within low..high, both included. */
static inline int64_t random_between(test_random *source, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    return (int64_t)((uint64_t)low + (span ? random_u64(source) % span : random_u64(source)));
}

/* At least low, below high. */
static inline double random_real(test_random *source, double low, double high) {
    return low + (high - low) * (double)(random_u64(source) >> 11) * 0x1p-53;
}

#endif
