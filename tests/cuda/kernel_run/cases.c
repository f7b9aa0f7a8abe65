/* SPDX-License-Identifier: Apache-2.0 */
/* The cases: layers of well-known networks, and shapes that do not fit kernels well. */
#include "case.h"

#define ONES                                                                                       \
    { 1, 1, 1 }
/* clang-format off */
const run_case run_cases[] = {
    {"lenet conv1", "Conv", 4, {1, 1, 28, 28}, {20, 1, 5, 5}, ONES, {0}, ONES, 1, 1, 0, 0, "f32,", false},
    {"lenet conv2", "Conv", 4, {1, 20, 12, 12}, {50, 20, 5, 5}, ONES, {0}, ONES, 1, 1, 0, 0, "f32", false},
    {"lenet fc1", "Gemm", 2, {1, 800}, {500, 800}, {0}, {0}, {0}, 1, 1, 0, 1, NULL, false},
    {"lenet fc2", "Gemm", 2, {1, 500}, {10, 500}, {0}, {0}, {0}, 1, 1, 0, 0, NULL, false},
    {"srcnn conv1", "Conv", 4, {1, 3, 512, 512}, {64, 3, 9, 9}, ONES, {4, 4, 4, 4}, ONES, 1, 1, 0, 1, NULL, false},
    {"srcnn conv2", "Conv", 4, {1, 64, 512, 512}, {32, 64, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL, false},
    {"srcnn conv3", "Conv", 4, {1, 32, 512, 512}, {3, 32, 5, 5}, ONES, {2, 2, 2, 2}, ONES, 1, 1, 0, 0, NULL, false},
    {"resnet stem", "Conv", 4, {1, 3, 224, 224}, {64, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 3x3 64", "Conv", 4, {1, 64, 56, 56}, {64, 64, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 1x1 add", "Conv", 4, {1, 64, 56, 56}, {256, 64, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL, false},
    {"resnet 3x3 s2", "Conv", 4, {1, 256, 28, 28}, {256, 256, 3, 3}, {2, 2}, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 1x1 7x7", "Conv", 4, {1, 512, 7, 7}, {2048, 512, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL, false},
    {"resnet 14 3x3", "Conv", 4, {1, 256, 14, 14}, {256, 256, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 14 down", "Conv", 4, {1, 1024, 14, 14}, {256, 1024, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 14 up", "Conv", 4, {1, 256, 14, 14}, {1024, 256, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL, false},
    {"resnet 7 3x3", "Conv", 4, {1, 512, 7, 7}, {512, 512, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 7 3x3 s2", "Conv", 4, {1, 512, 14, 14}, {512, 512, 3, 3}, {2, 2}, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 7 down", "Conv", 4, {1, 2048, 7, 7}, {512, 2048, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 14 1x1 s2", "Conv", 4, {1, 512, 28, 28}, {1024, 512, 1, 1}, {2, 2}, {0}, ONES, 1, 1, 0, 0, NULL, false},
    {"resnet 28 3x3", "Conv", 4, {1, 128, 28, 28}, {128, 128, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 28 down", "Conv", 4, {1, 512, 28, 28}, {128, 512, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 1, NULL, false},
    {"resnet 28 up", "Conv", 4, {1, 128, 28, 28}, {512, 128, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL, false},
    {"resnet b32 3x3", "Conv", 4, {32, 128, 28, 28}, {128, 128, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, "f16", false},
    {"resnet fc", "Gemm", 2, {1, 2048}, {1000, 2048}, {0}, {0}, {0}, 1, 1, 0, 0, NULL, false},
    {"fc 32 rows", "Gemm", 2, {32, 2048}, {1000, 2048}, {0}, {0}, {0}, 1, 1, 0, 1, NULL, false},
    {"gemm plain b", "Gemm", 2, {3, 37}, {37, 19}, {0}, {0}, {0}, 0, 1, 1, 0, NULL, false},
    {"matmul 12x128", "MatMul", 3, {12, 128, 64}, {12, 64, 128}, {0}, {0}, {0}, 0, 0, 0, 0, NULL, false},
    {"matmul const", "MatMul", 2, {128, 384}, {384, 1536}, {0}, {0}, {0}, 2, 0, 0, 0, NULL, false},
    {"depthwise 3x3", "Conv", 4, {1, 144, 56, 56}, {144, 1, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 144, 1, 0, 3, NULL, false},
    {"odd pads", "Conv", 4, {2, 5, 37, 41}, {7, 5, 3, 3}, {2, 1}, {0, 1, 2, 0}, {1, 2}, 1, 1, 1, 2, NULL, false},
    {"few channels", "Conv", 4, {2, 2, 37, 53}, {40, 2, 5, 4}, ONES, {2, 1, 2, 2}, ONES, 1, 1, 1, 2, NULL, false},
    {"few filters", "Conv", 4, {2, 64, 13, 67}, {2, 64, 3, 3}, ONES, {1, 0, 1, 2}, ONES, 1, 1, 1, 4, NULL, false},
    {"few pixels", "Conv", 4, {2, 56, 9, 13}, {44, 56, 3, 2}, {1, 2}, {1, 0, 2, 1}, {2, 1}, 1, 1, 1, 5, NULL, false},
    {"few pixels 1x1", "Conv", 4, {3, 24, 17, 15}, {20, 24, 1, 1}, {2, 1}, {0}, ONES, 1, 1, 1, 2, NULL, false},
    {"few pixels int8", "Conv", 4, {2, 80, 9, 13}, {44, 80, 3, 2}, {1, 2}, {1, 0, 2, 1}, {2, 1}, 1, 1, 1, 5, "qi8", false},
    {"few pixels 1x1 int8", "Conv", 4, {3, 144, 17, 15}, {20, 144, 1, 1}, {2, 1}, {0}, ONES, 1, 1, 1, 2, "qi8", false},
    {"one axis deep", "Conv", 3, {2, 80, 101}, {36, 80, 5}, {3}, {1, 2}, ONES, 1, 0, 0, 4, NULL, false},
    {"groups", "Conv", 4, {2, 12, 30, 40}, {18, 4, 5, 5}, ONES, {2, 2, 2, 2}, ONES, 3, 1, 0, 4, NULL, false},
    {"one axis", "Conv", 3, {2, 16, 101}, {24, 16, 5}, ONES, {2, 2}, ONES, 1, 1, 0, 5, NULL, false},
    {"three axes", "Conv", 5, {1, 8, 9, 10, 11}, {16, 8, 3, 3, 3}, ONES, {1, 1, 1, 1, 1, 1}, ONES, 1, 1, 0, 0, NULL, false},
    {"mean mobilenet", "Conv", 4, {1, 320, 7, 7}, {1280, 320, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 3, NULL, true},
    {"mean resnet50", "Conv", 4, {1, 512, 7, 7}, {2048, 512, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL, true},
    {"mean resnet18", "Conv", 4, {1, 512, 7, 7}, {512, 512, 3, 3}, ONES, {1, 1, 1, 1}, ONES, 1, 1, 1, 1, NULL, true},
    {"mean batch 8", "Conv", 4, {8, 320, 7, 7}, {1280, 320, 1, 1}, ONES, {0}, ONES, 1, 1, 0, 3, NULL, true},
    {"mean 8x10", "Conv", 4, {3, 64, 8, 10}, {76, 64, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 4, NULL, true},
    {"mean one pixel", "Conv", 4, {5, 64, 1, 1}, {44, 64, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 1, NULL, true},
    {"mean odd filters", "Conv", 4, {2, 48, 5, 3}, {37, 48, 1, 1}, ONES, {0}, ONES, 1, 1, 1, 5, NULL, true},
    {"mean one axis", "Conv", 3, {2, 80, 101}, {36, 80, 5}, {3}, {1, 2}, ONES, 1, 0, 0, 4, NULL, true},
    {"transposed", "ConvTranspose", 4, {1, 32, 28, 28}, {32, 16, 4, 4}, {2, 2}, {1, 1, 1, 1}, ONES, 1, 1, 0, 1, NULL, false},
    {"transposed groups", "ConvTranspose", 4, {2, 16, 9, 11}, {16, 4, 3, 3}, {2, 2}, {1, 1, 1, 1}, ONES, 2, 1, 0, 0, NULL, false},
};
/* clang-format on */
const size_t run_case_count = sizeof(run_cases) / sizeof(*run_cases);

const run_activation run_activations[] = {{0, 0, 0},
                                          {TN_ACTIVATION_RELU, 0, 0},
                                          {TN_ACTIVATION_LEAKY_RELU, 0.1f, 0},
                                          {TN_ACTIVATION_CLIP, 0, 0.6f},
                                          {TN_ACTIVATION_TANH, 0, 0},
                                          {TN_ACTIVATION_HARD_SWISH, 0, 0}};
