/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The custom layer of the networks that check_foreign_models.py runs: max pooling whose fields are
 * those that a TensorFlow node has (ksize and strides for N, H, W, C), on data in N, C, H, W;
 * and a layer of two outputs. References only: a test of readers, not of kernels. Where the
 * domain's name is given otherwise (FOREIGN_DOMAIN), it is the library that makes a name ambiguous.
 */
#include <tenon/plugin.h>

#ifndef FOREIGN_DOMAIN
#define FOREIGN_DOMAIN "tests.foreign_layers"
#define FOREIGN_NAME   "foreign_layers"
#endif

typedef struct pool_params {
    uint64_t present;
    tn_i64s ksize, strides;
    uint32_t padding, data_format;
    tn_type T;
} pool_params;

static const tn_field pool_fields[] = {
    TN_FIELD_LIST(pool_params, ksize, TN_FIELD_I64S, TN_REQUIRED, NULL, 4, 4, 1, 1024,
                  "the window, in the order of data_format"),
    TN_FIELD_LIST(pool_params, strides, TN_FIELD_I64S, TN_REQUIRED, NULL, 4, 4, 1, 1024,
                  "its steps, in the same order"),
    TN_FIELD_CHOICE(pool_params, padding, TN_FIELD_ENUM, TN_OPTIONAL, "VALID", "VALID",
                    "no padding"),
    TN_FIELD_CHOICE(pool_params, data_format, TN_FIELD_ENUM, TN_OPTIONAL, "NHWC", "NHWC|NCHW",
                    "the order of ksize and strides"),
    TN_FIELD(pool_params, T, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "the element type"),
};

typedef struct window {
    int64_t kernel[2], stride[2];
} window;

static window read_window(const tn_call *call) {
    const pool_params *params = call->params;
    const int64_t *ksize = params->ksize.items + (params->data_format == 0 ? 1 : 2);
    const int64_t *strides = params->strides.items + (params->data_format == 0 ? 1 : 2);
    return (window){{ksize[0], ksize[1]}, {strides[0], strides[1]}};
}

static tn_status pool_infer(tn_call *call) TN_NOEXCEPT {
    const tn_tensor *x = call->inputs[0];
    const window w = read_window(call);
    if (x->rank != 4)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u: expected 4", x->rank);
    call->outputs[0]->rank = 4;
    for (int i = 0; i < 4; i++) {
        call->outputs[0]->shape[i] = x->shape[i];
        if (i < 2) continue;
        if (x->shape[i] < w.kernel[i - 2])
            return call->host->fail(call, TN_ERROR_SHAPE, "the window is larger than x");
        call->outputs[0]->shape[i] = (x->shape[i] - w.kernel[i - 2]) / w.stride[i - 2] + 1;
    }
    return TN_OK;
}

static float largest(const float *plane, int64_t width, const window *w) {
    float best = plane[0];
    for (int64_t y = 0; y < w->kernel[0]; y++)
        for (int64_t x = 0; x < w->kernel[1]; x++)
            best = plane[y * width + x] > best ? plane[y * width + x] : best;
    return best;
}

static tn_status pool_reference(tn_call *call) TN_NOEXCEPT {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const window w = read_window(call);
    const int64_t planes = x->shape[0] * x->shape[1], height = y->shape[2], width = y->shape[3];
    float *to = y->data;
    for (int64_t p = 0; p < planes; p++) {
        const float *plane = (const float *)x->data + p * x->shape[2] * x->shape[3];
        for (int64_t row = 0; row < height; row++)
            for (int64_t column = 0; column < width; column++)
                *to++ = largest(plane + row * w.stride[0] * x->shape[3] + column * w.stride[1],
                                x->shape[3], &w);
    }
    return TN_OK;
}

static const tn_port pool_inputs[] = {TN_PORT("x", "f32", 0, "N, C, H, W")};
static const tn_port pool_outputs[] = {TN_PORT("y", "f32", 0, "N, C, H, W")};

static const tn_operator pool_operator = {
    .size = sizeof(tn_operator),
    .since_version = 2,
    .state_version = 1,
    .domain = FOREIGN_DOMAIN,
    .name = "MaxPool",
    .doc = "Max pooling with a TensorFlow node's fields.",
    TN_FIELDS(pool_params, pool_fields),
    TN_INPUTS(pool_inputs),
    TN_OUTPUTS(pool_outputs),
    .infer = pool_infer,
    .reference = pool_reference,
};

/* ----------------------------------------------------------------------------------------------
 * two outputs */

typedef struct parts_params {
    uint64_t present;
    float scale;
    bool flip;
    tn_f32s offsets;
    const char *mode;
} parts_params;

static const tn_field parts_fields[] = {
    TN_FIELD(parts_params, scale, TN_FIELD_F32, TN_REQUIRED, NULL, "multiplies the first output"),
    TN_FIELD(parts_params, flip, TN_FIELD_BOOL, TN_OPTIONAL, "0", "negates the first output"),
    TN_FIELD(parts_params, offsets, TN_FIELD_F32S, TN_OPTIONAL, "[]", "added to the second one"),
    TN_FIELD_CHOICE(parts_params, mode, TN_FIELD_STRING, TN_OPTIONAL, "plain", "plain|other",
                    "says nothing"),
};

static tn_status parts_infer(tn_call *call) TN_NOEXCEPT {
    const tn_tensor *x = call->inputs[0];
    for (uint32_t o = 0; o < call->output_count; o++) {
        if (!call->outputs[o]) continue;
        call->outputs[o]->rank = x->rank;
        for (uint32_t i = 0; i < x->rank; i++)
            call->outputs[o]->shape[i] = x->shape[i];
    }
    return TN_OK;
}

static tn_status parts_reference(tn_call *call) TN_NOEXCEPT {
    const parts_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    float offset = 0;
    for (uint64_t i = 0; i < params->offsets.count; i++)
        offset += params->offsets.items[i];
    for (uint64_t i = 0; i < x->bytes / sizeof(float); i++) {
        const float value = ((const float *)x->data)[i];
        ((float *)call->outputs[0]->data)[i] = (params->flip ? -value : value) * params->scale;
        ((float *)call->outputs[1]->data)[i] = value + offset;
    }
    return TN_OK;
}

static const tn_port parts_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port parts_outputs[] = {TN_PORT("scaled", "f32", 0, "as x"),
                                        TN_PORT("shifted", "f32", 0, "as x")};

static const tn_operator parts_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = FOREIGN_DOMAIN,
    .name = "TwoParts",
    .doc = "x scaled, and x shifted.",
    TN_FIELDS(parts_params, parts_fields),
    TN_INPUTS(parts_inputs),
    TN_OUTPUTS(parts_outputs),
    .infer = parts_infer,
    .reference = parts_reference,
};

static const tn_operator *const operators[] = {&pool_operator, &parts_operator};
static const tn_kernel *const kernels[] = {0};
static tn_library library = {
    .size = sizeof(tn_library),
    .abi_major = TN_ABI_MAJOR,
    .abi_minor = TN_ABI_MINOR,
    .name = FOREIGN_NAME,
    .version = "1.0",
    .operator_count = TN_COUNT(operators),
    .operators = operators,
    .kernel_count = 0,
    .kernels = kernels,
};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    (void)host;
    return &library;
}
