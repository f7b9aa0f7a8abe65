/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of dot.h for AVX2 with products of 16 bits: for weights most of whose groups
 * narrow_dot_body.h would multiply so, and for those that are packed in each run. Before it is
 * included, TN_DOT_LEVEL names the table.
 */
#include "kit/int8/dot_body.h"
