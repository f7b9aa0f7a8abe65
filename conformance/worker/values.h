/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that are drawn for a case's inputs: beside small ones those that show mistakes of
 * sign, width, overflow and precision in each element type. From a seed: the same ones every time.
 */
#ifndef TN_CONFORMANCE_WORKER_VALUES_H
#define TN_CONFORMANCE_WORKER_VALUES_H

#include "tensor/type.h"

enum {
    TN_VALUES_CASE = 0,  /* the case's own */
    TN_VALUES_SMALL = 1, /* others of the same kind: floats within 2, integers from 0 to 7 */
    /* floats within 120; all values of 8 and 16 bits; wider integers beyond what the next smaller
     * type and a float hold, of which a hundred can be added */
    TN_VALUES_WIDE = 2,
    /* floats of magnitudes from 2^-30 to 2^33 (f16: to 65504), subnormal halves among them;
     * integers of which two can be multiplied */
    TN_VALUES_LARGE = 3,
    TN_VALUES_ENDS = 4,  /* integers at both ends of their type; floats below 2^-13, runs of them
                          below  2^-19, halves below 2^-10 and 2^-16 */
    TN_VALUES_EQUAL = 5, /* few different ones, so that many are equal: floats -2, -1.5, ... 2 */
    TN_VALUES_ZEROS = 6, /* floats of magnitudes from 1 to 2, every other one minus zero */
    TN_VALUES_BELOW = 7, /* floats from -30 to -4, and */
    TN_VALUES_ABOVE = 8, /* from 4 to 30: where no large ones hide what is small */
    TN_VALUES_COUNT = 9,
    /* of elementwise functions: */
    TN_VALUES_HUGE = 9,     /* floats of magnitudes from 2^60 to 2^99, whose squares overflow */
    TN_VALUES_SPECIAL = 10, /* NaN, infinities, zeros and a subnormal number among others */
    TN_VALUES_ELEMENTWISE_COUNT = 11,
    /* of what compares and sorts: */
    TN_VALUES_TIES = 11,   /* floats: zeros of both signs among -1 and 1 */
    TN_VALUES_SORTED = 12, /* from the least to the greatest; floats within 60 */
    /* of what averages: integers of 32 and 64 bits of which two leave the type when they are added,
     * all above 0 */
    TN_VALUES_HIGH = 13,
    TN_VALUES_TINY = 14, /* floats: subnormal ones, whose reciprocals are infinite */
    TN_VALUES_SAME = 15, /* one value alone, so that more than 65,536 are counted together */
    TN_VALUES_ALL_COUNT = 16
};

/* Of strings the kinds are others (strings/strings.h): tied ones have common prefixes and equal
 * lengths, negative ones are blanks, positive ones decimal numbers, large ones have lengths around
 * powers of two, extreme ones are no UTF-8. */

/* A generator of 64 bits (splitmix64, Steele et al., "Fast Splittable Pseudorandom Number
 * Generators", 2014). */
uint64_t tn_random_next(uint64_t *inout_state);
/* From 0 to `count` - 1; `count` at least 1. */
uint64_t tn_random_below(uint64_t *inout_state, uint64_t count);

/* "wide" and so on, for messages. */
const char *tn_values_name(uint32_t values);
/* Whether the type has values of this kind that the others do not have. */
bool tn_values_apply(tn_type type, uint32_t values);
void tn_values_draw(void *data, tn_type type, size_t count, uint32_t values, uint64_t *inout_state);

#endif
