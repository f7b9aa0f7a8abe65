/* SPDX-License-Identifier: Apache-2.0 */
/* The stub device alone, for kernels of other libraries. */
#include "stub.h"

const tn_kernel *const tn_stub_kernels[] = {NULL};
const uint64_t tn_stub_kernel_count = 0;
