/* SPDX-License-Identifier: Apache-2.0 */
/* Conv's kernels on CUDA: through cuDNN (kit/cuda/cudnn/cudnn_conv.h), and our own (cuda_conv.h).
 */
#include "conv/conv.h"
#include "conv/cuda/cuda_kernels.h"
#include "kit/cuda/cudnn/cudnn_conv.h"
#include "kit/cuda/gemm/product.h"
#include <tenon/kit/epilogue.h>
#include <tenon/plugin/before.h>
#include <tenon/plugin/plane_mean.h>

static const char *const direct_combinations[] = {"f32, f32, f32? -> f32"};
/* Linear are means of planes alone: a pixel an image has its channels in the same order. */
#define HALF_TILES                                                                                 \
    "f16:nhwc:strided, f32, f32? -> f16:nhwc:strided",                                             \
        "bf16:nhwc:strided, f32, f32? -> bf16:nhwc:strided", "f16:nhwc:strided, f32, f32? -> f16", \
        "f16:nhwc:strided, f32, f32? -> f32", "bf16:nhwc:strided, f32, f32? -> bf16",              \
        "bf16:nhwc:strided, f32, f32? -> f32"
#define FLOAT_TILES                                                                                \
    "f32:nhwc:strided, f32, f32? -> f32:nhwc:strided", "f32:nhwc:strided, f32, f32? -> f32"
static const char *const implicit_gemm_combinations[] = {
    HALF_TILES, FLOAT_TILES, "qi8:nhwc:strided, f32, f32? -> qi8:nhwc:strided",
    "qi8:nhwc:strided, f32, f32? -> f32:nhwc:strided"};
static const char *const implicit_gemm_tf32_combinations[] = {FLOAT_TILES};
static const char *const row_stationary_combinations[] = {
    "f16:nhwc, f32, f32? -> f16:nhwc", "f16, f32, f32? -> f16:nhwc",
    "f32, f32, f32? -> f16:nhwc",      "bf16:nhwc, f32, f32? -> bf16:nhwc",
    "bf16, f32, f32? -> bf16:nhwc",    "f32, f32, f32? -> f32:nhwc",
    "f32:nhwc, f32, f32? -> f32:nhwc"};
static const char *const row_stationary_tf32_combinations[] = {
    "f32, f32, f32? -> f32:nhwc", "f32:nhwc, f32, f32? -> f32:nhwc", "f32, f32, f32? -> qi8:nhwc",
    "f32:nhwc, f32, f32? -> qi8:nhwc"};
static const char *const kn2row_combinations[] = {
    "f16:nhwc, f32, f32? -> f16:nhwc", "f16:nhwc, f32, f32? -> f16",
    "f16:nhwc, f32, f32? -> f32",      "bf16:nhwc, f32, f32? -> bf16:nhwc",
    "bf16:nhwc, f32, f32? -> bf16",    "f32:nhwc, f32, f32? -> f32",
    "f32:nhwc, f32, f32? -> f32:nhwc"};
static const char *const kn2row_tf32_combinations[] = {"f32:nhwc, f32, f32? -> f32",
                                                       "f32:nhwc, f32, f32? -> f32:nhwc"};

#define OWN_KERNEL(technique, more_traits, more_facets, activation_names, text)                    \
    static const tn_kernel technique = {                                                           \
        TN_KERNEL_BEGIN("cuda", "", "Conv", #technique, 1, text),                                  \
        .traits =                                                                                  \
            TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_CONCURRENT | (more_traits), \
        .absorbs = TN_FLOAT_ABSORBS(activation_names) more_facets,                                 \
        TN_COMBINATIONS(technique##_combinations),                                                 \
        TN_CUDA_CONV_CALLBACKS,                                                                    \
        .user = (void *)(uintptr_t)&tn_cuda_##technique,                                           \
    }
#define TF32_TEXT "32-bit floats are rounded to tf32: "
OWN_KERNEL(direct, 0, ", " TN_FACET_WINDOW_MAX, TN_ACTIVATIONS_1_0,
           "Direct in 32-bit floats; small layers. Limited by latency and shared memory.");
OWN_KERNEL(implicit_gemm, 0, ", " TN_FACET_PLANE_MEAN, TN_ACTIVATIONS_1_0,
           "Implicit GEMM with split-k on tensor cores; many channels, few pixels. Limited by the "
           "latency of one trip to memory.");
OWN_KERNEL(implicit_gemm_tf32, TN_KERNEL_TF32, ", " TN_FACET_PLANE_MEAN, TN_ACTIVATIONS_1_0,
           TF32_TEXT "see implicit_gemm.");
OWN_KERNEL(row_stationary, 0, "", "relu|leaky_relu|clip",
           "Input rows stay in registers, on tensor cores; up to 8 channels. Limited by issue.");
OWN_KERNEL(row_stationary_tf32, TN_KERNEL_TF32, "", "relu|leaky_relu|clip",
           TF32_TEXT "see row_stationary.");
OWN_KERNEL(kn2row, 0, "", TN_ACTIVATIONS_1_0,
           "A product for all taps of a row, then shifted sums, on tensor cores; few filters. "
           "Limited by registers.");
OWN_KERNEL(kn2row_tf32, TN_KERNEL_TF32, "", TN_ACTIVATIONS_1_0, TF32_TEXT "see kn2row.");

static const char *const separable_combinations[] = {"f16:nhwc, f32, f32? -> f16:nhwc",
                                                     "bf16:nhwc, f32, f32? -> bf16:nhwc"};
static const tn_kernel separable = {
    TN_KERNEL_BEGIN("cuda", "", "Conv", "separable", 1,
                    "A window of 1x1 with the windows of single channels before it, and those of "
                    "1x1 before these, in one launch on tensor cores. Limited by latency."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_CONCURRENT,
    .absorbs = "@1 " TN_FACET_CONVOLUTION ", @1 " TN_FACET_ACTIVATION
               "(relu|clip), " TN_FLOAT_ABSORBS("relu|clip"),
    TN_COMBINATIONS(separable_combinations),
    .accepts = tn_cuda_separable_accepts,
    .tactics = tn_cuda_separable_tactics,
    .prepare = tn_cuda_separable_prepare,
    .release = tn_cuda_separable_release,
    .open = tn_cuda_separable_open,
    .close = tn_cuda_conv_close,
    .reshape = tn_cuda_separable_reshape,
    .run = tn_cuda_separable_run,
};

#if TN_HAS_CUDNN
TN_CUDNN_CONV_KERNELS("Conv", tn_conv_window, false, "cuDNN's convolution");
#endif

static bool is_point(const tn_window *window) {
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

/* A convolution, channels last, as an implicit GEMM: output pixels (n, p, q) are rows of a product,
 * what each sees, (r, s, c), is its depth. Where that is more than one pixel, channels come in
 * whole 16s. */
static bool read_pixels(const tn_call *call, tn_cuda_product *out_product) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    tn_call probe = *call;
    tn_window window;
    tn_cuda_product_image image = {0};
    int64_t rows = x->rank > 2 && x->format == TN_NHWC ? x->shape[0] : 0, depth = 0;
    if (rows == 0 || tn_conv_window(&probe, &window) != TN_OK || w->shape[1] != x->shape[1])
        return false;
    for (uint32_t i = 0; i < window.rank; i++)
        if (__builtin_mul_overflow(rows, window.output[i], &rows)) return false;
    if (!is_point(&window) &&
        (window.rank > 2 || x->shape[1] % 16 != 0 || x->shape[1] > INT32_MAX / 4 ||
         !read_image(&window, x->shape[1], &image)))
        return false;
    if (__builtin_mul_overflow(x->shape[1], image.taps ? image.taps : 1, &depth)) return false;
    *out_product = (tn_cuda_product){.batch = 1,
                                     .rows = rows,
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

static const tn_cuda_product_user pixels = {read_pixels, false, 1};
static const char *const implicit_gemm_int8_combinations[] = {"qi8:nhwc, f32, f32? -> qi8:nhwc",
                                                              "qi8:nhwc, f32, f32? -> f32:nhwc"};
static const tn_kernel implicit_gemm_int8 = {
    TN_KERNEL_BEGIN(
        "cuda", "", "Conv", "implicit_gemm_int8", 1,
        "Implicit GEMM in 8 bits with exact sums; channels in whole 16s, or a window of 1x1. "
        "Limited by the latency of tiles to shared memory."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_CONCURRENT,
    .absorbs = TN_FLOAT_ABSORBS(TN_ACTIVATIONS_1_0),
    TN_COMBINATIONS(implicit_gemm_int8_combinations),
    TN_CUDA_PRODUCT_CALLBACKS(int8, int8),
    .user = (void *)(uintptr_t)&pixels,
};

static const tn_cuda_product_user rounded_pixels = {read_pixels, true, 1};
static const char *const gemm_tensor_combinations[] = {HALF_TILES};
TN_CUDA_PRODUCT_KERNEL(gemm_tensor, "Conv", "gemm_tensor",
                       TN_CUDA_PRODUCT_CALLBACKS(tensor, constants), pixels, TN_CUDA_PRODUCT_OWN,
                       ", " TN_FACET_PLANE_MEAN, gemm_tensor_combinations,
                       "A window of 1x1 as a product on tensor cores; many pixels. Limited by the "
                       "latency of tiles to shared memory.");
TN_CUDA_PRODUCT_KERNEL(gemm_tensor_tf32, "Conv", "gemm_tensor_tf32",
                       TN_CUDA_PRODUCT_CALLBACKS(tensor, constants), rounded_pixels,
                       TN_CUDA_PRODUCT_OWN | TN_KERNEL_TF32, ", " TN_FACET_PLANE_MEAN,
                       implicit_gemm_tf32_combinations, TF32_TEXT "see gemm_tensor.");

extern const tn_kernel *const tn_conv_cuda_kernels[];
const tn_kernel *const tn_conv_cuda_kernels[] = {&direct,
                                                 &implicit_gemm,
                                                 &implicit_gemm_tf32,
                                                 &row_stationary,
                                                 &row_stationary_tf32,
                                                 &kn2row,
                                                 &kn2row_tf32,
                                                 &implicit_gemm_int8,
                                                 &separable,
                                                 &gemm_tensor,
                                                 &gemm_tensor_tf32,
#if TN_HAS_CUDNN
                                                 &cudnn,
                                                 &cudnn_tf32,
#endif
                                                 &tn_conv_cuda_any,
                                                 &tn_conv_integer_cuda_any,
                                                 &tn_q_linear_conv_cuda_any,
                                                 NULL};
