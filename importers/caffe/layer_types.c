/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of layers that are read, with their words in the older form, and what each may have.
 * What else a network names must be a plugin's operator.
 */
#include "importers/caffe/caffe.h"

#include <string.h>

#define MANY TN_CAFFE_PORTS

static const tn_caffe_type types[] = {
    {"AbsVal", "ABSVAL", NULL, 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_unary, false},
    {"ArgMax", "ARGMAX", "argmax_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_argmax,
     false},
    {"BNLL", "BNLL", NULL, 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_bnll, false},
    {"BatchNorm", NULL, "batch_norm_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_batch_norm,
     false},
    {"Bias", NULL, "bias_param", 1, 2, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_bias, false},
    {"Clip", NULL, "clip_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_clip, false},
    {"Concat", "CONCAT", "concat_param", 1, MANY, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_concat,
     false},
    {"Convolution", "CONVOLUTION", "convolution_param", 1, MANY, 1, MANY, TN_CAFFE_COMPUTES,
     tn_caffe_read_convolution, false},
    {"ConvolutionDepthwise", NULL, "convolution_param", 1, MANY, 1, MANY, TN_CAFFE_COMPUTES,
     tn_caffe_read_convolution, false},
    {"Crop", NULL, "crop_param", 2, 2, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_crop, false},
    {"Deconvolution", "DECONVOLUTION", "convolution_param", 1, MANY, 1, MANY, TN_CAFFE_COMPUTES,
     tn_caffe_read_deconvolution, false},
    {"DepthwiseConvolution", NULL, "convolution_param", 1, MANY, 1, MANY, TN_CAFFE_COMPUTES,
     tn_caffe_read_convolution, false},
    {"DetectionOutput", NULL, "detection_output_param", 3, 3, 1, 1, TN_CAFFE_COMPUTES,
     tn_caffe_read_detection_output, false},
    {"Dropout", "DROPOUT", "dropout_param", 1, 1, 1, 1, TN_CAFFE_ALIAS, tn_caffe_read_alias, false},
    {"ELU", NULL, "elu_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_elu, false},
    {"Eltwise", "ELTWISE", "eltwise_param", 2, MANY, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_eltwise,
     false},
    {"Embed", NULL, "embed_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_embed, false},
    {"Exp", "EXP", "exp_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_exp, false},
    {"Flatten", "FLATTEN", "flatten_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_flatten,
     false},
    {"InnerProduct", "INNER_PRODUCT", "inner_product_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES,
     tn_caffe_read_inner_product, false},
    {"Input", NULL, "input_param", 0, 0, 1, MANY, TN_CAFFE_COMPUTES, tn_caffe_read_input, false},
    {"Interp", NULL, "interp_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_interp, false},
    {"LRN", "LRN", "lrn_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_lrn, false},
    {"LSTM", NULL, "recurrent_param", 1, MANY, 1, MANY, TN_CAFFE_COMPUTES, tn_caffe_read_recurrent,
     false},
    {"Log", NULL, "log_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_log, false},
    {"MVN", "MVN", "mvn_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_mvn, false},
    {"Normalize", NULL, "norm_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_normalize,
     false},
    {"PReLU", NULL, "prelu_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_prelu, false},
    {"Parameter", NULL, "parameter_param", 0, 0, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_parameter,
     false},
    {"Permute", NULL, "permute_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_permute, false},
    {"Pooling", "POOLING", "pooling_param", 1, 1, 1, 2, TN_CAFFE_COMPUTES, tn_caffe_read_pooling,
     false},
    {"Power", "POWER", "power_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_power, false},
    {"PriorBox", NULL, "prior_box_param", 2, 2, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_prior_box,
     false},
    {"RNN", NULL, "recurrent_param", 1, MANY, 1, MANY, TN_CAFFE_COMPUTES, tn_caffe_read_recurrent,
     false},
    {"ReLU", "RELU", "relu_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_relu, false},
    {"ReLU6", NULL, NULL, 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_relu6, false},
    {"Reduction", NULL, "reduction_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_reduction,
     false},
    {"Reshape", NULL, "reshape_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_reshape, false},
    {"SPP", NULL, "spp_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_spp, false},
    {"Scale", NULL, "scale_param", 1, 2, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_scale, false},
    {"Sigmoid", "SIGMOID", "sigmoid_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_unary,
     false},
    {"Slice", "SLICE", "slice_param", 1, 1, 1, MANY, TN_CAFFE_COMPUTES, tn_caffe_read_slice, false},
    {"Softmax", "SOFTMAX", "softmax_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_softmax,
     false},
    {"SoftmaxWithLoss", "SOFTMAX_LOSS", "softmax_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES,
     tn_caffe_read_softmax, true},
    {"Split", "SPLIT", NULL, 1, 1, 1, MANY, TN_CAFFE_ALIAS, tn_caffe_read_alias, false},
    {"Swish", NULL, "swish_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_swish, false},
    {"TanH", "TANH", "tanh_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_unary, false},
    {"Threshold", "THRESHOLD", "threshold_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES,
     tn_caffe_read_threshold, false},
    {"Tile", NULL, "tile_param", 1, 1, 1, 1, TN_CAFFE_COMPUTES, tn_caffe_read_tile, false},
    /* sources: their first top becomes an input */
    {"AnnotatedData", NULL, NULL, 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    {"Data", "DATA", "data_param", 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    {"DummyData", "DUMMY_DATA", NULL, 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    {"HDF5Data", "HDF5_DATA", NULL, 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    {"ImageData", "IMAGE_DATA", NULL, 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    {"MemoryData", "MEMORY_DATA", "memory_data_param", 0, 0, 1, MANY, TN_CAFFE_DATA,
     tn_caffe_read_data, false},
    {"VideoData", NULL, NULL, 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    {"WindowData", "WINDOW_DATA", NULL, 0, 0, 1, MANY, TN_CAFFE_DATA, tn_caffe_read_data, false},
    /* sinks */
    {"Accuracy", "ACCURACY", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"ContrastiveLoss", "CONTRASTIVE_LOSS", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"DetectionEvaluate", NULL, NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"EuclideanLoss", "EUCLIDEAN_LOSS", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"HDF5Output", "HDF5_OUTPUT", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"HingeLoss", "HINGE_LOSS", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"InfogainLoss", "INFOGAIN_LOSS", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"MultiBoxLoss", NULL, NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"MultinomialLogisticLoss", "MULTINOMIAL_LOGISTIC_LOSS", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL,
     false},
    {"SigmoidCrossEntropyLoss", "SIGMOID_CROSS_ENTROPY_LOSS", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL,
     false},
    {"Silence", "SILENCE", NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
    {"SmoothL1Loss", NULL, NULL, 0, 0, 0, 0, TN_CAFFE_SINK, NULL, false},
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
