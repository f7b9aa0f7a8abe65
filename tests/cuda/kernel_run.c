/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the CUDA library's kernels of convolutions and products one by one through their tables:
 * every combination and tactic of the cases below, compared at sampled places with sums in double
 * precision, and timed as replays of a captured graph. A tool for who writes such kernels, not a
 * test of the suite: conformance/ checks all cases of all operators.
 *
 *   kernel_run LIBTENON_CUDA.so [SECONDS [PART_OF_A_CASE'S_NAME [PART_OF_A_KERNEL'S_NAME]]]
 */
#include "conv/conv.h"
#include "conv_transpose/conv_transpose.h"
#include "gemm/gemm.h"

#include <dlfcn.h>
#include <immintrin.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPLAYED = 20, LAUNCHES = 5, SAMPLES = 2000, MOST_TACTICS = 12 };

typedef struct run_case {
    const char *name, *op;
    uint32_t rank;
    int64_t x[5], w[5]; /* Gemm: A and B, transB when `group` is 1; MatMul: the same, plain */
    int64_t strides[3], pads[6], dilations[3], group;
    bool has_bias, has_residual;
    uint32_t activation;
    const char *only; /* a combination's beginning; null: all */
} run_case;

#define ONES                                                                                       \
    { 1, 1, 1 }
static const run_case cases[] = {
    {"lenet conv1", "Conv", 4, {1, 1, 28, 28}, {20, 1, 5, 5}, ONES, {0}, ONES, 1, 1, 0, 0, "f32,"},
    {"lenet conv2", "Conv", 4, {1, 20, 12, 12}, {50, 20, 5, 5}, ONES, {0}, ONES, 1, 1, 0, 0, "f32"},
    {"lenet fc1", "Gemm", 2, {1, 800}, {500, 800}, {0}, {0}, {0}, 1, 1, 0, 1, NULL},
    {"lenet fc2", "Gemm", 2, {1, 500}, {10, 500}, {0}, {0}, {0}, 1, 1, 0, 0, NULL},
    {"srcnn conv1",
     "Conv",
     4,
     {1, 3, 512, 512},
     {64, 3, 9, 9},
     ONES,
     {4, 4, 4, 4},
     ONES,
     1,
     1,
     0,
     1,
     NULL},
    {"srcnn conv2",
     "Conv",
     4,
     {1, 64, 512, 512},
     {32, 64, 1, 1},
     ONES,
     {0},
     ONES,
     1,
     1,
     0,
     1,
     NULL},
    {"srcnn conv3",
     "Conv",
     4,
     {1, 32, 512, 512},
     {3, 32, 5, 5},
     ONES,
     {2, 2, 2, 2},
     ONES,
     1,
     1,
     0,
     0,
     NULL},
    {"resnet stem",
     "Conv",
     4,
     {1, 3, 224, 224},
     {64, 3, 7, 7},
     {2, 2},
     {3, 3, 3, 3},
     ONES,
     1,
     1,
     0,
     1,
     NULL},
    {"resnet 3x3 64",
     "Conv",
     4,
     {1, 64, 56, 56},
     {64, 64, 3, 3},
     ONES,
     {1, 1, 1, 1},
     ONES,
     1,
     1,
     0,
     1,
     NULL},
    {"resnet 1x1 add",
     "Conv",
     4,
     {1, 64, 56, 56},
     {256, 64, 1, 1},
     ONES,
     {0},
     ONES,
     1,
     1,
     1,
     1,
     NULL},
    {"resnet 3x3 s2",
     "Conv",
     4,
     {1, 256, 28, 28},
     {256, 256, 3, 3},
     {2, 2},
     {1, 1, 1, 1},
     ONES,
     1,
     1,
     0,
     1,
     NULL},
    {"resnet 1x1 7x7",
     "Conv",
     4,
     {1, 512, 7, 7},
     {2048, 512, 1, 1},
     ONES,
     {0},
     ONES,
     1,
     1,
     1,
     1,
     NULL},
    {"resnet b32 3x3",
     "Conv",
     4,
     {32, 128, 28, 28},
     {128, 128, 3, 3},
     ONES,
     {1, 1, 1, 1},
     ONES,
     1,
     1,
     0,
     1,
     "f16"},
    {"resnet fc", "Gemm", 2, {1, 2048}, {1000, 2048}, {0}, {0}, {0}, 1, 1, 0, 0, NULL},
    {"fc 32 rows", "Gemm", 2, {32, 2048}, {1000, 2048}, {0}, {0}, {0}, 1, 1, 0, 1, NULL},
    {"gemm plain b", "Gemm", 2, {3, 37}, {37, 19}, {0}, {0}, {0}, 0, 1, 1, 0, NULL},
    {"matmul 12x128", "MatMul", 3, {12, 128, 64}, {12, 64, 128}, {0}, {0}, {0}, 0, 0, 0, 0, NULL},
    {"matmul const", "MatMul", 2, {128, 384}, {384, 1536}, {0}, {0}, {0}, 2, 0, 0, 0, NULL},
    {"depthwise 3x3",
     "Conv",
     4,
     {1, 144, 56, 56},
     {144, 1, 3, 3},
     ONES,
     {1, 1, 1, 1},
     ONES,
     144,
     1,
     0,
     3,
     NULL},
    {"odd pads",
     "Conv",
     4,
     {2, 5, 37, 41},
     {7, 5, 3, 3},
     {2, 1},
     {0, 1, 2, 0},
     {1, 2},
     1,
     1,
     1,
     2,
     NULL},
    {"few channels",
     "Conv",
     4,
     {2, 2, 37, 53},
     {40, 2, 5, 4},
     ONES,
     {2, 1, 2, 2},
     ONES,
     1,
     1,
     1,
     2,
     NULL},
    {"few filters",
     "Conv",
     4,
     {2, 64, 13, 67},
     {2, 64, 3, 3},
     ONES,
     {1, 0, 1, 2},
     ONES,
     1,
     1,
     1,
     4,
     NULL},
    {"groups",
     "Conv",
     4,
     {2, 12, 30, 40},
     {18, 4, 5, 5},
     ONES,
     {2, 2, 2, 2},
     ONES,
     3,
     1,
     0,
     4,
     NULL},
    {"one axis", "Conv", 3, {2, 16, 101}, {24, 16, 5}, ONES, {2, 2}, ONES, 1, 1, 0, 5, NULL},
    {"three axes",
     "Conv",
     5,
     {1, 8, 9, 10, 11},
     {16, 8, 3, 3, 3},
     ONES,
     {1, 1, 1, 1, 1, 1},
     ONES,
     1,
     1,
     0,
     0,
     NULL},
    {"transposed",
     "ConvTranspose",
     4,
     {1, 32, 28, 28},
     {32, 16, 4, 4},
     {2, 2},
     {1, 1, 1, 1},
     ONES,
     1,
     1,
     0,
     1,
     NULL},
    {"transposed groups",
     "ConvTranspose",
     4,
     {2, 16, 9, 11},
     {16, 4, 3, 3},
     {2, 2},
     {1, 1, 1, 1},
     ONES,
     2,
     1,
     0,
     0,
     NULL},
};

/* ----------------------------------------------------------------------------------------------
 * a host */

static char reason[1200];

static const void *no_extension(const tn_host *host, const char *name) {
    (void)host, (void)name;
    return NULL;
}
static tn_status fail(tn_call *call, tn_status status, const char *format, ...) {
    va_list arguments;
    (void)call;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return status;
}
static void log_line(const tn_host *host, uint32_t level, const char *text) {
    (void)host;
    printf("log %u: %s\n", level, text);
}
static void *allocate(const tn_host *host, uint64_t bytes, uint64_t alignment) {
    (void)host;
    const uint64_t each = alignment < 16 ? 16 : alignment;
    return aligned_alloc(each, (bytes / each + 1) * each);
}
static void deallocate(const tn_host *host, void *memory) {
    (void)host;
    free(memory);
}
static const tn_host host = {.size = sizeof(tn_host),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .extension = no_extension,
                             .fail = fail,
                             .log = log_line,
                             .allocate = allocate,
                             .deallocate = deallocate};

/* ----------------------------------------------------------------------------------------------
 * tensors */

typedef struct test_tensor {
    tn_tensor tensor;
    int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
    int64_t count;
    float *values; /* in linear order: what the stored numbers stand for */
    void *stored;  /* on the host */
    float scale;
    tn_quantization quantization;
} test_tensor;

static const tn_device *device;
static void *stream;
static double deadline;
static int failures;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void require(tn_status status, const char *what) {
    if (status == TN_OK) return;
    printf("%s failed (%d): %s\n", what, status, device->last_error(device));
    exit(1);
}

static uint64_t random_state = 88172645463325252u;
static float random_float(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (float)((double)(random_state >> 11) / 9007199254740992.0 * 2 - 1);
}

static size_t bytes_of(tn_type type) {
    return type == TN_F32 ? 4 : type == TN_I8 ? 1 : 2;
}

/* Hosts of such GPUs convert halves themselves. */
__attribute__((target("f16c"))) static uint16_t to_half(float value) {
    return (uint16_t)_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), 0), 0);
}
__attribute__((target("f16c"))) static float from_half(uint16_t half) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

static void store(test_tensor *t, int64_t at, float value) {
    uint32_t bits;
    float steps = rintf(value / t->scale);
    switch (t->tensor.type) {
    case TN_F32:
        ((float *)t->stored)[at] = value;
        break;
    case TN_F16:
        ((uint16_t *)t->stored)[at] = to_half(value);
        break;
    case TN_BF16:
        memcpy(&bits, &value, 4);
        ((uint16_t *)t->stored)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        break;
    default:
        ((int8_t *)t->stored)[at] = (int8_t)(steps > 127 ? 127 : steps < -128 ? -128 : steps);
    }
}
static float load(const test_tensor *t, int64_t at) {
    uint32_t bits;
    float value;
    switch (t->tensor.type) {
    case TN_F32:
        return ((const float *)t->stored)[at];
    case TN_F16:
        return from_half(((const uint16_t *)t->stored)[at]);
    case TN_BF16:
        bits = (uint32_t)((const uint16_t *)t->stored)[at] << 16;
        memcpy(&value, &bits, 4);
        return value;
    default:
        return (float)((const int8_t *)t->stored)[at] * t->scale;
    }
}

/* Where element `index` of linear order is stored. */
static int64_t place(const test_tensor *t, int64_t index) {
    int64_t at = 0;
    for (uint32_t i = t->tensor.rank; i-- > 0;) {
        at += index % t->shape[i] * t->strides[i];
        index /= t->shape[i];
    }
    return at;
}

static void describe(test_tensor *t, tn_type type, tn_format format, uint32_t rank,
                     const int64_t *shape) {
    int64_t stride = 1;
    memset(t, 0, sizeof(*t));
    t->count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        t->count *= shape[i];
    }
    if (format == TN_NHWC) {
        t->strides[1] = 1;
        stride = shape[1];
    }
    for (uint32_t i = rank; i-- > 0;) {
        if (format == TN_NHWC && i == 1) continue;
        t->strides[i] = stride;
        stride *= shape[i];
    }
    t->scale = 1.0f / 127.0f;
    t->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                            .type = type,
                            .format = format,
                            .rank = rank,
                            .bytes = (uint64_t)t->count * bytes_of(type),
                            .shape = t->shape,
                            .strides = t->strides,
                            .name = ""};
    t->values = malloc((size_t)t->count * sizeof(float));
    t->stored = malloc((size_t)t->count * bytes_of(type) + 64);
    if (type == TN_I8) {
        t->quantization =
            (tn_quantization){.size = sizeof(tn_quantization), .count = 1, .scale = &t->scale};
        t->tensor.quantization = &t->quantization;
    }
}

static void fill(test_tensor *t, float factor) {
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t at = place(t, i);
        store(t, at, random_float() * factor);
        t->values[i] = load(t, at);
    }
}

static void *to_device(const test_tensor *t) {
    void *memory = NULL;
    require(device->allocate(device, t->tensor.bytes, stream, &memory), "allocate");
    require(device->copy(device, memory, t->stored, t->tensor.bytes, TN_COPY_TO_DEVICE, stream),
            "copy");
    require(device->stream_wait(device, stream), "wait");
    return memory;
}

static void clear(test_tensor *t) {
    free(t->values);
    free(t->stored);
}

/* ----------------------------------------------------------------------------------------------
 * a case */

static const struct {
    uint32_t activation;
    float alpha, beta;
} activations[] = {{0, 0, 0},
                   {TN_ACTIVATION_RELU, 0, 0},
                   {TN_ACTIVATION_LEAKY_RELU, 0.1f, 0},
                   {TN_ACTIVATION_CLIP, 0, 0.6f},
                   {TN_ACTIVATION_TANH, 0, 0},
                   {TN_ACTIVATION_HARD_SWISH, 0, 0}};

static double activate(uint32_t which, double x) {
    const double alpha = activations[which].alpha, beta = activations[which].beta;
    switch (activations[which].activation) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case TN_ACTIVATION_CLIP:
        return fmin(fmax(x, alpha), beta);
    case TN_ACTIVATION_TANH:
        return tanh(x);
    case TN_ACTIVATION_HARD_SWISH:
        return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    default:
        return x;
    }
}

typedef struct test_node {
    const run_case *c;
    test_tensor x, w, b, residual, y;
    void *device_x, *device_w, *device_b, *device_residual, *device_y;
    tn_conv_params conv;
    tn_conv_transpose_params transposed;
    tn_gemm_params gemm;
    tn_operator op;
    tn_epilogue steps[2];
    const tn_epilogue *epilogues[2];
    const tn_tensor *inputs[3], *operands[1];
    tn_tensor *outputs[1];
    tn_call call;
    double ceiling; /* the largest of the sampled results */
    int64_t sampled[SAMPLES];
    double expected[SAMPLES];
} test_node;

static double sum_of_product(const test_node *n, int64_t at) {
    const bool is_gemm = strcmp(n->c->op, "Gemm") == 0, is_transposed = is_gemm && n->c->group == 1;
    const uint32_t rank = n->x.tensor.rank;
    const int64_t rows = n->x.shape[rank - 2], depth = n->x.shape[rank - 1];
    const int64_t columns = n->y.shape[rank - 1];
    const int64_t column = at % columns, row = at / columns % rows, batch = at / columns / rows;
    const float *a = n->x.values + (batch * rows + row) * depth;
    const float *b = n->w.values + (n->w.tensor.rank == 3 ? batch * depth * columns : 0);
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += (double)a[k] * (double)b[is_transposed ? column * depth + k : k * columns + column];
    return sum + (n->c->has_bias ? (double)n->b.values[column] : 0);
}

static double sum_of_convolution(const test_node *n, int64_t at) {
    const run_case *c = n->c;
    const bool is_transposed = c->op[4] != 0;
    const uint32_t spatial = c->rank - 2;
    int64_t position[3] = {0, 0, 0}, tap[3] = {0, 0, 0}, taps = 1, rest = at;
    for (uint32_t i = spatial; i-- > 0;) {
        position[i] = rest % n->y.shape[2 + i];
        rest /= n->y.shape[2 + i];
        taps *= c->w[2 + i];
    }
    const int64_t filter = rest % n->y.shape[1], image = rest / n->y.shape[1];
    const int64_t filters = n->y.shape[1] / c->group, channels = c->x[1] / c->group;
    const int64_t group = filter / filters;
    double sum = c->has_bias ? (double)n->b.values[filter] : 0;
    for (int64_t t = 0; t < taps; t++) {
        int64_t offset = 0, left = t;
        bool is_inside = true;
        for (uint32_t i = spatial; i-- > 0; left /= c->w[2 + i])
            tap[i] = left % c->w[2 + i];
        for (uint32_t i = 0; i < spatial; i++) {
            int64_t p = is_transposed
                            ? position[i] + c->pads[i] - tap[i] * c->dilations[i]
                            : position[i] * c->strides[i] - c->pads[i] + tap[i] * c->dilations[i];
            if (is_transposed) {
                is_inside = is_inside && p >= 0 && p % c->strides[i] == 0;
                p /= c->strides[i];
            }
            is_inside = is_inside && p >= 0 && p < c->x[2 + i];
            offset = offset * c->x[2 + i] + p;
        }
        if (!is_inside) continue;
        const int64_t plane = n->x.count / c->x[0] / c->x[1];
        for (int64_t k = 0; k < channels; k++) {
            const int64_t channel = group * channels + k;
            const int64_t weight = is_transposed ? (channel * filters + filter % filters) * taps + t
                                                 : (filter * channels + k) * taps + t;
            sum += (double)n->x.values[(image * c->x[1] + channel) * plane + offset] *
                   (double)n->w.values[weight];
        }
    }
    return sum;
}

static void sample(test_node *n) {
    const bool is_conv = n->c->op[0] == 'C';
    n->ceiling = 1e-9;
    for (int i = 0; i < SAMPLES; i++) {
        const int64_t at =
            i < 200 ? i % n->y.count
                    : (int64_t)((random_float() * 0.5f + 0.5f) * (float)(n->y.count - 1));
        double sum = is_conv ? sum_of_convolution(n, at) : sum_of_product(n, at);
        if (n->c->has_residual) sum += (double)n->residual.values[at];
        n->sampled[i] = at;
        n->expected[i] = activate(n->c->activation, sum);
        if (fabs(n->expected[i]) > n->ceiling) n->ceiling = fabs(n->expected[i]);
    }
}

static void set_shape(const run_case *c, int64_t *shape) {
    memcpy(shape, c->x, sizeof(c->x));
    if (strcmp(c->op, "Conv") == 0) {
        shape[1] = c->w[0];
        for (uint32_t i = 0; i + 2 < c->rank; i++)
            shape[2 + i] = (c->x[2 + i] + c->pads[i] + c->pads[i + c->rank - 2] -
                            ((c->w[2 + i] - 1) * c->dilations[i] + 1)) /
                               c->strides[i] +
                           1;
    } else if (c->op[0] == 'C') {
        shape[1] = c->w[1] * c->group;
        for (uint32_t i = 0; i + 2 < c->rank; i++)
            shape[2 + i] = (c->x[2 + i] - 1) * c->strides[i] + (c->w[2 + i] - 1) * c->dilations[i] +
                           1 - c->pads[i] - c->pads[i + c->rank - 2];
    } else {
        shape[c->rank - 1] = c->group == 1 ? c->w[0] : c->w[c->rank - 1];
    }
}

static void make_epilogues(test_node *n) {
    tn_call *call = &n->call;
    if (n->c->has_residual) {
        n->steps[0] = (tn_epilogue){
            .size = sizeof(tn_epilogue), .kind = TN_EPILOGUE_ADD, .operand = 0, .type = TN_F32};
        n->operands[0] = &n->residual.tensor;
        call->operand_count = 1;
        n->epilogues[call->epilogue_count++] = &n->steps[0];
    }
    if (n->c->activation) {
        n->steps[1] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                    .kind = TN_EPILOGUE_ACTIVATION,
                                    .activation = activations[n->c->activation].activation,
                                    .alpha = activations[n->c->activation].alpha,
                                    .beta = activations[n->c->activation].beta,
                                    .type = TN_F32};
        n->epilogues[call->epilogue_count++] = &n->steps[1];
    }
    call->operands = n->operands;
    call->epilogues = n->epilogues;
}

static void make_params(test_node *n) {
    const run_case *c = n->c;
    const uint32_t spatial = c->rank - 2;
    n->op = (tn_operator){.size = sizeof(tn_operator), .since_version = 13};
    n->conv = (tn_conv_params){.group = c->group,
                               .strides = {spatial, c->strides},
                               .dilations = {spatial, c->dilations},
                               .pads = {2u * spatial, c->pads}};
    n->transposed = (tn_conv_transpose_params){.group = c->group,
                                               .strides = {spatial, c->strides},
                                               .dilations = {spatial, c->dilations},
                                               .pads = {2u * spatial, c->pads}};
    n->gemm = (tn_gemm_params){.alpha = 1, .beta = 1, .transB = c->group == 1};
    n->call.op = &n->op;
    n->call.params = strcmp(c->op, "Conv") == 0            ? (void *)&n->conv
                     : strcmp(c->op, "ConvTranspose") == 0 ? (void *)&n->transposed
                                                           : (void *)&n->gemm;
}

/* The node's tensors in a combination; weights are 32-bit floats. */
static void make_node(test_node *n, const run_case *c, tn_type type, tn_type w_type, tn_type y_type,
                      tn_format format, tn_format y_format) {
    int64_t shape[TN_MAX_RANK], filters;
    memset(n, 0, sizeof(*n));
    n->c = c;
    n->call = (tn_call){.size = sizeof(tn_call),
                        .input_count = 3,
                        .output_count = 1,
                        .threads = 1,
                        .host = &host,
                        .inputs = n->inputs,
                        .outputs = n->outputs,
                        .device = device,
                        .stream = stream,
                        .node = c->name};
    set_shape(c, shape);
    filters = c->op[0] == 'C' ? shape[1] : shape[c->rank - 1];
    const double terms = c->op[0] == 'C'
                             ? (double)c->w[1] * (double)(c->w[2] * (c->w[3] ? c->w[3] : 1))
                             : (double)c->x[c->rank - 1];
    describe(&n->x, type, format, c->rank, c->x);
    describe(&n->w, w_type, TN_LINEAR, c->rank, c->w);
    describe(&n->b, w_type, TN_LINEAR, 1, &filters);
    describe(&n->residual, y_type, y_format, c->rank, shape);
    describe(&n->y, y_type, y_format, c->rank, shape);
    fill(&n->x, 1.0f);
    fill(&n->w, (float)(1.7 / sqrt(terms)));
    fill(&n->b, 0.5f);
    fill(&n->residual, 0.5f);
    sample(n);
    n->y.scale = (float)(n->ceiling / 127);
    n->inputs[0] = &n->x.tensor;
    n->inputs[1] = &n->w.tensor;
    n->inputs[2] = c->has_bias ? &n->b.tensor : NULL;
    if (!c->has_bias) n->call.input_count = 2;
    n->outputs[0] = &n->y.tensor;
    make_params(n);
    make_epilogues(n);
    n->device_x = to_device(&n->x);
    n->device_w = to_device(&n->w);
    n->device_b = to_device(&n->b);
    n->device_residual = to_device(&n->residual);
    n->device_y = to_device(&n->y);
}

static void clear_node(test_node *n) {
    void *memories[] = {n->device_x, n->device_w, n->device_b, n->device_residual, n->device_y};
    for (size_t i = 0; i < 5; i++)
        device->deallocate(device, memories[i], stream);
    clear(&n->x);
    clear(&n->w);
    clear(&n->b);
    clear(&n->residual);
    clear(&n->y);
}

/* In prepare constants lie in host memory, in run all lies on the device. */
static void show(test_node *n, bool is_run) {
    const bool is_constant = n->c->group != 0 || n->c->op[0] == 'C' || n->c->op[0] == 'G';
    n->x.tensor.data = is_run ? n->device_x : NULL;
    n->w.tensor.data = is_run ? n->device_w : is_constant ? n->w.stored : NULL;
    n->b.tensor.data = is_run ? n->device_b : n->b.stored;
    n->residual.tensor.data = is_run ? n->device_residual : NULL;
    n->y.tensor.data = is_run ? n->device_y : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * a tactic */

/* The largest difference over the largest result; NaN where a result is. */
static double compare(test_node *n) {
    double worst = 0;
    require(
        device->copy(device, n->y.stored, n->device_y, n->y.tensor.bytes, TN_COPY_TO_HOST, stream),
        "copy");
    require(device->stream_wait(device, stream), "wait");
    for (int i = 0; i < SAMPLES; i++) {
        const double error =
            fabs((double)load(&n->y, place(&n->y, n->sampled[i])) - n->expected[i]) / n->ceiling;
        if (!(error <= worst)) worst = error;
        if (isnan(error)) break;
    }
    return worst;
}

static tn_status time_replays(test_node *n, const tn_kernel *kernel, double *out_us) {
    void *graph = NULL, *from = NULL, *to = NULL;
    double best = 1e30, ns = 0;
    require(device->capture_begin(device, stream), "capture");
    tn_status status = TN_OK;
    for (int i = 0; i < REPLAYED && status == TN_OK; i++)
        status = kernel->run(&n->call);
    require(device->capture_end(device, stream, &graph), "capture's end");
    if (status != TN_OK) return status;
    require(device->event_create(device, &from), "event");
    require(device->event_create(device, &to), "event");
    require(device->graph_launch(device, graph, stream), "launch");
    for (int i = 0; i < LAUNCHES; i++) {
        require(device->event_record(device, from, stream), "record");
        require(device->graph_launch(device, graph, stream), "launch");
        require(device->event_record(device, to, stream), "record");
        require(device->stream_wait(device, stream), "wait");
        require(device->event_elapsed(device, from, to, &ns), "elapsed");
        if (ns < best) best = ns;
    }
    device->event_destroy(device, from);
    device->event_destroy(device, to);
    device->graph_destroy(device, graph);
    *out_us = best / REPLAYED / 1000;
    return TN_OK;
}

static tn_status run_opened(test_node *n, const tn_kernel *kernel, double *out_us,
                            double *out_error) {
    tn_call *call = &n->call;
    void *workspace = NULL;
    show(n, false);
    call->workspace_bytes = 0;
    tn_status status = kernel->reshape ? kernel->reshape(call) : TN_OK;
    if (status != TN_OK) return status;
    const uint64_t bytes = call->workspace_bytes;
    if (bytes) require(device->allocate(device, bytes, stream, &workspace), "workspace");
    call->workspace = workspace;
    show(n, true);
    require(device->fill(device, n->device_y, 0xff, n->y.tensor.bytes, stream), "fill");
    status = kernel->run(call);
    if (status == TN_OK) require(device->stream_wait(device, stream), "running the kernel");
    if (status == TN_OK) *out_error = compare(n);
    if (status == TN_OK) status = time_replays(n, kernel, out_us);
    if (workspace) device->deallocate(device, workspace, stream);
    return status;
}

static tn_status run_tactic(test_node *n, const tn_kernel *kernel, uint32_t tactic, double *out_us,
                            double *out_error) {
    tn_call *call = &n->call;
    call->tactic = tactic;
    call->state = call->context = NULL;
    show(n, false);
    tn_status status = kernel->prepare ? kernel->prepare(call) : TN_OK;
    if (status != TN_OK) return status;
    status = kernel->open ? kernel->open(call) : TN_OK;
    if (status == TN_OK) {
        status = run_opened(n, kernel, out_us, out_error);
        if (kernel->close) kernel->close(call);
    }
    show(n, false);
    if (kernel->release) kernel->release(call);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

static bool read_port(const char *text, tn_type *out_type, tn_format *out_format) {
    static const struct {
        const char *name;
        tn_type type;
    } types[] = {{"f32", TN_F32}, {"f16", TN_F16}, {"bf16", TN_BF16}, {"qi8", TN_I8}};
    for (size_t i = 0; i < 4; i++) {
        const size_t length = strlen(types[i].name);
        if (strncmp(text, types[i].name, length) != 0) continue;
        *out_type = types[i].type;
        *out_format = strncmp(text + length, ":nhwc", 5) == 0 ? TN_NHWC : TN_LINEAR;
        return text[length] != ':' || *out_format == TN_NHWC;
    }
    return false;
}

static double limit_of(const tn_kernel *kernel, tn_type type, tn_type y_type) {
    if (type == TN_I8) return 0.04;
    if (type == TN_BF16 || y_type == TN_BF16) return 0.02;
    if (type == TN_F16 || y_type == TN_F16 || strstr(kernel->name, "tf32")) return 3e-3;
    return 2e-5;
}

static void run_combination(const run_case *c, const tn_kernel *kernel, const char *text) {
    tn_type type, w_type, y_type;
    tn_format format, w_format, y_format;
    const char *w_text = strstr(text, ", "), *y_text = strstr(text, "-> ");
    if (c->only && strncmp(text, c->only, strlen(c->only)) != 0) return;
    if (!w_text || !y_text || !read_port(text, &type, &format) ||
        !read_port(w_text + 2, &w_type, &w_format) || !read_port(y_text + 3, &y_type, &y_format))
        return;
    static test_node n;
    make_node(&n, c, type, w_type, y_type, format, y_format);
    n.call.user = kernel->user;
    show(&n, false);
    if (kernel->accepts && kernel->accepts(&n.call) != TN_OK) {
        clear_node(&n);
        return;
    }
    n.call.tactic = 1;
    const tn_status status = kernel->tactics ? kernel->tactics(&n.call) : TN_OK;
    const uint32_t tactics = n.call.tactic;
    double best = 1e30, worst = 0;
    char all[600] = "";
    if (status != TN_OK) snprintf(all, sizeof(all), " tactics: %.200s", reason);
    for (uint32_t i = 0; status == TN_OK && i < tactics && i < MOST_TACTICS; i++) {
        double us = 0, error = 0;
        const size_t at = strlen(all);
        if (now() > deadline) break;
        if (run_tactic(&n, kernel, i, &us, &error) != TN_OK) {
            snprintf(all + at, sizeof(all) - at, " %u:(%.90s)", i, reason);
            continue;
        }
        snprintf(all + at, sizeof(all) - at, " %u:%.2f", i, us);
        if (us < best) best = us;
        if (!(error <= worst)) worst = error;
    }
    const bool is_wrong = !(worst <= limit_of(kernel, type, y_type));
    failures += is_wrong;
    printf("%-15s %-14s %-34s %8.2f us err %.1e%s |%s\n", c->name, kernel->name, text,
           best < 1e29 ? best : NAN, worst, is_wrong ? " WRONG" : "", all);
    fflush(stdout);
    clear_node(&n);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s LIBTENON_CUDA.so [SECONDS [CASE [KERNEL]]]\n", arguments[0]);
        return 2;
    }
    void *opened = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    tn_library_entry entry = (tn_library_entry)dlsym(opened, TN_LIBRARY_SYMBOL);
    tn_library *library = entry ? entry(&host) : NULL;
    if (!library || library->device_count == 0) {
        fprintf(stderr, "there is no GPU here\n");
        return 1;
    }
    deadline = now() + (count > 2 ? atof(arguments[2]) : 150);
    device = library->devices[0];
    printf("%s\n", device->fingerprint(device));
    require(device->stream_create(device, &stream), "stream");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const run_case *c = &cases[i];
        if (count > 3 && !strstr(c->name, arguments[3])) continue;
        for (uint64_t k = 0; k < library->kernel_count; k++) {
            const tn_kernel *kernel = library->kernels[k];
            if (strcmp(kernel->op, c->op) != 0 || strcmp(kernel->domain, "") != 0) continue;
            if (count > 4 && !strstr(kernel->name, arguments[4])) continue;
            for (uint32_t j = 0; j < kernel->combination_count && now() < deadline; j++)
                run_combination(c, kernel, kernel->combinations[j]);
        }
    }
    device->stream_destroy(device, stream);
    printf("%d wrong\n", failures);
    return failures != 0;
}
