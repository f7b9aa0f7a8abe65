/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv by oneDNN: two spatial axes, constant weights in the layout that the implementation likes, a
 * residual and an activation done while storing. Tactics: direct, and Winograd where there is one.
 * Weights are laid out in prepare; a primitive is made for the shapes of a context's reshape.
 */
#include "conv/conv.h"
#include "onednn/dnnl.h"

#include <string.h>

typedef struct conv_state {
    dnnl_memory_desc_t weights;
    const void *packed;
} conv_state;

typedef struct conv_context {
    tn_dnnl_primitive primitive;
    int64_t shape[4]; /* of the input that the primitive is for */
} conv_context;

/* ----------------------------------------------------------------------------------------------
 * descriptors */

static bool post_op_of(const tn_epilogue *step, dnnl_alg_kind_t *out_kind, float *out_alpha,
                       float *out_beta) {
    *out_alpha = step->alpha;
    *out_beta = step->beta;
    switch (step->activation) {
    case TN_ACTIVATION_RELU:
        *out_kind = dnnl_eltwise_relu;
        *out_alpha = 0;
        return true;
    case TN_ACTIVATION_LEAKY_RELU:
        *out_kind = dnnl_eltwise_relu;
        return true;
    case TN_ACTIVATION_CLIP:
        *out_kind = dnnl_eltwise_clip_v2;
        return true;
    case TN_ACTIVATION_SIGMOID:
        *out_kind = dnnl_eltwise_logistic;
        return true;
    case TN_ACTIVATION_TANH:
        *out_kind = dnnl_eltwise_tanh;
        return true;
    case TN_ACTIVATION_GELU_ERF:
        *out_kind = dnnl_eltwise_gelu_erf;
        return true;
    case TN_ACTIVATION_ELU:
        *out_kind = dnnl_eltwise_elu;
        return true;
    default:
        return false;
    }
}

/* Attributes with the chain: at most one residual, then at most one activation. */
static tn_status make_attributes(tn_call *call, dnnl_primitive_attr_t *out_attributes) {
    dnnl_post_ops_t post_ops = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success) status = dnnl_post_ops_create(&post_ops);
    for (uint32_t i = 0; status == dnnl_success && i < call->epilogue_count; i++) {
        const tn_epilogue *step = call->epilogues[i];
        dnnl_alg_kind_t kind;
        dnnl_memory_desc_t operand;
        float alpha, beta;
        if (step->kind == TN_EPILOGUE_ADD && i == 0 &&
            tn_dnnl_describe(call->operands[step->operand], &operand))
            status = dnnl_post_ops_append_binary(post_ops, dnnl_binary_add, &operand);
        else if (step->kind == TN_EPILOGUE_ACTIVATION && i + 1 == call->epilogue_count &&
                 post_op_of(step, &kind, &alpha, &beta))
            status = dnnl_post_ops_append_eltwise(post_ops, 1.0f, kind, alpha, beta);
        else
            status = dnnl_unimplemented;
    }
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attributes, post_ops);
    if (post_ops) dnnl_post_ops_destroy(post_ops);
    if (status != dnnl_success) {
        if (attributes) dnnl_primitive_attr_destroy(attributes);
        return tn_dnnl_check(call, status, "the attributes of a convolution");
    }
    *out_attributes = attributes;
    return TN_OK;
}

/* The weights as ONNX has them: filters, channels of a group, height, width; with groups, a
 * dimension for them. */
static bool describe_weights(const tn_call *call, dnnl_format_tag_t plain,
                             dnnl_format_tag_t grouped, dnnl_memory_desc_t *out) {
    const tn_conv_params *params = call->params;
    const tn_tensor *w = call->inputs[TN_CONV_W];
    const int64_t groups = params->group;
    if (groups == 1) {
        const dnnl_dims_t dims = {w->shape[0], w->shape[1], w->shape[2], w->shape[3]};
        return dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32, plain) == dnnl_success;
    }
    const dnnl_dims_t dims = {groups, w->shape[0] / groups, w->shape[1], w->shape[2], w->shape[3]};
    return dnnl_memory_desc_init_by_tag(out, 5, dims, dnnl_f32, grouped) == dnnl_success;
}

/* A descriptor for the call's shapes; `weights` null: the implementation's own layout. */
static tn_status make_descriptor(tn_call *call, const dnnl_memory_desc_t *weights, uint32_t tactic,
                                 dnnl_primitive_desc_t *out_desc) {
    dnnl_memory_desc_t source, target, any_weights, bias;
    tn_window window;
    tn_status status = tn_conv_window(call, &window);
    if (status != TN_OK) return status;
    const tn_tensor *b = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    const dnnl_dims_t filters = {call->inputs[TN_CONV_W]->shape[0]};
    if (window.rank != 2 || !tn_dnnl_describe(call->inputs[TN_CONV_X], &source) ||
        !tn_dnnl_describe(call->outputs[0], &target) ||
        !describe_weights(call, dnnl_format_tag_any, dnnl_format_tag_any, &any_weights) ||
        dnnl_memory_desc_init_by_tag(&bias, 1, filters, dnnl_f32, dnnl_a) != dnnl_success)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not do this convolution");
    dnnl_dims_t strides, dilations, begin, end;
    for (uint32_t i = 0; i < 2; i++) {
        strides[i] = window.stride[i];
        dilations[i] = window.dilation[i] - 1;
        begin[i] = window.pad_begin[i];
        end[i] = (window.output[i] - 1) * window.stride[i] + tn_window_extent(&window, i) -
                 window.input[i] - begin[i];
    }
    dnnl_convolution_desc_t description;
    dnnl_primitive_attr_t attributes = NULL;
    status = tn_dnnl_check(call,
                           dnnl_dilated_convolution_forward_desc_init(
                               &description, dnnl_forward_inference,
                               tactic == 0 ? dnnl_convolution_direct : dnnl_convolution_winograd,
                               &source, weights ? weights : &any_weights, b ? &bias : NULL, &target,
                               strides, dilations, begin, end),
                           "describing a convolution");
    if (status == TN_OK) status = make_attributes(call, &attributes);
    if (status != TN_OK) return status;
    const int before = tn_dnnl_set_threads(call->threads ? call->threads : 1);
    status = tn_dnnl_check(
        call,
        dnnl_primitive_desc_create(out_desc, &description, attributes, tn_dnnl_engine(), NULL),
        "a convolution");
    tn_dnnl_set_threads((uint32_t)before);
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * callbacks */

static tn_status conv_accepts(tn_call *call) {
    dnnl_primitive_desc_t desc;
    if (!call->inputs[TN_CONV_W] || !call->inputs[TN_CONV_W]->data ||
        call->inputs[TN_CONV_X]->rank != 4 || !tn_dnnl_engine() ||
        make_descriptor(call, NULL, 0, &desc) != TN_OK)
        return TN_ERROR_UNSUPPORTED;
    const bool is_plain = tn_dnnl_is_plain(desc);
    dnnl_primitive_desc_destroy(desc);
    return is_plain ? TN_ERROR_UNSUPPORTED : TN_OK;
}

static tn_status conv_tactics(tn_call *call) {
    dnnl_primitive_desc_t desc;
    call->tactic = 1;
    if (make_descriptor(call, NULL, 1, &desc) == TN_OK) {
        call->tactic = tn_dnnl_is_plain(desc) ? 1 : 2;
        dnnl_primitive_desc_destroy(desc);
    }
    return TN_OK;
}

typedef struct reorder_job {
    tn_call *call;
    const dnnl_memory_desc_t *from, *to;
    const void *weights;
} reorder_job;

static dnnl_status_t reorder(const reorder_job *job, dnnl_memory_t from, dnnl_memory_t to) {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, job->from, tn_dnnl_engine(),
                                                              job->to, tn_dnnl_engine(), NULL);
    if (status != dnnl_success) return status;
    status = dnnl_primitive_create(&primitive, desc);
    dnnl_primitive_desc_destroy(desc);
    if (status == dnnl_success)
        status = dnnl_stream_create(&stream, tn_dnnl_engine(), dnnl_stream_default_flags);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    if (status == dnnl_success) status = dnnl_primitive_execute(primitive, stream, 2, arguments);
    if (status == dnnl_success) status = dnnl_stream_wait(stream);
    if (stream) dnnl_stream_destroy(stream);
    if (primitive) dnnl_primitive_destroy(primitive);
    return status;
}

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const reorder_job *job = user;
    dnnl_memory_t from = NULL, to = NULL;
    (void)bytes;
    dnnl_status_t status =
        dnnl_memory_create(&from, job->from, tn_dnnl_engine(), (void *)(uintptr_t)job->weights);
    if (status == dnnl_success) status = dnnl_memory_create(&to, job->to, tn_dnnl_engine(), data);
    if (status == dnnl_success) status = reorder(job, from, to);
    if (from) dnnl_memory_destroy(from);
    if (to) dnnl_memory_destroy(to);
    return tn_dnnl_check(job->call, status, "laying out weights");
}

/* Whoever shares laid-out weights must have the same layout: its description is the key. */
static void layout_key(const dnnl_memory_desc_t *desc, char key[40]) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof(*desc); i++)
        hash = (hash ^ ((const unsigned char *)desc)[i]) * 1099511628211u;
    for (int i = 0; i < 16; i++)
        key[i] = (char)('a' + (hash >> (4 * i) & 15));
    key[16] = 0;
}

static tn_status conv_prepare(tn_call *call) {
    dnnl_primitive_desc_t desc;
    dnnl_memory_desc_t plain;
    char key[40];
    tn_status status = make_descriptor(call, NULL, call->tactic, &desc);
    if (status != TN_OK) return status;
    conv_state *state = call->host->allocate(call->host, sizeof(*state), 64);
    if (!state) {
        dnnl_primitive_desc_destroy(desc);
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's state");
    }
    memset(state, 0, sizeof(*state));
    state->weights = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(desc);
    reorder_job job = {call, &plain, &state->weights, call->inputs[TN_CONV_W]->data};
    layout_key(&state->weights, key);
    if (!describe_weights(call, dnnl_abcd, dnnl_abcde, &plain))
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not take these weights");
    if (status == TN_OK)
        status =
            call->host->packed(call, TN_CONV_W, key, dnnl_memory_desc_get_size(&state->weights),
                               pack_weights, &job, &state->packed);
    if (status != TN_OK) {
        call->host->deallocate(call->host, state);
        return status;
    }
    call->state = state;
    return TN_OK;
}

static void conv_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status conv_open(tn_call *call) {
    conv_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

static void conv_close(tn_call *call) {
    conv_context *context = call->context;
    tn_dnnl_primitive_destroy(&context->primitive);
    call->host->deallocate(call->host, context);
}

static tn_status make_primitive(tn_call *call, conv_context *context) {
    const conv_state *state = call->state;
    const bool has_bias = call->input_count > TN_CONV_B && call->inputs[TN_CONV_B];
    dnnl_primitive_desc_t desc;
    dnnl_memory_desc_t operand;
    tn_status status = make_descriptor(call, &state->weights, call->tactic, &desc);
    if (status != TN_OK) return status;
    const int before = tn_dnnl_set_threads(call->threads);
    status = tn_dnnl_primitive_make(call, desc, &context->primitive);
    tn_dnnl_set_threads((uint32_t)before);
    const struct {
        int id;
        dnnl_query_t query;
        int index;
        bool is_there;
    } arguments[] = {{DNNL_ARG_SRC, dnnl_query_src_md, 0, true},
                     {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, true},
                     {DNNL_ARG_DST, dnnl_query_dst_md, 0, true},
                     {DNNL_ARG_BIAS, dnnl_query_weights_md, 1, has_bias}};
    for (size_t i = 0; status == TN_OK && i < 4; i++) {
        if (arguments[i].is_there)
            status = tn_dnnl_primitive_add(
                call, &context->primitive, arguments[i].id,
                dnnl_primitive_desc_query_md(desc, arguments[i].query, arguments[i].index));
    }
    if (status == TN_OK && call->operand_count && tn_dnnl_describe(call->operands[0], &operand))
        status =
            tn_dnnl_primitive_add(call, &context->primitive,
                                  DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, &operand);
    dnnl_primitive_desc_destroy(desc);
    return status;
}

static tn_status conv_reshape(tn_call *call) {
    conv_context *context = call->context;
    const int64_t *shape = call->inputs[TN_CONV_X]->shape;
    if (!context->primitive.primitive ||
        memcmp(context->shape, shape, sizeof(context->shape)) != 0) {
        const tn_status status = make_primitive(call, context);
        if (status != TN_OK) {
            tn_dnnl_primitive_destroy(&context->primitive);
            return status;
        }
        memcpy(context->shape, shape, sizeof(context->shape));
    }
    call->workspace_bytes = context->primitive.scratch_bytes;
    return TN_OK;
}

static tn_status conv_run(tn_call *call) {
    const conv_context *context = call->context;
    const conv_state *state = call->state;
    void *data[TN_DNNL_ARGUMENTS] = {call->inputs[TN_CONV_X]->data,
                                     (void *)(uintptr_t)state->packed, call->outputs[0]->data};
    uint32_t count = 3;
    if (call->input_count > TN_CONV_B && call->inputs[TN_CONV_B])
        data[count++] = call->inputs[TN_CONV_B]->data;
    if (call->operand_count) data[count++] = call->operands[0]->data;
    return tn_dnnl_primitive_run(call, &context->primitive, data);
}

static const char *const combinations[] = {
    "f32, f32, f32? -> f32",         "f32:nhwc, f32, f32? -> f32:nhwc",
    "f32:c16, f32, f32? -> f32:c16", "f32:c8, f32, f32? -> f32:c8",
    "f32, f32, f32? -> f32:c16",     "f32, f32, f32? -> f32:c8",
};

const tn_kernel tn_dnnl_conv_kernel = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "",
    .op = "Conv",
    .device = "cpu",
    .name = "onednn",
    .doc = "oneDNN's convolution, direct or Winograd.",
    .epilogues = TN_EPILOGUE_BIT(TN_EPILOGUE_ADD) | TN_EPILOGUE_BIT(TN_EPILOGUE_ACTIVATION),
    .activations = (1u << TN_ACTIVATION_RELU) | (1u << TN_ACTIVATION_LEAKY_RELU) |
                   (1u << TN_ACTIVATION_CLIP) | (1u << TN_ACTIVATION_SIGMOID) |
                   (1u << TN_ACTIVATION_TANH) | (1u << TN_ACTIVATION_GELU_ERF) |
                   (1u << TN_ACTIVATION_ELU),
    TN_COMBINATIONS(combinations),
    .accepts = conv_accepts,
    .tactics = conv_tactics,
    .prepare = conv_prepare,
    .release = conv_release,
    .open = conv_open,
    .close = conv_close,
    .reshape = conv_reshape,
    .run = conv_run,
};
