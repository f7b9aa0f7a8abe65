/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on strings, for tests of tenon/plugin/string.h. */
#include "strings.h"

static const tn_operator *const operators[] = {
    &concat_operator, &split_operator, &select_operator, &flatten_operator,
    &length_operator, &equal_operator, &look_up_operator};
static const tn_kernel *const kernels[] = {&concat_kernel, &select_kernel, &length_kernel};
TN_LIBRARY("strings", "1.0", operators, kernels)
