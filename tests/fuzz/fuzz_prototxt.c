/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the description of a Caffe network, with sound weights of the seeds'
 * first network. What is read as a graph is sorted and complete. Nothing may crash, leak or take
 * long. Its companion fuzz_caffemodel.c changes the weights instead.
 */
#include "caffe_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static onnx_part model; /* made once, for the life of the process */
    if (!model.data) model = caffe_model(false);
    caffe_fuzz_parse(data, bytes, model.data, model.bytes);
    return 0;
}
