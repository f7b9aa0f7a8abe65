/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxPool without indices, AveragePool and GlobalAveragePool by oneDNN: two spatial axes, input and
 * output in the same format. One body; a kernel's `user` points at what tells them apart.
 */
#include "onednn/dnnl.h"
#include "onednn/window_fields.h"

#include <string.h>

typedef struct pool_kind {
    dnnl_alg_kind_t
        algorithm; /* of AveragePool the one that leaves padding out; see algorithm_of */
    /* The node's window; false for what is not done here. */
    bool (*read)(tn_call *call, tn_window *out_window);
} pool_kind;

typedef struct pool_context {
    tn_dnnl_primitive primitive;
    int64_t shape[4];
} pool_context;

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

/* The window in oneDNN's words; the end is what the last output sees, ceil_mode's part included. */
static void fill_window(const tn_window *window, bool may_cut, tn_dnnl_window *out) {
    for (uint32_t i = 0; i < 2; i++) {
        out->kernel[i] = window->kernel[i];
        out->strides[i] = window->stride[i];
        out->dilations[i] = window->dilation[i] - 1;
        out->begin[i] = window->pad_begin[i];
        out->end[i] = (window->output[i] - 1) * window->stride[i] + tn_window_extent(window, i) -
                      window->input[i] - out->begin[i];
        if (!may_cut && out->end[i] < 0) out->end[i] = 0;
    }
}

static tn_status make_descriptor(tn_call *call, int64_t parts, dnnl_primitive_desc_t *out_desc) {
    const pool_kind *kind = call->user;
    tn_dnnl_layout source = {0}, target = {0};
    tn_dnnl_pooling pooling = {.algorithm = algorithm_of(call, kind)};
    tn_window window;
    tn_status status;
    if (kind->read(call, &window) && window.rank == 2 &&
        tn_dnnl_layout_of(&source, call->inputs[0], parts) &&
        tn_dnnl_layout_of(&target, call->outputs[0], parts)) {
        pooling.source = tn_dnnl_layout_view(&source);
        pooling.target = tn_dnnl_layout_view(&target);
        fill_window(&window, kind == &max_kind, &pooling.window);
        status = tn_dnnl_pooling_describe(call, &pooling, out_desc);
    } else {
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not do this pooling");
    }
    tn_dnnl_layout_clear(&source);
    tn_dnnl_layout_clear(&target);
    return status;
}

static tn_status pool_accepts(tn_call *call) {
    dnnl_primitive_desc_t desc;
    if (!tn_dnnl_engine() || make_descriptor(call, 1, &desc) != TN_OK) return TN_ERROR_UNSUPPORTED;
    const bool is_plain = tn_dnnl_is_plain(desc);
    dnnl_primitive_desc_destroy(desc);
    return is_plain ? TN_ERROR_UNSUPPORTED : TN_OK;
}

static tn_status pool_open(tn_call *call) {
    pool_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the pooling's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

static void pool_close(tn_call *call) {
    pool_context *context = call->context;
    tn_dnnl_primitive_destroy(&context->primitive);
    call->host->deallocate(call->host, context);
}

static tn_status make_primitive(tn_call *call, int64_t parts, pool_context *context) {
    dnnl_primitive_desc_t desc;
    tn_status status = make_descriptor(call, parts, &desc);
    if (status != TN_OK) return status;
    const int before = tn_dnnl_set_threads(call->threads);
    status = tn_dnnl_primitive_make(call, desc, &context->primitive);
    tn_dnnl_set_threads((uint32_t)before);
    if (status == TN_OK)
        status = tn_dnnl_primitive_add(call, &context->primitive, DNNL_ARG_SRC,
                                       dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0));
    if (status == TN_OK)
        status = tn_dnnl_primitive_add(call, &context->primitive, DNNL_ARG_DST,
                                       dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0));
    context->primitive.parts = parts;
    dnnl_primitive_desc_destroy(desc);
    return status;
}

static tn_status pool_reshape(tn_call *call) {
    pool_context *context = call->context;
    const int64_t parts = tn_dnnl_parts(call);
    if (!context->primitive.primitive || context->primitive.parts != parts ||
        memcmp(context->shape, call->inputs[0]->shape, sizeof(context->shape)) != 0) {
        const tn_status status = make_primitive(call, parts, context);
        if (status != TN_OK) {
            tn_dnnl_primitive_destroy(&context->primitive);
            return status;
        }
        memcpy(context->shape, call->inputs[0]->shape, sizeof(context->shape));
    }
    call->workspace_bytes = context->primitive.scratch_bytes;
    return TN_OK;
}

static tn_status pool_run(tn_call *call) {
    const pool_context *context = call->context;
    const tn_dnnl_address addresses[] = {tn_dnnl_address_of(call->inputs[0]),
                                         tn_dnnl_address_of(call->outputs[0])};
    return tn_dnnl_primitive_run(call, &context->primitive, addresses);
}

static const char *const combinations[] = {
    "f32:nhwc -> f32:nhwc", "f32:linear|c16|c8:strided -> f32:linear|c16|c8:strided"};

#define POOL_KERNEL(name_of, operator_name, kind, ...)                                             \
    const tn_kernel name_of = {.size = sizeof(tn_kernel),                                          \
                               .revision = 1,                                                      \
                               .domain = "",                                                       \
                               .op = operator_name,                                                \
                               .device = "cpu",                                                    \
                               .name = "onednn",                                                   \
                               .traits = TN_KERNEL_OPENMP,                                         \
                               .doc = "oneDNN's pooling.",                                         \
                               TN_COMBINATIONS(combinations),                                      \
                               .accepts = pool_accepts,                                            \
                               .open = pool_open,                                                  \
                               .close = pool_close,                                                \
                               .reshape = pool_reshape,                                            \
                               .run = pool_run,                                                    \
                               .user = (void *)(uintptr_t) & (kind),                               \
                               __VA_ARGS__}
POOL_KERNEL(tn_dnnl_max_pool_kernel, "MaxPool", max_kind,
            TN_FIELDS(tn_dnnl_window_params, tn_dnnl_window_fields));
POOL_KERNEL(tn_dnnl_average_pool_kernel, "AveragePool", average_kind,
            TN_FIELDS(tn_dnnl_window_params, tn_dnnl_window_fields));
POOL_KERNEL(tn_dnnl_global_average_pool_kernel, "GlobalAveragePool", global_kind, TN_NO_FIELDS);
