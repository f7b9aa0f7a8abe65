/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the fuzz target for Caffe networks into a folder: the tests' network, one of
 * each kind of layer, old forms, and a binary description.
 *
 *     make_prototxt_corpus FOLDER
 */
#include <stdio.h>
#include <stdlib.h>

#include "caffe_test.h"

static const char *folder;
static int made;

static void save(const void *data, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%03d.prototxt", folder, made++);
    onnx_write_file(path, data, bytes);
}

/* A layer of each type on two inputs, with what it is most often given. */
static void save_layer(const char *type, const char *params, int bottoms) {
    char text[1024];
    int length = snprintf(
        text, sizeof(text),
        "input: \"x\" input_shape { dim: 2 dim: 3 dim: 6 dim: 6 } input: \"z\" input_shape { dim: "
        "2 "
        "dim: 3 dim: 6 dim: 6 }\nlayer { name: \"%s\" type: \"%s\" bottom: \"x\"%s top: \"y\" %s }",
        "conv", type, bottoms > 1 ? " bottom: \"z\"" : "", params);
    save(text, (size_t)length);
}

static void save_layers(void) {
    static const struct {
        const char *type, *params;
        int bottoms;
    } layers[] = {
        {"Convolution", "convolution_param { num_output: 4 kernel_h: 3 kernel_w: 2 }", 1},
        {"Deconvolution", "convolution_param { num_output: 3 kernel_size: 2 group: 3 }", 1},
        {"Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR }", 1},
        {"Pooling", "pooling_param { pool: AVE global_pooling: true }", 1},
        {"PReLU", "prelu_param { channel_shared: true }", 1},
        {"ELU", "elu_param { alpha: 2 }", 1},
        {"AbsVal", "", 1},
        {"BNLL", "", 1},
        {"Power", "power_param { power: 2 scale: 0 shift: 1 }", 1},
        {"Exp", "exp_param { base: 2 }", 1},
        {"Log", "log_param { base: 10 shift: 1 }", 1},
        {"Threshold", "threshold_param { threshold: 0.5 }", 1},
        {"Clip", "clip_param { min: 0 max: inf }", 1},
        {"Swish", "swish_param { beta: 2 }", 1},
        {"LRN", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }", 1},
        {"LRN", "lrn_param { local_size: 3 k: 2 }", 1},
        {"MVN", "mvn_param { across_channels: true }", 1},
        {"Bias", "bias_param { axis: 0 }", 2},
        {"Scale", "scale_param { axis: 0 num_axes: -1 }", 2},
        {"Eltwise", "eltwise_param { operation: SUM coeff: 1 coeff: -1 }", 2},
        {"Eltwise", "eltwise_param { operation: MAX }", 2},
        {"Concat", "concat_param { axis: -1 }", 2},
        {"ArgMax", "argmax_param { top_k: 2 out_max_val: true }", 1},
        {"Slice", "slice_param { axis: 1 }", 1},
        {"Split", "", 1},
        {"Reduction", "reduction_param { operation: SUMSQ axis: 1 coeff: 2 }", 1},
        {"ArgMax", "argmax_param { out_max_val: true }", 1},
        {"Flatten", "flatten_param { axis: 1 end_axis: 2 }", 1},
        {"Permute", "permute_param { order: [0, 2, 3, 1] }", 1},
        {"Crop", "crop_param { axis: 2 offset: 1 }", 2},
        {"Tile", "tile_param { axis: 1 tiles: 2 }", 1},
        {"Normalize", "norm_param { across_spatial: false }", 1},
        {"PriorBox", "prior_box_param { min_size: 3 max_size: 5 aspect_ratio: 2 }", 2},
        {"SPP", "spp_param { pyramid_height: 2 pool: MAX }", 1},
        {"Interp", "interp_param { zoom_factor: 2 }", 1},
        {"Embed", "embed_param { num_output: 4 input_dim: 5 }", 1},
        {"LSTM", "recurrent_param { num_output: 2 }", 2},
        {"RNN", "recurrent_param { num_output: 2 expose_hidden: true }", 2},
        {"MemoryData", "memory_data_param { channels: 3 height: 4 width: 5 }", 1},
        {"Fields", "a_param { number: 1 b { c: \"d\" } list: 1 list: 2 }", 1},
        {"Python", "python_param { module: \"m\" layer: \"l\" }", 1},
    };
    for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++)
        save_layer(layers[i].type, layers[i].params, layers[i].bottoms);
}

static void save_old(void) {
    static const char text[] =
        "input: \"x\" input_dim: 1 input_dim: 3 input_dim: 6 input_dim: 5\n"
        "layers { name: \"conv\" type: CONVOLUTION bottom: \"x\" top: \"c\" blobs_lr: 1 param: "
        "\"w\"\n"
        "  convolution_param { num_output: 4 kernel_h: 3 kernel_w: 2 pad: 0 } }\n"
        "layers { name: \"r\" type: 18 bottom: \"c\" top: \"c\" }\n"
        "layers { name: \"l\" type: SOFTMAX_LOSS bottom: \"c\" bottom: \"label\" }\n";
    save(text, strlen(text));
}

/* An input and a Power layer in binary form. */
static void save_binary(void) {
    onnx_part network = {0}, layer = {0}, inner = {0}, shape = {0};
    onnx_part_text(&network, 1, "net");
    onnx_part_text(&layer, 1, "x");
    onnx_part_text(&layer, 2, "Input");
    onnx_part_text(&layer, 4, "x");
    for (int i = 0; i < 2; i++)
        onnx_part_number(&shape, 1, 3);
    onnx_part_move(&inner, 1, &shape);
    onnx_part_move(&layer, 143, &inner);
    onnx_part_move(&network, 100, &layer);
    onnx_part_text(&layer, 1, "p");
    onnx_part_text(&layer, 2, "Power");
    onnx_part_text(&layer, 3, "x");
    onnx_part_text(&layer, 4, "y");
    onnx_part_float(&inner, 2, 3);
    onnx_part_move(&layer, 122, &inner);
    onnx_part_text(&layer, 999, "a");
    onnx_part_move(&network, 100, &layer);
    save(network.data, network.bytes);
    onnx_part_free(&network);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    save(caffe_network, strlen(caffe_network));
    save(caffe_recurrent_network, strlen(caffe_recurrent_network));
    size_t weighed_bytes = 0;
    char *weighed = caffe_network_with_weights(&weighed_bytes);
    save(weighed, weighed_bytes);
    free(weighed);
    save_layers();
    save_old();
    save_binary();
    printf("%d seeds\n", made);
    return 0;
}
