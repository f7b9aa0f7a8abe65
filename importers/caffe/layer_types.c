/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of layers that are read, with their words in the older form, and what each may have.
 * What else a network names must be a plugin's operator.
 */
#include "importers/caffe/layer.h"

#include <string.h>

#define MANY TN_CAFFE_PORTS
enum {
    COMPUTES = TN_CAFFE_COMPUTES,
    LOSS = TN_CAFFE_LOSS,
    ALIAS = TN_CAFFE_ALIAS,
    SINK = TN_CAFFE_SINK
};

static const tn_caffe_type types[] = {
    {"AbsVal", "ABSVAL", NULL, 1, 1, 1, 1, COMPUTES, tn_caffe_read_simple},
    {"ArgMax", "ARGMAX", "argmax_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_argmax},
    {"BNLL", "BNLL", NULL, 1, 1, 1, 1, COMPUTES, tn_caffe_read_simple},
    {"BatchNorm", NULL, "batch_norm_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_batch_norm},
    {"Bias", NULL, "bias_param", 1, 2, 1, 1, COMPUTES, tn_caffe_read_bias},
    {"Clip", NULL, "clip_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_clip},
    {"Concat", "CONCAT", "concat_param", 1, MANY, 1, 1, COMPUTES, tn_caffe_read_concat},
    {"Convolution", "CONVOLUTION", "convolution_param", 1, MANY, 1, MANY, COMPUTES,
     tn_caffe_read_convolution},
    {"ConvolutionDepthwise", NULL, "convolution_param", 1, MANY, 1, MANY, COMPUTES,
     tn_caffe_read_convolution},
    {"Crop", NULL, "crop_param", 2, 2, 1, 1, COMPUTES, tn_caffe_read_crop},
    {"Deconvolution", "DECONVOLUTION", "convolution_param", 1, MANY, 1, MANY, COMPUTES,
     tn_caffe_read_convolution},
    {"DepthwiseConvolution", NULL, "convolution_param", 1, MANY, 1, MANY, COMPUTES,
     tn_caffe_read_convolution},
    {"DetectionOutput", NULL, "detection_output_param", 3, 3, 1, 1, COMPUTES,
     tn_caffe_read_detection_output},
    {"Dropout", "DROPOUT", "dropout_param", 1, 1, 1, 1, ALIAS, tn_caffe_read_alias},
    {"ELU", NULL, "elu_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_simple},
    {"Eltwise", "ELTWISE", "eltwise_param", 2, MANY, 1, 1, COMPUTES, tn_caffe_read_eltwise},
    {"Embed", NULL, "embed_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_embed},
    {"Exp", "EXP", "exp_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_exp},
    {"Flatten", "FLATTEN", "flatten_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_flatten},
    {"InnerProduct", "INNER_PRODUCT", "inner_product_param", 1, 1, 1, 1, COMPUTES,
     tn_caffe_read_inner_product},
    {"Input", NULL, "input_param", 0, 0, 1, MANY, COMPUTES, tn_caffe_read_input},
    {"Interp", NULL, "interp_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_interp},
    {"LRN", "LRN", "lrn_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_lrn},
    {"LSTM", NULL, "recurrent_param", 1, MANY, 1, MANY, COMPUTES, tn_caffe_read_recurrent},
    {"Log", NULL, "log_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_log},
    {"MVN", "MVN", "mvn_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_mvn},
    {"Normalize", NULL, "norm_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_normalize},
    {"PReLU", NULL, "prelu_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_prelu},
    {"Parameter", NULL, "parameter_param", 0, 0, 1, 1, COMPUTES, tn_caffe_read_parameter},
    {"Permute", NULL, "permute_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_permute},
    {"Pooling", "POOLING", "pooling_param", 1, 1, 1, 2, COMPUTES, tn_caffe_read_pooling},
    {"Power", "POWER", "power_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_power},
    {"PriorBox", NULL, "prior_box_param", 2, 2, 1, 1, COMPUTES, tn_caffe_read_prior_box},
    {"RNN", NULL, "recurrent_param", 1, MANY, 1, MANY, COMPUTES, tn_caffe_read_recurrent},
    {"ReLU", "RELU", "relu_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_relu},
    {"ReLU6", NULL, NULL, 1, 1, 1, 1, COMPUTES, tn_caffe_read_relu6},
    {"Reduction", NULL, "reduction_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_reduction},
    {"Reshape", NULL, "reshape_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_reshape},
    {"SPP", NULL, "spp_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_spp},
    {"Scale", NULL, "scale_param", 1, 2, 1, 1, COMPUTES, tn_caffe_read_scale},
    {"Sigmoid", "SIGMOID", "sigmoid_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_simple},
    {"Slice", "SLICE", "slice_param", 1, 1, 1, MANY, COMPUTES, tn_caffe_read_slice},
    {"Softmax", "SOFTMAX", "softmax_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_softmax},
    {"SoftmaxWithLoss", "SOFTMAX_LOSS", "softmax_param", 1, 1, 1, 1, LOSS, tn_caffe_read_softmax},
    {"Split", "SPLIT", NULL, 1, 1, 1, MANY, ALIAS, tn_caffe_read_alias},
    {"Swish", NULL, "swish_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_swish},
    {"TanH", "TANH", "tanh_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_simple},
    {"Threshold", "THRESHOLD", "threshold_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_simple},
    {"Tile", NULL, "tile_param", 1, 1, 1, 1, COMPUTES, tn_caffe_read_tile},
    /* sources: their first top becomes an input */
    {"AnnotatedData", NULL, NULL, 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"Data", "DATA", "data_param", 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"DummyData", "DUMMY_DATA", NULL, 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"HDF5Data", "HDF5_DATA", NULL, 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"ImageData", "IMAGE_DATA", NULL, 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"MemoryData", "MEMORY_DATA", "memory_data_param", 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"VideoData", NULL, NULL, 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    {"WindowData", "WINDOW_DATA", NULL, 0, 0, 1, MANY, COMPUTES, tn_caffe_read_data},
    /* sinks */
    {"Accuracy", "ACCURACY", NULL, 0, 0, 0, 0, SINK, NULL},
    {"ContrastiveLoss", "CONTRASTIVE_LOSS", NULL, 0, 0, 0, 0, SINK, NULL},
    {"DetectionEvaluate", NULL, NULL, 0, 0, 0, 0, SINK, NULL},
    {"EuclideanLoss", "EUCLIDEAN_LOSS", NULL, 0, 0, 0, 0, SINK, NULL},
    {"HDF5Output", "HDF5_OUTPUT", NULL, 0, 0, 0, 0, SINK, NULL},
    {"HingeLoss", "HINGE_LOSS", NULL, 0, 0, 0, 0, SINK, NULL},
    {"InfogainLoss", "INFOGAIN_LOSS", NULL, 0, 0, 0, 0, SINK, NULL},
    {"MultiBoxLoss", NULL, NULL, 0, 0, 0, 0, SINK, NULL},
    {"MultinomialLogisticLoss", "MULTINOMIAL_LOGISTIC_LOSS", NULL, 0, 0, 0, 0, SINK, NULL},
    {"SigmoidCrossEntropyLoss", "SIGMOID_CROSS_ENTROPY_LOSS", NULL, 0, 0, 0, 0, SINK, NULL},
    {"Silence", "SILENCE", NULL, 0, 0, 0, 0, SINK, NULL},
    {"SmoothL1Loss", NULL, NULL, 0, 0, 0, 0, SINK, NULL},
};

const tn_caffe_type *tn_caffe_type_find(const char *name) {
    for (size_t i = 0; i < TN_COUNT(types); i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

const tn_caffe_type *tn_caffe_type_find_old(const char *word) {
    for (size_t i = 0; i < TN_COUNT(types); i++)
        if (types[i].old_word && strcmp(types[i].old_word, word) == 0) return &types[i];
    return NULL;
}

const char *tn_caffe_type_nearest(const char *name) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < TN_COUNT(types); i++)
        tn_nearest_offer(&nearest, types[i].name);
    return nearest.best;
}
