/* SPDX-License-Identifier: Apache-2.0 */
/* The cases: layers of well-known networks, and shapes that do not fit kernels well. */
#include "case.h"

#define ONES                                                                                       \
    { 1, 1, 1 }
/* clang-format off */
const run_case run_cases[] = {
    {"lenet conv1", "Conv", 4, {1, 1, 28, 28}, {20, 1, 5, 5}, ONES, {0}, ONES, 1, 1, 0, 0, "f32,"},
    {"lenet conv2", "Conv", 4, {1, 20, 12, 12}, {50, 20, 5, 5}, ONES, {0}, ONES, 1, 1, 0, 0, "f32"},
    {"lenet fc1", "Gemm", 2, {1, 800}, {500, 800}, {0}, {0}, {0}, 1, 1, 0, 1, NULL},
    {"lenet fc2", "Gemm", 2, {1, 500}, {10, 500}, {0}, {0}, {0}, 1, 1, 0, 0, NULL},
    {"srcnn conv1", "Conv", 4, {1, 3, 512, 512}, {64, 3, 9, 9}, ONES, {4, 4, 4, 4}, ONES, 1, 1, 0, 1, NULL},
    {"srcnn conv2", "Conv", 4, {1, 64, 512, 512}, {32, 64, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL},
    {"srcnn conv3", "Conv", 4, {1, 32, 512, 512}, {3, 32, 5, 5}, ONES, {2, 2, 2, 2}, ONES, 1, 1, 0, 0, NULL},
    {"resnet stem", "Conv", 4, {1, 3, 224, 224}, {64, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 3x3 64", "Conv", 4, {1, 64, 56, 56}, {64, 64, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 1x1 add", "Conv", 4, {1, 64, 56, 56}, {256, 64, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL},
    {"resnet 3x3 s2", "Conv", 4, {1, 256, 28, 28}, {256, 256, 3, 3}, {2, 2}, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 1x1 7x7", "Conv", 4, {1, 512, 7, 7}, {2048, 512, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL},
    {"resnet 14 3x3", "Conv", 4, {1, 256, 14, 14}, {256, 256, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 14 down", "Conv", 4, {1, 1024, 14, 14}, {256, 1024, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 14 up", "Conv", 4, {1, 256, 14, 14}, {1024, 256, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL},
    {"resnet 7 3x3", "Conv", 4, {1, 512, 7, 7}, {512, 512, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 7 3x3 s2", "Conv", 4, {1, 512, 14, 14}, {512, 512, 3, 3}, {2, 2}, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 7 down", "Conv", 4, {1, 2048, 7, 7}, {512, 2048, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 14 1x1 s2", "Conv", 4, {1, 512, 28, 28}, {1024, 512, 1, 1}, {2, 2}, {0}, ONES, 1, 1, 0, 0, NULL},
    {"resnet 28 3x3", "Conv", 4, {1, 128, 28, 28}, {128, 128, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 28 down", "Conv", 4, {1, 512, 28, 28}, {128, 512, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL},
    {"resnet 28 up", "Conv", 4, {1, 128, 28, 28}, {512, 128, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL},
    {"resnet b32 3x3", "Conv", 4, {32, 128, 28, 28}, {128, 128, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, "f16"},
    {"resnet fc", "Gemm", 2, {1, 2048}, {1000, 2048}, {0}, {0}, {0}, 1, 1, 0, 0, NULL},
    {"fc 32 rows", "Gemm", 2, {32, 2048}, {1000, 2048}, {0}, {0}, {0}, 1, 1, 0, 1, NULL},
    {"gemm plain b", "Gemm", 2, {3, 37}, {37, 19}, {0}, {0}, {0}, 0, 1, 1, 0, NULL},
    {"matmul 12x128", "MatMul", 3, {12, 128, 64}, {12, 64, 128}, {0}, {0}, {0}, 0, 0, 0, 0, NULL},
    {"matmul const", "MatMul", 2, {128, 384}, {384, 1536}, {0}, {0}, {0}, 2, 0, 0, 0, NULL},
    {"depthwise 3x3", "Conv", 4, {1, 144, 56, 56}, {144, 1, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 144, 1, 0, 3, NULL},
    {"odd pads", "Conv", 4, {2, 5, 37, 41}, {7, 5, 3, 3}, {2, 1}, {0, 1, 2, 0}, {1, 2}, 1, 1, 1, 2, NULL},
    {"few channels", "Conv", 4, {2, 2, 37, 53}, {40, 2, 5, 4}, ONES, {2, 1, 2, 2}, ONES, 1, 1, 1, 2, NULL},
    {"few filters", "Conv", 4, {2, 64, 13, 67}, {2, 64, 3, 3}, ONES, {1, 0, 1, 2}, ONES, 1, 1, 1, 4, NULL},
    {"few pixels", "Conv", 4, {2, 56, 9, 13}, {44, 56, 3, 2}, {1, 2}, {1, 0, 2, 1}, {2, 1}, 1, 1, 1, 5, NULL},
    {"few pixels 1x1", "Conv", 4, {3, 24, 17, 15}, {20, 24, 1, 1}, {2, 1}, {0}, ONES, 1, 1, 1, 2, NULL},
    {"few pixels int8", "Conv", 4, {2, 80, 9, 13}, {44, 80, 3, 2}, {1, 2}, {1, 0, 2, 1}, {2, 1}, 1, 1, 1, 5, "qi8"},
    {"few pixels 1x1 int8", "Conv", 4, {3, 144, 17, 15}, {20, 144, 1, 1}, {2, 1}, {0}, ONES, 1, 1, 1, 2, "qi8"},
    {"one axis deep", "Conv", 3, {2, 80, 101}, {36, 80, 5}, {3}, {1, 2}, ONES, 1, 0, 0, 4, NULL},
    {"groups", "Conv", 4, {2, 12, 30, 40}, {18, 4, 5, 5}, ONES, {2, 2, 2, 2}, ONES, 3, 1, 0, 4, NULL},
    {"one axis", "Conv", 3, {2, 16, 101}, {24, 16, 5}, ONES, {2, 2}, ONES, 1, 1, 0, 5, NULL},
    {"three axes", "Conv", 5, {1, 8, 9, 10, 11}, {16, 8, 3, 3, 3}, ONES, {1, 1, 1, 1, 1, 1}, ONES, 1, 1, 0, 0, NULL},
    {"transposed", "ConvTranspose", 4, {1, 32, 28, 28}, {32, 16, 4, 4}, {2, 2}, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL},
    {"transposed groups", "ConvTranspose", 4, {2, 16, 9, 11}, {16, 4, 3, 3}, {2, 2}, {1, 1, 1, 1}, ONES, 2, 1, 0, 0, NULL},
};
/* clang-format on */
const size_t run_case_count = sizeof(run_cases) / sizeof(*run_cases);

const run_activation run_activations[] = {{0, 0, 0},
                                          {TN_ACTIVATION_RELU, 0, 0},
                                          {TN_ACTIVATION_LEAKY_RELU, 0.1f, 0},
                                          {TN_ACTIVATION_CLIP, 0, 0.6f},
                                          {TN_ACTIVATION_TANH, 0, 0},
                                          {TN_ACTIVATION_HARD_SWISH, 0, 0}};
