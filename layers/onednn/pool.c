/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxPool without indices, AveragePool and GlobalAveragePool by oneDNN: two spatial axes, input and
 * output in the same format. One body; a kernel's `user` points at what tells them apart.
 */
#include "onednn/dnnl.h"
#include "onednn/window_fields.h"

typedef struct pool_kind {
    dnnl_alg_kind_t
        algorithm; /* of AveragePool the one that leaves padding out; see algorithm_of */
    /* The node's window; false for what is not done here. */
    bool (*read)(tn_call *call, tn_window *out_window);
} pool_kind;

static bool read_max(tn_call *call, tn_window *out_window) {
    const bool has_indices = call->output_count > 1 && call->outputs[1];
    return !has_indices && tn_dnnl_pool_window(call, out_window) == TN_OK;
}

static bool read_average(tn_call *call, tn_window *out_window) {
    const tn_dnnl_window_params *params = call->kernel_params;
    return !params->ceil_mode && tn_dnnl_pool_window(call, out_window) == TN_OK;
}

static bool read_global(tn_call *call, tn_window *out_window) {
    const tn_tensor *x = call->inputs[0];
    *out_window = (tn_window){.rank = 2};
    for (uint32_t i = 0; i < 2 && x->rank == 4; i++) {
        out_window->input[i] = out_window->kernel[i] = x->shape[2 + i];
        out_window->output[i] = out_window->stride[i] = out_window->dilation[i] = 1;
    }
    return x->rank == 4;
}

static const pool_kind max_kind = {dnnl_pooling_max, read_max};
static const pool_kind average_kind = {dnnl_pooling_avg_exclude_padding, read_average};
static const pool_kind global_kind = {dnnl_pooling_avg_include_padding, read_global};

static dnnl_alg_kind_t algorithm_of(const tn_call *call, const pool_kind *kind) {
    if (kind != &average_kind) return kind->algorithm;
    const tn_dnnl_window_params *params = call->kernel_params;
    return params->count_include_pad ? dnnl_pooling_avg_include_padding
                                     : dnnl_pooling_avg_exclude_padding;
}

static tn_status describe(tn_call *call, int64_t parts, dnnl_primitive_desc_t *out_desc) {
    const pool_kind *kind = call->user;
    tn_dnnl_layout source = {0}, target = {0};
    tn_dnnl_operation pooling = {
        .kind = TN_DNNL_POOLING, .algorithm = algorithm_of(call, kind), .parts = 1};
    tn_window window;
    tn_status status;
    if (kind->read(call, &window) && window.rank == 2 &&
        tn_dnnl_layout_of(&source, call->inputs[0], parts) &&
        tn_dnnl_layout_of(&target, call->outputs[0], parts)) {
        pooling.source = tn_dnnl_layout_view(&source);
        pooling.target = tn_dnnl_layout_view(&target);
        tn_dnnl_window_of(&window, false, &pooling.window);
        for (uint32_t i = 0; i < 2 && kind != &max_kind; i++) /* averages count no cut-off part */
            if (pooling.window.end[i] < 0) pooling.window.end[i] = 0;
        status = tn_dnnl_describe(call, &pooling, out_desc);
    } else {
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not do this pooling");
    }
    tn_dnnl_layout_clear(&source);
    tn_dnnl_layout_clear(&target);
    return status;
}

static tn_status pool_accepts(tn_call *call) {
    dnnl_primitive_desc_t desc;
    if (!tn_dnnl_engine() || describe(call, 1, &desc) != TN_OK) return TN_ERROR_UNSUPPORTED;
    const bool is_plain = tn_dnnl_is_plain(desc);
    dnnl_primitive_desc_destroy(desc);
    return is_plain ? TN_ERROR_UNSUPPORTED : TN_OK;
}

static tn_status pool_reshape(tn_call *call) {
    return tn_dnnl_node_reshape(call, false, NULL, NULL, describe);
}

static tn_status pool_run(tn_call *call) {
    return tn_dnnl_node_run(call, NULL, NULL, NULL);
}

static const char *const combinations[] = {"f32:linear|c16|c8:strided -> f32:linear|c16|c8:strided",
                                           "f32:nhwc -> f32:nhwc"};

/* The largest of 8-bit integers is one of them. */
static const char *const max_combinations[] = {
    "f32:linear|c16|c8:strided -> f32:linear|c16|c8:strided", "f32:nhwc -> f32:nhwc",
    "u8:nhwc -> u8:nhwc", "i8:nhwc -> i8:nhwc"};

#define POOL_KERNEL(name_of, operator_name, table, kind, ...)                                      \
    const tn_kernel name_of = {TN_DNNL_KERNEL_BEGIN("", operator_name, 1, "oneDNN's pooling."),    \
                               TN_COMBINATIONS(table),                                             \
                               .accepts = pool_accepts,                                            \
                               .reshape = pool_reshape,                                            \
                               .run = pool_run,                                                    \
                               .user = (void *)(uintptr_t) & (kind),                               \
                               __VA_ARGS__}
POOL_KERNEL(tn_dnnl_max_pool_kernel, "MaxPool", max_combinations, max_kind,
            TN_FIELDS(tn_dnnl_window_params, tn_dnnl_window_fields));
POOL_KERNEL(tn_dnnl_average_pool_kernel, "AveragePool", combinations, average_kind,
            TN_FIELDS(tn_dnnl_window_params, tn_dnnl_window_fields));
POOL_KERNEL(tn_dnnl_global_average_pool_kernel, "GlobalAveragePool", combinations, global_kind,
            TN_NO_FIELDS);
