/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests and fuzz targets of the Caffe reader share: small networks as text, and models
 * with weights in both forms. The wire is onnx_writer.h's. */
#ifndef TN_TESTS_CAFFE_TEST_H
#define TN_TESTS_CAFFE_TEST_H

#include "onnx_writer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAFFE_MODEL_OLD_LAYER = 2,
    CAFFE_MODEL_LAYER = 100,
    CAFFE_LAYER_NAME = 1,
    CAFFE_LAYER_BLOB = 7,
    CAFFE_OLD_LAYER_NAME = 4,
    CAFFE_OLD_LAYER_BLOB = 6,
    CAFFE_BLOB_DATA = 5,
    CAFFE_BLOB_SHAPE = 7,
    CAFFE_BLOB_DOUBLE = 8
};

/* A bit of everything that a text can hold: rules, in-place layers, lists, escapes, comments. */
static const char caffe_network[] =
    "# a network\n"
    "name: \"mixed\\x20net\" 'work'\n"
    "state { level: 1 stage: \"deploy\" }\n"
    "layer { name: \"data\" type: \"Input\" top: \"x\" top: \"z\"\n"
    "  input_param { shape { dim: 2 dim: 3 dim: 6 dim: 5 } } }\n"
    "layer { name: \"gone\" type: \"Data\" top: \"x\" include { phase: TRAIN } data_param { what: "
    "1 } }\n"
    "layer { name: \"conv\" type: \"Convolution\" bottom: \"x\" top: \"y\"\n"
    "  convolution_param { num_output: 4 kernel_size: [3, 0x2] pad_h: 1 pad_w: 0 stride: 1\n"
    "    weight_filler { type: \"xavier\" } } }\n"
    "layer { name: \"norm\" type: \"BatchNorm\" bottom: \"y\" top: \"y\" }\n"
    "layer { name: \"scale\" type: \"Scale\" bottom: \"y\" top: \"y\" scale_param { bias_term: "
    "true } }\n"
    "layer { name: \"relu\" type: \"ReLU\" bottom: \"y\" top: \"y\" relu_param { negative_slope: "
    "1.e-1f } }\n"
    "layer { name: \"drop\" type: \"Dropout\" bottom: \"y\" top: \"y\" }\n"
    "layer { name: \"pool\" type: \"Pooling\" bottom: \"y\" top: \"p\"\n"
    "  pooling_param < pool: AVE, kernel_size: 3; stride: 2 pad: 1 > }\n"
    "layer { name: \"power\" type: \"Power\" bottom: \"z\" top: \"w\" power_param { power: 2 "
    "scale: - .5 } }\n"
    "layer { name: \"staged\" type: \"TanH\" bottom: \"w\" top: \"w\" include { stage: \"deploy\" "
    "min_level: 1 } }\n"
    "layer { name: \"own\" type: \"Fields\" bottom: \"w\" top: \"f\"\n"
    "  fields_param { number: 3 list: [1, 2] mode: fast text: \"t\" factors: 0.5 factors: 2 } }\n"
    "layer { name: \"ip\" type: \"InnerProduct\" bottom: \"p\" top: \"ip\" inner_product_param { "
    "num_output: 2 } }\n"
    "layer { name: \"prob\" type: \"Softmax\" bottom: \"ip\" top: \"prob\" }\n"
    "layer { name: \"accuracy\" type: \"Accuracy\" bottom: \"ip\" bottom: \"label\" top: "
    "\"accuracy\" }\n";

/* The blobs of caffe_network: layer, then extents ended by 0; a line for each blob. */
static const struct {
    const char *layer;
    uint32_t rank;
    int64_t extents[4];
} caffe_blobs[] = {
    {"conv", 4, {4, 3, 3, 2}}, {"conv", 1, {4}},  {"norm", 1, {4}},  {"norm", 1, {4}},
    {"norm", 1, {1}},          {"scale", 1, {4}}, {"scale", 1, {4}}, {"own", 2, {2, 3}},
    {"ip", 2, {2, 48}},        {"ip", 1, {2}},
};

/* An LSTM with a static input, and an RNN on what it gives, with their weights: a whole network. */
static const char caffe_recurrent_network[] =
    "layer { name: \"in\" type: \"Input\" top: \"x\" top: \"cont\" top: \"s\"\n"
    "  input_param { shape { dim: 3 dim: 2 dim: 2 dim: 1 } shape { dim: 3 dim: 2 }\n"
    "    shape { dim: 2 dim: 1 } } }\n"
    "layer { name: \"lstm\" type: \"LSTM\" bottom: \"x\" bottom: \"cont\" bottom: \"s\" top: "
    "\"h\"\n"
    "  recurrent_param { num_output: 1 weight_filler { type: \"uniform\" } }\n"
    "  blobs { shape { dim: 4 dim: 2 } data: [1, 2, 3, 4, 5, 6, 7, 8] }\n"
    "  blobs { shape { dim: 4 } data: [0, 1, 0, 1] }\n"
    "  blobs { shape { dim: 4 dim: 1 } data: [1, 0, 1, 0] }\n"
    "  blobs { shape { dim: 4 dim: 1 } data: [1, 1, 2, 2] } }\n"
    "layer { name: \"rnn\" type: \"RNN\" bottom: \"h\" bottom: \"cont\" top: \"o\"\n"
    "  recurrent_param { num_output: 2 }\n"
    "  blobs { shape { dim: 2 dim: 1 } data: [1, 2] } blobs { shape { dim: 2 } data: [0, 0] }\n"
    "  blobs { shape { dim: 2 dim: 2 } data: [1, 0, 0, 1] }\n"
    "  blobs { shape { dim: 2 dim: 2 } data: [1, 2, 3, 4] }\n"
    "  blobs { shape { dim: 2 } data: [1, 2] } }\n";

static inline onnx_part caffe_blob(uint32_t rank, const int64_t *extents, bool is_old) {
    onnx_part blob = {0}, shape = {0};
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= (size_t)extents[i];
    float *data = calloc(count, sizeof(*data));
    double *wide = calloc(count, sizeof(*wide));
    if (!data || !wide) exit(99);
    for (size_t i = 0; i < count; i++)
        wide[i] = data[i] = (float)(i % 7) - 2.5f;
    if (is_old) { /* four extents, padded on the left */
        for (uint32_t i = 0; i < 4; i++)
            onnx_part_number(&blob, 1 + i, i < 4 - rank ? 1 : extents[i - (4 - rank)]);
        onnx_part_bytes(&blob, CAFFE_BLOB_DOUBLE, wide, count * sizeof(*wide));
    } else {
        for (uint32_t i = 0; i < rank; i++)
            onnx_part_number(&shape, 1, extents[i]);
        onnx_part_move(&blob, CAFFE_BLOB_SHAPE, &shape);
        onnx_part_bytes(&blob, CAFFE_BLOB_DATA, data, count * sizeof(*data));
    }
    free(wide);
    free(data);
    return blob;
}

/* The model of caffe_network. `is_old`: in the older form of layers and blobs. */
static inline onnx_part caffe_model(bool is_old) {
    onnx_part model = {0}, layer = {0};
    size_t count = sizeof(caffe_blobs) / sizeof(caffe_blobs[0]);
    onnx_part_text(&model, 1, "mixed");
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || strcmp(caffe_blobs[i].layer, caffe_blobs[i - 1].layer) != 0;
        bool is_last =
            i + 1 == count || strcmp(caffe_blobs[i].layer, caffe_blobs[i + 1].layer) != 0;
        onnx_part blob = caffe_blob(caffe_blobs[i].rank, caffe_blobs[i].extents, is_old);
        if (is_first)
            onnx_part_text(&layer, is_old ? CAFFE_OLD_LAYER_NAME : CAFFE_LAYER_NAME,
                           caffe_blobs[i].layer);
        onnx_part_move(&layer, is_old ? CAFFE_OLD_LAYER_BLOB : CAFFE_LAYER_BLOB, &blob);
        if (is_last)
            onnx_part_move(&model, is_old ? CAFFE_MODEL_OLD_LAYER : CAFFE_MODEL_LAYER, &layer);
    }
    return model;
}

/* caffe_network with the same blobs inside its layers, as text; for free(). */
static inline char *caffe_network_with_weights(size_t *out_bytes) {
    char *text = NULL;
    FILE *file = open_memstream(&text, out_bytes);
    const char *at = caffe_network;
    if (!file) exit(99);
    for (size_t i = 0; i < sizeof(caffe_blobs) / sizeof(caffe_blobs[0]); i++) {
        char name[40];
        snprintf(name, sizeof(name), "name: \"%s\"", caffe_blobs[i].layer);
        const char *found = strstr(caffe_network, name) + strlen(name);
        if (found > at) fwrite(at, 1, (size_t)(found - at), file);
        if (found > at) at = found;
        fputs(" blobs { shape {", file);
        int64_t count = 1;
        for (uint32_t axis = 0; axis < caffe_blobs[i].rank; axis++) {
            fprintf(file, " dim: %d", (int)caffe_blobs[i].extents[axis]);
            count *= caffe_blobs[i].extents[axis];
        }
        fputs(" }", file);
        for (int64_t k = 0; k < count; k++)
            fprintf(file, " data: %.1f", (double)(k % 7) - 2.5);
        fputs(" }", file);
    }
    fputs(at, file);
    fclose(file);
    return text;
}

#endif
