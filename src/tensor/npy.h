/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor as one of NumPy's .npy files, for people who look for a fault. */
#ifndef TN_TENSOR_NPY_H
#define TN_TENSOR_NPY_H

#include "tensor/shape.h"

/* Writes version 1.0 of the format (numpy.lib.format in NumPy's documentation), in rows, whatever
 * the tensor's format; bfloat16 as 32-bit floats. TN_ERROR_IO, TN_ERROR_MEMORY. */
tn_status tn_npy_write(const tn_allocator *allocator, const char *path, const tn_tensor *tensor);

#endif
