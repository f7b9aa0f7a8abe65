/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv and ConvTranspose by oneDNN: two spatial axes, constant weights in the layout that the
 * implementation likes, a residual and an activation done while storing. Tactics of Conv: direct,
 * and Winograd where there is one. Weights are laid out in prepare; a primitive is made for the
 * shapes of a context's reshape. QLinearConv and QLinearConvAdd the same in integers, where
 * oneDNN's second implementation is a tactic. One body; a kernel's `user` points at what tells them
 * apart.
 */
#include "kit/operator/kernel_memory.h"
#include "onednn/dnnl.h"
#include "onednn/requantisation.h"
#include "onednn/window_fields.h"
#include <string.h>

enum { X = 0 };
enum { DIRECT = 0, WINOGRAD = 1, SECOND = 1 /* implementation, of integers */ }; /* tactics */

typedef struct conv_kind {
    tn_status (*read_window)(tn_call *call, tn_window *out_window);
    uint32_t weights, bias; /* which inputs */
    dnnl_data_type_t weights_type, bias_type;
    bool is_transposed; /* W is channels, filters of a group, kernel; else filters, channels of a
                           group, kernel. oneDNN wants the filters first in both cases */
    dnnl_format_tag_t tag, grouped_tag; /* of W's layout, in oneDNN's order of axes */
} conv_kind;

static const conv_kind conv = {tn_dnnl_conv_window, 1,         2, dnnl_f32, dnnl_f32, false,
                               dnnl_abcd,           dnnl_abcde};
static const conv_kind conv_transpose = {
    tn_dnnl_conv_transpose_window, 1, 2, dnnl_f32, dnnl_f32, true, dnnl_bacd, dnnl_acbde};
static const conv_kind integer_conv = {tn_dnnl_integer_conv_window,
                                       TN_DNNL_Q_W,
                                       TN_DNNL_Q_BIAS,
                                       dnnl_s8,
                                       dnnl_s32,
                                       false,
                                       dnnl_abcd,
                                       dnnl_abcde};
static const conv_kind integer_conv_add = {tn_dnnl_integer_conv_window,
                                           TN_DNNL_Q_W,
                                           TN_DNNL_Q_BIAS,
                                           dnnl_s8,
                                           dnnl_s32,
                                           false,
                                           dnnl_abcd,
                                           dnnl_abcde};

static bool is_of_integers(const conv_kind *kind) {
    return kind == &integer_conv || kind == &integer_conv_add;
}

typedef struct conv_state {
    tn_dnnl_layout weights;
    const void *packed;
    char implementation[TN_DNNL_NAME_BYTES]; /* that has them so */
} conv_state;

static const tn_tensor *weights_of(const tn_call *call) {
    return call->inputs[((const conv_kind *)call->user)->weights];
}

/* ----------------------------------------------------------------------------------------------
 * descriptors */

static const tn_tensor *bias_of(const tn_call *call) {
    const uint32_t bias = ((const conv_kind *)call->user)->bias;
    return call->input_count > bias ? call->inputs[bias] : NULL;
}

/* What QLinearConvAdd adds; null: another kind. */
static const tn_tensor *added_of(const tn_call *call) {
    return call->user == &integer_conv_add ? call->inputs[TN_DNNL_Q_Z] : NULL;
}

/* The weights in oneDNN's order of axes: filters, channels of a group, height, width; with groups,
 * an axis for them before. */
static bool describe_weights(const tn_call *call, bool is_plain, tn_dnnl_layout *layout) {
    const conv_kind *kind = call->user;
    const tn_dnnl_window_params *params = call->kernel_params;
    const int64_t *shape = weights_of(call)->shape, groups = params->group;
    const int64_t filters = kind->is_transposed ? shape[1] : shape[0] / groups;
    const int64_t channels = kind->is_transposed ? shape[0] / groups : shape[1];
    const int64_t axes[] = {groups, filters, channels, shape[2], shape[3]};
    const bool is_grouped = groups != 1;
    dnnl_format_tag_t tag = is_grouped ? kind->grouped_tag : kind->tag;
    return tn_dnnl_layout_make(layout, kind->weights_type, is_grouped ? 5 : 4,
                               is_grouped ? axes : axes + 1, is_plain ? tag : dnnl_format_tag_any);
}

typedef struct conv_layouts {
    tn_dnnl_layout source, target, weights, bias;
} conv_layouts;

static bool describe_tensors(const tn_call *call, int64_t parts, conv_layouts *layouts) {
    const conv_kind *kind = call->user;
    const int64_t *filters = &call->outputs[0]->shape[1];
    return tn_dnnl_layout_of(&layouts->source, call->inputs[X], parts) &&
           tn_dnnl_layout_of(&layouts->target, call->outputs[0], parts) &&
           describe_weights(call, false, &layouts->weights) &&
           (!bias_of(call) ||
            tn_dnnl_layout_make(&layouts->bias, kind->bias_type, 1, filters, dnnl_a));
}

/* A descriptor for one of `parts` parts of the call's tensors; `state` null: with the weights as
 * the tactic's implementation likes them. */
static tn_status make_descriptor(tn_call *call, int64_t parts, const conv_state *state,
                                 uint32_t tactic, dnnl_primitive_desc_t *out_desc) {
    const conv_kind *kind = call->user;
    conv_layouts layouts = {0};
    tn_dnnl_operation convolution = {
        .kind = kind->is_transposed ? TN_DNNL_DECONVOLUTION : TN_DNNL_CONVOLUTION,
        .algorithm = kind->is_transposed                           ? dnnl_deconvolution_direct
                     : tactic == WINOGRAD && !is_of_integers(kind) ? dnnl_convolution_winograd
                                                                   : dnnl_convolution_direct,
        .parts = parts,
        .skipped = is_of_integers(kind) && !state ? tactic : 0};
    tn_window window;
    tn_dnnl_requantisation requantisation = {0};
    float *factors = NULL;
    tn_status status = kind->read_window(call, &window);
    if (status == TN_OK && is_of_integers(kind))
        status = tn_dnnl_requantisation_read(call, &requantisation, &factors);
    if (status != TN_OK) return status;
    if (state && is_of_integers(kind)) convolution.implementation = state->implementation;
    if (factors) convolution.requantisation = &requantisation;
    if (window.rank == 2 && describe_tensors(call, parts, &layouts)) {
        convolution.source = tn_dnnl_layout_view(&layouts.source);
        convolution.target = tn_dnnl_layout_view(&layouts.target);
        convolution.weights = tn_dnnl_layout_view(state ? &state->weights : &layouts.weights);
        convolution.bias = tn_dnnl_layout_view(&layouts.bias);
        tn_dnnl_window_of(&window, kind->is_transposed, &convolution.window);
        status = tn_dnnl_describe(call, &convolution, out_desc);
    } else {
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not do these tensors");
    }
    tn_dnnl_layout_clear(&layouts.source);
    tn_dnnl_layout_clear(&layouts.target);
    tn_dnnl_layout_clear(&layouts.weights);
    tn_dnnl_layout_clear(&layouts.bias);
    if (factors) call->host->deallocate(call->host, factors);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * accepts, tactics */

/* Channels last, oneDNN 2.6's products of matrices add elements of other positions, and its
 * implementations for AVX2 requantise wrongly before they add. */
static bool adds_wrongly(const tn_call *call, const_dnnl_primitive_desc_t desc) {
    if (added_of(call)) return !tn_dnnl_is_avx512(desc);
    return call->operand_count > 0 && call->outputs[0]->format == TN_NHWC &&
           tn_dnnl_is_product(desc);
}

/* Whether there is an implementation worth having, whose layout of weights can be shared. */
static tn_status can_do(tn_call *call, uint32_t tactic) {
    dnnl_primitive_desc_t desc;
    tn_dnnl_layout weights = {0};
    char key[TN_DNNL_KEY_BYTES];
    TN_TRY(make_descriptor(call, 1, NULL, tactic, &desc));
    const bool is_other = tactic == SECOND && is_of_integers(call->user);
    const bool answer =
        !tn_dnnl_is_plain(desc) && !adds_wrongly(call, desc) &&
        (!is_other || tn_dnnl_is_avx512(desc)) &&
        tn_dnnl_layout_copy(&weights,
                            dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0)) &&
        tn_dnnl_layout_key(&weights, key);
    tn_dnnl_layout_clear(&weights);
    dnnl_primitive_desc_destroy(desc);
    return answer ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* Whether the operator's own kernel on tiles is faster. On AMX that of sums takes less than half of
 * the time, and that of windows of one element less in all of a ResNet's. With AVX-512 VNNI those
 * take 0.9 of the time within a network, and windows of 3 x 3 between 0.75, where there are many
 * weights, and 1.03: tiles fetch weights while they multiply, where oneDNN waits for memory, which
 * a measurement of the same weights again and again does not show; and a plan that has no other
 * kernel by OpenMP has no team that waits. Tiles are not for a few channels. */
static bool loses_to_tiles(tn_call *call) {
    enum { LEAST_CHANNELS = 16, MOST_DEPTH = 1 << 16 };
    const tn_dnnl_window_params *params = call->kernel_params;
    const int64_t *shape = weights_of(call)->shape;
    const int64_t *of_output = call->outputs[0]->shape;
    const bool is_row = of_output[0] * of_output[2] * of_output[3] == 1;
    const bool is_product = added_of(call) || (shape[2] == 1 && shape[3] == 1);
    dnnl_primitive_desc_t desc;
    tn_window window;
    tn_call conv_call = *call;
    if (params->group != 1 || shape[0] < LEAST_CHANNELS || shape[1] < LEAST_CHANNELS) return false;
    if (!tn_dnnl_has_amx())
        return tn_dnnl_integer_conv_window(call, &window) == TN_OK && window.dilation[1] == 1 &&
               !is_row && shape[1] * shape[2] * shape[3] <= MOST_DEPTH;
    if (!is_product) return false;
    conv_call.user = (void *)(uintptr_t)&integer_conv;
    if (conv_call.input_count > TN_DNNL_Q_Z) conv_call.input_count = TN_DNNL_Q_Z;
    if (make_descriptor(&conv_call, 1, NULL, DIRECT, &desc) != TN_OK) return false;
    const bool is_amx = tn_dnnl_is_amx(desc);
    dnnl_primitive_desc_destroy(desc);
    return is_amx;
}

/* Implementations that read linear channels and write blocks of them are for a network's stem, of
 * fewer channels than a block has. */
static bool may_begin_blocks(const tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    const tn_format to = call->outputs[0]->format;
    if (x->format != TN_LINEAR || (to != TN_C8 && to != TN_C16)) return true;
    return x->shape[1] < (to == TN_C8 ? 8 : 16);
}

/* Without VNNI oneDNN's products of bytes are not exact: pairs of them saturate at 16 bits, and
 * signed inputs are multiplied by halves of the weights. */
static tn_status conv_accepts(tn_call *call) {
    const conv_kind *kind = call->user;
    const tn_tensor *x = call->inputs[X], *w = weights_of(call);
    tn_window window;
    if (!x || x->rank != 4 || !w || !w->data || !may_begin_blocks(call) || !tn_dnnl_engine())
        return TN_ERROR_UNSUPPORTED;
    if (is_of_integers(kind)) /* scales and zero points count */
        return !tn_dnnl_has_vnni() || loses_to_tiles(call) ? TN_ERROR_UNSUPPORTED
                                                           : can_do(call, DIRECT);
    TN_TRY(kind->read_window(call, &window));
    return tn_dnnl_ask(call, can_do, DIRECT, &window) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* How the weights of Winograd's algorithm are laid out depends on the image: other sizes could not
 * be run with them. */
static bool has_one_shape(const tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    const tn_tensor *const *const ends[] = {call->minimum_inputs, call->maximum_inputs};
    for (size_t i = 0; i < TN_COUNT(ends); i++)
        if (ends[i] && ends[i][X] &&
            memcmp(ends[i][X]->shape, x->shape, x->rank * sizeof(*x->shape)) != 0)
            return false;
    return true;
}

/* What oneDNN's implementations by Winograd's algorithm are for. */
static bool may_be_winograd(const tn_call *call, const tn_window *window) {
    const tn_dnnl_window_params *params = call->kernel_params;
    bool may_be = window->rank == 2 && params->group == 1 && has_one_shape(call);
    for (uint32_t i = 0; i < window->rank; i++)
        may_be =
            may_be && window->kernel[i] == 3 && window->stride[i] == 1 && window->dilation[i] == 1;
    return may_be;
}

static tn_status conv_tactics(tn_call *call) {
    const conv_kind *kind = call->user;
    tn_window window;
    call->tactic_count = 1;
    if (is_of_integers(kind) && can_do(call, SECOND) == TN_OK) call->tactic_count = 2;
    if (kind != &conv) return TN_OK;
    TN_TRY(kind->read_window(call, &window));
    tn_dnnl_tell_stem(call, weights_of(call), DIRECT);
    if (!may_be_winograd(call, &window) || !tn_dnnl_ask(call, can_do, WINOGRAD, &window))
        return TN_OK;
    call->tactic_count = 2;
    tn_dnnl_tell_winograd(call, weights_of(call), &window, WINOGRAD);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct reorder_job {
    tn_call *call;
    tn_dnnl_view from, to;
    const void *weights;
} reorder_job;

static tn_status reorder_weights(const reorder_job *job, void *data) {
    tn_call *call = job->call;
    const tn_dnnl_address addresses[] = {{(void *)(uintptr_t)job->weights, 0}, {data, 0}};
    tn_dnnl_primitive primitive = {0};
    dnnl_primitive_desc_t desc;
    const int before = tn_dnnl_set_threads(call->threads); /* which the description notes */
    const dnnl_status_t described = dnnl_reorder_primitive_desc_create(
        &desc, job->from, tn_dnnl_engine(), job->to, tn_dnnl_engine(), NULL);
    tn_dnnl_set_threads((uint32_t)before);
    TN_TRY(tn_dnnl_check(call, described, "laying out weights"));
    tn_status status = tn_dnnl_primitive_make(call, desc, &primitive);
    dnnl_primitive_desc_destroy(desc);
    if (status == TN_OK) status = tn_dnnl_primitive_add(call, &primitive, DNNL_ARG_FROM, job->from);
    if (status == TN_OK) status = tn_dnnl_primitive_add(call, &primitive, DNNL_ARG_TO, job->to);
    if (status == TN_OK) status = tn_dnnl_primitive_run(call, &primitive, addresses);
    tn_dnnl_primitive_destroy(&primitive);
    return status;
}

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const reorder_job *job = user;
    bool is_done;
    (void)bytes;
    TN_TRY(tn_dnnl_pack_winograd(job->call, job->to, job->weights, data, &is_done));
    return is_done ? TN_OK : reorder_weights(job, data);
}

static tn_status pack(tn_call *call, conv_state *state) {
    tn_dnnl_layout plain = {0};
    char key[TN_DNNL_KEY_BYTES];
    tn_status status;
    if (describe_weights(call, true, &plain) && tn_dnnl_layout_key(&state->weights, key)) {
        reorder_job job = {call, tn_dnnl_layout_view(&plain), tn_dnnl_layout_view(&state->weights),
                           weights_of(call)->data};
        const uint32_t input = ((const conv_kind *)call->user)->weights;
        status = call->host->packed(call, input, key, dnnl_memory_desc_get_size(job.to),
                                    pack_weights, &job, &state->packed);
    } else {
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "oneDNN does not take these weights");
    }
    tn_dnnl_layout_clear(&plain);
    return status;
}

static tn_status conv_prepare(tn_call *call) {
    dnnl_primitive_desc_t desc;
    TN_TRY(tn_kernel_state_create(call, sizeof(conv_state)));
    conv_state *state = call->state;
    tn_status status = make_descriptor(call, 1, NULL, call->tactic, &desc);
    if (status == TN_OK) {
        if (!tn_dnnl_layout_copy(&state->weights,
                                 dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0)))
            status = call->host->fail(call, TN_ERROR_MEMORY, "no memory for a layout");
        tn_dnnl_implementation(desc, state->implementation, sizeof(state->implementation));
        dnnl_primitive_desc_destroy(desc);
    }
    if (status == TN_OK) status = pack(call, state);
    if (status != TN_OK) tn_dnnl_layout_clear(&state->weights);
    return tn_kernel_state_finish(call, status);
}

static void conv_release(tn_call *call) {
    conv_state *state = call->state;
    tn_dnnl_layout_clear(&state->weights);
    tn_kernel_state_destroy(call);
}

/* ----------------------------------------------------------------------------------------------
 * reshape, run */

static tn_status describe(tn_call *call, int64_t parts, dnnl_primitive_desc_t *out_desc) {
    const conv_state *state = call->state;
    return make_descriptor(call, parts, state, call->tactic, out_desc);
}

static tn_status conv_reshape(tn_call *call) {
    return tn_dnnl_node_reshape(call, true, bias_of(call), added_of(call), describe);
}

static tn_status conv_run(tn_call *call) {
    const conv_state *state = call->state;
    return tn_dnnl_node_run(call, state->packed, bias_of(call), added_of(call));
}

/* Channels last come last: a build without measuring then seldom asks for them. */
static const char *const combinations[] = {
    "f32:strided, f32, f32? -> f32:strided",       "f32:c16:strided, f32, f32? -> f32:c16:strided",
    "f32:c8:strided, f32, f32? -> f32:c8:strided", "f32:strided, f32, f32? -> f32:c16:strided",
    "f32:strided, f32, f32? -> f32:c8:strided",    "f32:nhwc, f32, f32? -> f32:nhwc",
};

#define INTEGERS(x, y) x ":nhwc, f32, " x ", i8, f32, i8, f32, " y ", i32? -> " y ":nhwc"
static const char *const integer_combinations[] = {INTEGERS("u8", "u8"), INTEGERS("i8", "i8"),
                                                   INTEGERS("u8", "i8"), INTEGERS("i8", "u8")};

#define INTEGERS_ADD(x, y)                                                                         \
    x ":nhwc, f32, " x ", i8, f32, i8, f32, " y ", i32?, " y ":nhwc, f32, " y "?, f32, " y         \
      "? -> " y ":nhwc"
static const char *const add_combinations[] = {INTEGERS_ADD("u8", "u8"), INTEGERS_ADD("i8", "i8"),
                                               INTEGERS_ADD("u8", "i8"), INTEGERS_ADD("i8", "u8")};

#define CONV_KERNEL(name_of, operator_name, table, kind, of_absorbs, text)                         \
    CONV_KERNEL_IN("", name_of, operator_name, table, kind, of_absorbs, text)
#define CONV_KERNEL_IN(of_domain, name_of, operator_name, table, kind, of_absorbs, text)           \
    const tn_kernel name_of = {TN_DNNL_KERNEL_BEGIN(of_domain, operator_name, 3, text),            \
                               .absorbs = of_absorbs,                                              \
                               TN_COMBINATIONS(table),                                             \
                               .accepts = conv_accepts,                                            \
                               .tactics = conv_tactics,                                            \
                               .prepare = conv_prepare,                                            \
                               .release = conv_release,                                            \
                               .reshape = conv_reshape,                                            \
                               .run = conv_run,                                                    \
                               .user = (void *)(uintptr_t) & (kind),                               \
                               TN_FIELDS(tn_dnnl_window_params, tn_dnnl_window_fields)}
CONV_KERNEL(tn_dnnl_conv_kernel, "Conv", combinations, conv, TN_DNNL_ABSORBS,
            "oneDNN's convolution, direct or Winograd.");
CONV_KERNEL(tn_dnnl_conv_transpose_kernel, "ConvTranspose", combinations, conv_transpose,
            TN_DNNL_ABSORBS, "oneDNN's transposed convolution.");
CONV_KERNEL(tn_dnnl_integer_conv_kernel, "QLinearConv", integer_combinations, integer_conv, NULL,
            "oneDNN's convolution of 8-bit integers with signed weights.");
CONV_KERNEL_IN("Tenon", tn_dnnl_integer_conv_add_kernel, "QLinearConvAdd", add_combinations,
               integer_conv_add, NULL, "oneDNN's convolution of 8-bit integers and a sum behind.");
