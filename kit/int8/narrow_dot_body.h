/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of dot.h for weights of which no two beside each other are too large for sums of
 * 16 bits (tn_dot_bytes_are_narrow): four inputs at once, by products of unsigned with signed
 * bytes, twice as many a vector as 16 bits have. Before it is included, TN_DOT_LEVEL names the
 * table.
 */
#define TN_DOT_NARROW
#include "kit/int8/dot_body.h"
