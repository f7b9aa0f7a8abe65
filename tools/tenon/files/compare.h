/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing an output with what is expected: type and shape exactly, numbers within tolerances, NaN
 * equals NaN. */
#ifndef TENON_COMPARE_H
#define TENON_COMPARE_H

#include "tensor_file.h"

typedef struct tolerance {
    double rtol, atol;
    double of_largest; /* a share of the largest magnitude that is expected, for 8-bit integers */
} tolerance;

/* Reads "rtol" and "atol" of a data.json; what is not there stays. */
void tolerance_read(const char *path, tolerance *inout_tolerance);
/* False with the reason in `why`. */
bool compare_tensors(const char *name, const file_tensor *expected, const tn_tensor *found,
                     const tolerance *allowed, char *why, size_t why_bytes);

#endif
