/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors out of ONNX's messages, for files that have them and what consists of them. */
#ifndef TENON_TENSOR_PB_H
#define TENON_TENSOR_PB_H

#include "importers/onnx/onnx.pb-c.h"
#include "tensor_file.h"

/* False after having said why, with nothing in the tensor. */
bool tensor_pb_take(const char *path, const Tenon__Onnx__TensorProto *proto,
                    file_tensor *out_tensor);

#endif
