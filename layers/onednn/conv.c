/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv and ConvTranspose by oneDNN: two spatial axes, constant weights in the layout that the
 * implementation likes, a residual and an activation done while storing. Tactics of Conv: direct,
 * and Winograd where there is one. Weights are laid out in prepare; a primitive is made for the
 * shapes of a context's reshape. One body; a kernel's `user` points at what tells them apart.
 */
#include "onednn/dnnl.h"
#include "onednn/window_fields.h"

#include <string.h>

/* Both have these inputs. */
enum { X = 0, W = 1, B = 2 };

typedef struct conv_kind {
    tn_status (*read_window)(tn_call *call, tn_window *out_window);
    bool is_transposed; /* W is channels, filters of a group, kernel; else filters, channels of a
                           group, kernel. oneDNN wants the filters first either way */
    dnnl_format_tag_t tag, grouped_tag; /* of W as it lies, in oneDNN's order of axes */
} conv_kind;

static const conv_kind conv = {tn_dnnl_conv_window, false, dnnl_abcd, dnnl_abcde};
static const conv_kind conv_transpose = {tn_dnnl_conv_transpose_window, true, dnnl_bacd,
                                         dnnl_acbde};

typedef struct conv_state {
    tn_dnnl_layout weights;
    const void *packed;
} conv_state;

typedef struct conv_context {
    tn_dnnl_primitive primitive;
    int64_t shape[4]; /* of the input that the primitive is for */
} conv_context;

/* ----------------------------------------------------------------------------------------------
 * descriptors */

static bool has_bias(const tn_call *call) {
    return call->input_count > B && call->inputs[B];
}

/* The weights in oneDNN's order of axes: filters, channels of a group, height, width; with groups,
 * an axis for them before. */
static bool describe_weights(const tn_call *call, bool is_plain, tn_dnnl_layout *layout) {
    const conv_kind *kind = call->user;
    const tn_dnnl_window_params *params = call->kernel_params;
    const int64_t *shape = call->inputs[W]->shape, groups = params->group;
    const int64_t filters = kind->is_transposed ? shape[1] : shape[0] / groups;
    const int64_t channels = kind->is_transposed ? shape[0] / groups : shape[1];
    const int64_t axes[] = {groups, filters, channels, shape[2], shape[3]};
    const bool is_grouped = groups != 1;
    dnnl_format_tag_t tag = is_grouped ? kind->grouped_tag : kind->tag;
    return tn_dnnl_layout_make(layout, is_grouped ? 5 : 4, is_grouped ? axes : axes + 1,
                               is_plain ? tag : dnnl_format_tag_any);
}

static void fill_window(const conv_kind *kind, const tn_window *window, tn_dnnl_window *out) {
    for (uint32_t i = 0; i < 2; i++) {
        /* The side that windows are counted on, and the one that they look at. */
        const int64_t count = kind->is_transposed ? window->input[i] : window->output[i];
        const int64_t seen = kind->is_transposed ? window->output[i] : window->input[i];
        out->kernel[i] = window->kernel[i];
        out->strides[i] = window->stride[i];
        out->dilations[i] = window->dilation[i] - 1;
        out->begin[i] = window->pad_begin[i];
        out->end[i] = (count - 1) * window->stride[i] + tn_window_extent(window, i) - seen -
                      window->pad_begin[i];
    }
}

typedef struct conv_layouts {
    tn_dnnl_layout source, target, weights, bias;
} conv_layouts;

static bool describe_tensors(const tn_call *call, int64_t parts, conv_layouts *layouts) {
    const int64_t *filters = &call->outputs[0]->shape[1];
    return tn_dnnl_layout_of(&layouts->source, call->inputs[X], parts) &&
           tn_dnnl_layout_of(&layouts->target, call->outputs[0], parts) &&
           describe_weights(call, false, &layouts->weights) &&
           (!has_bias(call) || tn_dnnl_layout_make(&layouts->bias, 1, filters, dnnl_a));
}

/* A descriptor for one of `parts` parts of the call's tensors; `weights` null: the implementation's
 * own layout. */
static tn_status make_descriptor(tn_call *call, int64_t parts, const tn_dnnl_layout *weights,
                                 uint32_t tactic, dnnl_primitive_desc_t *out_desc) {
    const conv_kind *kind = call->user;
    conv_layouts layouts = {0};
    tn_dnnl_convolution convolution = {
        .is_transposed = kind->is_transposed, .is_winograd = tactic == 1, .parts = parts};
    tn_window window;
    tn_status status = kind->read_window(call, &window);
    if (status != TN_OK) return status;
    if (window.rank == 2 && describe_tensors(call, parts, &layouts)) {
        convolution.source = tn_dnnl_layout_view(&layouts.source);
        convolution.target = tn_dnnl_layout_view(&layouts.target);
        convolution.weights = tn_dnnl_layout_view(weights ? weights : &layouts.weights);
        convolution.bias = tn_dnnl_layout_view(&layouts.bias);
        fill_window(kind, &window, &convolution.window);
        status = tn_dnnl_convolution_describe(call, &convolution, out_desc);
    } else {
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not do these tensors");
    }
    tn_dnnl_layout_clear(&layouts.source);
    tn_dnnl_layout_clear(&layouts.target);
    tn_dnnl_layout_clear(&layouts.weights);
    tn_dnnl_layout_clear(&layouts.bias);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * accepts, tactics */

/* oneDNN 2.6's products of matrices add other elements than those of the place where channels come
 * last. */
static bool adds_wrongly(const tn_call *call, const_dnnl_primitive_desc_t desc) {
    return call->operand_count > 0 && call->outputs[0]->format == TN_NHWC &&
           tn_dnnl_is_product(desc);
}

/* Whether there is an implementation worth having, whose layout of weights can be shared. */
static bool can_do(tn_call *call, uint32_t tactic) {
    dnnl_primitive_desc_t desc;
    tn_dnnl_layout weights = {0};
    char key[TN_DNNL_KEY_BYTES];
    if (make_descriptor(call, 1, NULL, tactic, &desc) != TN_OK) return false;
    const bool answer =
        !tn_dnnl_is_plain(desc) && !adds_wrongly(call, desc) &&
        tn_dnnl_layout_copy(&weights,
                            dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0)) &&
        tn_dnnl_layout_key(&weights, key);
    tn_dnnl_layout_clear(&weights);
    dnnl_primitive_desc_destroy(desc);
    return answer;
}

static tn_status conv_accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *w = call->inputs[W];
    if (!x || x->rank != 4 || !w || !w->data || !tn_dnnl_engine() || !can_do(call, 0))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status conv_tactics(tn_call *call) {
    const conv_kind *kind = call->user;
    call->tactic_count = !kind->is_transposed && can_do(call, 1) ? 2 : 1;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct reorder_job {
    tn_call *call;
    tn_dnnl_view from, to;
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

static tn_status pack(tn_call *call, conv_state *state) {
    tn_dnnl_layout plain = {0};
    char key[TN_DNNL_KEY_BYTES];
    tn_status status;
    if (describe_weights(call, true, &plain) && tn_dnnl_layout_key(&state->weights, key)) {
        reorder_job job = {call, tn_dnnl_layout_view(&plain), tn_dnnl_layout_view(&state->weights),
                           call->inputs[W]->data};
        status = call->host->packed(call, W, key, dnnl_memory_desc_get_size(job.to), pack_weights,
                                    &job, &state->packed);
    } else {
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not take these weights");
    }
    tn_dnnl_layout_clear(&plain);
    return status;
}

static tn_status conv_prepare(tn_call *call) {
    dnnl_primitive_desc_t desc;
    tn_status status = make_descriptor(call, 1, NULL, call->tactic, &desc);
    if (status != TN_OK) return status;
    conv_state *state = call->host->allocate(call->host, sizeof(*state), 64);
    if (!state) {
        dnnl_primitive_desc_destroy(desc);
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's state");
    }
    memset(state, 0, sizeof(*state));
    const bool is_copied = tn_dnnl_layout_copy(
        &state->weights, dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0));
    dnnl_primitive_desc_destroy(desc);
    status = is_copied ? pack(call, state)
                       : call->host->fail(call, TN_ERROR_MEMORY, "no memory for a layout");
    if (status != TN_OK) {
        tn_dnnl_layout_clear(&state->weights);
        call->host->deallocate(call->host, state);
        return status;
    }
    call->state = state;
    return TN_OK;
}

static void conv_release(tn_call *call) {
    conv_state *state = call->state;
    tn_dnnl_layout_clear(&state->weights);
    call->host->deallocate(call->host, state);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape, run */

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

/* The arguments in the order in which conv_run gives their addresses. */
static tn_status add_arguments(tn_call *call, int64_t parts, const_dnnl_primitive_desc_t desc,
                               tn_dnnl_primitive *primitive) {
    const struct {
        int id;
        dnnl_query_t query;
        int index;
        bool is_there;
    } arguments[] = {{DNNL_ARG_SRC, dnnl_query_src_md, 0, true},
                     {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, true},
                     {DNNL_ARG_DST, dnnl_query_dst_md, 0, true},
                     {DNNL_ARG_BIAS, dnnl_query_weights_md, 1, has_bias(call)}};
    tn_dnnl_layout operand = {0};
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < sizeof(arguments) / sizeof(*arguments); i++) {
        if (!arguments[i].is_there) continue;
        tn_dnnl_view view =
            dnnl_primitive_desc_query_md(desc, arguments[i].query, arguments[i].index);
        status = tn_dnnl_primitive_add(call, primitive, arguments[i].id, view);
    }
    if (status == TN_OK && call->operand_count &&
        tn_dnnl_layout_of(&operand, call->operands[0], parts))
        status = tn_dnnl_primitive_add(call, primitive,
                                       DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                       tn_dnnl_layout_view(&operand));
    tn_dnnl_layout_clear(&operand);
    return status;
}

static tn_status make_primitive(tn_call *call, int64_t parts, conv_context *context) {
    const conv_state *state = call->state;
    dnnl_primitive_desc_t desc;
    tn_status status = make_descriptor(call, parts, &state->weights, call->tactic, &desc);
    if (status != TN_OK) return status;
    const int before = tn_dnnl_set_threads(call->threads);
    status = tn_dnnl_primitive_make(call, desc, &context->primitive);
    tn_dnnl_set_threads((uint32_t)before);
    if (status == TN_OK) status = add_arguments(call, parts, desc, &context->primitive);
    context->primitive.parts = parts;
    dnnl_primitive_desc_destroy(desc);
    return status;
}

static tn_status conv_reshape(tn_call *call) {
    conv_context *context = call->context;
    const int64_t *shape = call->inputs[X]->shape, parts = tn_dnnl_parts(call);
    if (!context->primitive.primitive || context->primitive.parts != parts ||
        memcmp(context->shape, shape, sizeof(context->shape)) != 0) {
        const tn_status status = make_primitive(call, parts, context);
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
    tn_dnnl_address addresses[TN_DNNL_ARGUMENTS] = {tn_dnnl_address_of(call->inputs[X]),
                                                    {(void *)(uintptr_t)state->packed, 0},
                                                    tn_dnnl_address_of(call->outputs[0])};
    uint32_t count = 3;
    if (has_bias(call)) addresses[count++] = (tn_dnnl_address){call->inputs[B]->data, 0};
    if (call->operand_count) addresses[count++] = tn_dnnl_address_of(call->operands[0]);
    return tn_dnnl_primitive_run(call, &context->primitive, addresses);
}

static const char *const combinations[] = {
    "f32:strided, f32, f32? -> f32:strided",         "f32:nhwc, f32, f32? -> f32:nhwc",
    "f32:c16:strided, f32, f32? -> f32:c16:strided", "f32:c8:strided, f32, f32? -> f32:c8:strided",
    "f32:strided, f32, f32? -> f32:c16:strided",     "f32:strided, f32, f32? -> f32:c8:strided",
};

#define CONV_KERNEL(name_of, operator_name, kind, text)                                            \
    const tn_kernel name_of = {                                                                    \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 2,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "onednn",                                                                          \
        .doc = text,                                                                               \
        .absorbs = TN_DNNL_ABSORBS,                                                                \
        .traits = TN_KERNEL_OPENMP,                                                                \
        TN_COMBINATIONS(combinations),                                                             \
        .accepts = conv_accepts,                                                                   \
        .tactics = conv_tactics,                                                                   \
        .prepare = conv_prepare,                                                                   \
        .release = conv_release,                                                                   \
        .open = conv_open,                                                                         \
        .close = conv_close,                                                                       \
        .reshape = conv_reshape,                                                                   \
        .run = conv_run,                                                                           \
        .user = (void *)(uintptr_t) & (kind),                                                      \
        TN_FIELDS(tn_dnnl_window_params, tn_dnnl_window_fields),                                   \
    }
CONV_KERNEL(tn_dnnl_conv_kernel, "Conv", conv, "oneDNN's convolution, direct or Winograd.");
CONV_KERNEL(tn_dnnl_conv_transpose_kernel, "ConvTranspose", conv_transpose,
            "oneDNN's transposed convolution.");
