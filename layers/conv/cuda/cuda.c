/* SPDX-License-Identifier: Apache-2.0 */
/* Conv's kernels on CUDA: through cuDNN (kit/cuda/cudnn/cudnn_conv.h), and our own (cuda_direct.h).
 */
#include "conv/conv.h"
#include "conv/cuda/cuda_kernels.h"
#include "kit/cuda/cudnn/cudnn_conv.h"
#include "kit/cuda/gemm/product.h"
#include <tenon/kit/epilogue.h>

static const char *const direct_combinations[] = {"f32, f32, f32? -> f32"};
static const char *const few_combinations[] = {
    "f16:nhwc, f32, f32? -> f16:nhwc", "f16, f32, f32? -> f16:nhwc", "f32, f32, f32? -> f16:nhwc",
    "bf16:nhwc, f32, f32? -> bf16:nhwc", "bf16, f32, f32? -> bf16:nhwc"};
static const char *const few_tf32_combinations[] = {
    "f32, f32, f32? -> f32:nhwc", "f32:nhwc, f32, f32? -> f32:nhwc", "f32, f32, f32? -> qi8:nhwc",
    "f32:nhwc, f32, f32? -> qi8:nhwc"};
static const char *const narrow_combinations[] = {
    "f16:nhwc, f32, f32? -> f16:nhwc", "f16:nhwc, f32, f32? -> f16", "f16:nhwc, f32, f32? -> f32",
    "bf16:nhwc, f32, f32? -> bf16:nhwc", "bf16:nhwc, f32, f32? -> bf16"};
static const char *const narrow_tf32_combinations[] = {"f32:nhwc, f32, f32? -> f32",
                                                       "f32:nhwc, f32, f32? -> f32:nhwc"};
static const char *const deep_combinations[] = {"f16:nhwc, f32, f32? -> f16:nhwc",
                                                "bf16:nhwc, f32, f32? -> bf16:nhwc"};
static const char *const deep_tf32_combinations[] = {"f32:nhwc, f32, f32? -> f32:nhwc"};

#define DIRECT_KERNEL(name_of, kind, more_traits, more_facets, activation_names,                   \
                      combination_table, text)                                                     \
    static const tn_kernel name_of = {                                                             \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Conv",                                                                              \
        .device = "cuda",                                                                          \
        .name = "direct_" #name_of,                                                                \
        .doc = text,                                                                               \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | (more_traits),                  \
        .absorbs = TN_FLOAT_ABSORBS(activation_names) more_facets,                                 \
        TN_COMBINATIONS(combination_table),                                                        \
        TN_CUDA_DIRECT_CALLBACKS,                                                                  \
        .user = (void *)(uintptr_t) & (kind),                                                      \
    }
#define FEW_ACTIVATIONS "relu|leaky_relu|clip"
DIRECT_KERNEL(tile, tn_cuda_tile_kind, 0, "", TN_ACTIVATIONS_1_0, direct_combinations,
              "Tiles of large images with few channels, in registers and shared memory.");
DIRECT_KERNEL(small, tn_cuda_small_kind, 0, "", TN_ACTIVATIONS_1_0, direct_combinations,
              "Layers that are all latency: channels are shared out among warps.");
DIRECT_KERNEL(staged, tn_cuda_staged_kind, 0, ", " TN_FACET_WINDOW_MAX, TN_ACTIVATIONS_1_0,
              direct_combinations,
              "The same, with input and weights brought to shared memory first.");
DIRECT_KERNEL(few, tn_cuda_few_kind, 0, "", FEW_ACTIVATIONS, few_combinations,
              "Few channels, on tensor cores.");
DIRECT_KERNEL(few_tf32, tn_cuda_few_kind, TN_KERNEL_TF32, "", FEW_ACTIVATIONS,
              few_tf32_combinations,
              "Few channels, on tensor cores: 32-bit floats are rounded to tf32.");
DIRECT_KERNEL(narrow, tn_cuda_narrow_kind, 0, "", TN_ACTIVATIONS_1_0, narrow_combinations,
              "Few filters, on tensor cores.");
DIRECT_KERNEL(narrow_tf32, tn_cuda_narrow_kind, TN_KERNEL_TF32, "", TN_ACTIVATIONS_1_0,
              narrow_tf32_combinations,
              "Few filters, on tensor cores: 32-bit floats are rounded to tf32.");
DIRECT_KERNEL(deep, tn_cuda_deep_kind, 0, "", TN_ACTIVATIONS_1_0, deep_combinations,
              "Many channels and few places, on tensor cores.");
DIRECT_KERNEL(deep_tf32, tn_cuda_deep_kind, TN_KERNEL_TF32, "", TN_ACTIVATIONS_1_0,
              deep_tf32_combinations,
              "Many channels and few places, on tensor cores: 32-bit floats are rounded to tf32.");

#if TN_HAS_CUDNN
TN_CUDNN_CONV_KERNELS("Conv", tn_conv_window, false, "cuDNN's convolution");
#endif

static bool sees_one_place(const tn_window *window) {
    for (uint32_t i = 0; i < window->rank; i++)
        if (window->kernel[i] != 1 || window->stride[i] != 1 || window->pad_begin[i] != 0 ||
            window->output[i] != window->input[i])
            return false;
    return true;
}

/* What the window sees, of one or two axes; false for numbers that are too large. */
static bool read_image(const tn_window *window, int64_t channels, tn_cuda_product_image *image) {
    const uint32_t more = 2 - window->rank;
    int64_t taps = 1;
    *image = (tn_cuda_product_image){.channels = (int32_t)channels,
                                     .input = {1, 1},
                                     .output = {1, 1},
                                     .kernel = {1, 1},
                                     .stride = {1, 1},
                                     .dilation = {1, 1}};
    for (uint32_t i = 0; i < window->rank; i++) {
        const int64_t largest = INT32_MAX / 4;
        if (window->input[i] > largest || window->output[i] > largest / window->stride[i] ||
            window->kernel[i] > largest / window->dilation[i] || window->stride[i] > largest ||
            window->dilation[i] > largest || window->pad_begin[i] > largest ||
            window->pad_begin[i] < -largest ||
            __builtin_mul_overflow(taps, window->kernel[i], &taps) || taps > largest)
            return false;
        image->input[more + i] = (int32_t)window->input[i];
        image->output[more + i] = (int32_t)window->output[i];
        image->kernel[more + i] = (int32_t)window->kernel[i];
        image->stride[more + i] = (int32_t)window->stride[i];
        image->dilation[more + i] = (int32_t)window->dilation[i];
        image->pad[more + i] = (int32_t)window->pad_begin[i];
    }
    image->taps = (int32_t)taps;
    return true;
}

/* A convolution, channels last: the places are rows of a product, what each sees is its depth.
 * Where that is more than the place itself, channels come in whole 16s. */
static bool read_places(const tn_call *call, tn_cuda_product *out_product) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    tn_call probe = *call;
    tn_window window;
    tn_cuda_product_image image = {0};
    int64_t places = x->rank > 2 && x->format == TN_NHWC ? x->shape[0] : 0, depth = 0;
    if (places == 0 || tn_conv_window(&probe, &window) != TN_OK || w->shape[1] != x->shape[1])
        return false;
    for (uint32_t i = 0; i < window.rank; i++)
        if (__builtin_mul_overflow(places, window.output[i], &places)) return false;
    if (!sees_one_place(&window) &&
        (window.rank > 2 || x->shape[1] % 16 != 0 || x->shape[1] > INT32_MAX / 4 ||
         !read_image(&window, x->shape[1], &image)))
        return false;
    if (__builtin_mul_overflow(x->shape[1], image.taps ? image.taps : 1, &depth)) return false;
    *out_product = (tn_cuda_product){.batch = 1,
                                     .rows = places,
                                     .columns = w->shape[0],
                                     .depth = depth,
                                     .b_is_transposed = true,
                                     .alpha = 1,
                                     .c_factor = 1,
                                     .has_c = call->input_count > 2 && call->inputs[2],
                                     .c_column_stride = 1,
                                     .image = image};
    return true;
}

static const tn_cuda_product_user places = {read_places, false, 1};
static const char *const byte_combinations[] = {"qi8:nhwc, f32, f32? -> qi8:nhwc",
                                                "qi8:nhwc, f32, f32? -> f32:nhwc"};
static const tn_kernel bytes = {
    .size = sizeof(tn_kernel),
    .revision = 2,
    .domain = "",
    .op = "Conv",
    .device = "cuda",
    .name = "bytes",
    .doc = "Convolutions of channels in whole 16s, or of one place, in 8 bits with exact sums.",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    .absorbs = TN_FLOAT_ABSORBS(TN_ACTIVATIONS_1_0),
    TN_COMBINATIONS(byte_combinations),
    TN_CUDA_PRODUCT_CALLBACKS(bytes),
    .user = (void *)(uintptr_t)&places,
};

extern const tn_kernel *const tn_conv_cuda_kernels[];
const tn_kernel *const tn_conv_cuda_kernels[] = {&tile,   &small,       &staged, &few,  &few_tf32,
                                                 &narrow, &narrow_tf32, &bytes,  &deep, &deep_tf32,
#if TN_HAS_CUDNN
                                                 &cudnn,  &cudnn_tf32,
#endif
                                                 NULL};
