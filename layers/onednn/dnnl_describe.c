/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and descriptors of primitives in oneDNN's words, 2 and 3; see dnnl.h. */
#include "onednn/dnnl.h"
#include <tenon/kit/known_steps.h>

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * attributes */

/* TN_DNNL_ABSORBS in oneDNN's terms. */
static const struct {
    uint32_t activation;
    dnnl_alg_kind_t kind;
} activations[] = {
    {TN_ACTIVATION_RELU, dnnl_eltwise_relu},
    {TN_ACTIVATION_LEAKY_RELU, dnnl_eltwise_relu},
    {TN_ACTIVATION_CLIP, dnnl_eltwise_clip_v2},
    {TN_ACTIVATION_SIGMOID, dnnl_eltwise_logistic},
    {TN_ACTIVATION_TANH, dnnl_eltwise_tanh},
    {TN_ACTIVATION_HARD_SWISH, dnnl_eltwise_hardswish},
    {TN_ACTIVATION_GELU_ERF, dnnl_eltwise_gelu_erf},
    {TN_ACTIVATION_GELU_TANH, dnnl_eltwise_gelu_tanh},
    {TN_ACTIVATION_SWISH, dnnl_eltwise_swish},
    {TN_ACTIVATION_ELU, dnnl_eltwise_elu},
};

static dnnl_status_t append_activation(dnnl_post_ops_t post_ops, const tn_known_step *step) {
    float alpha = step->alpha, beta = step->beta;
    size_t i = 0;
    while (i < TN_COUNT(activations) && activations[i].activation != step->activation)
        i++;
    if (i == TN_COUNT(activations)) return dnnl_unimplemented;
    if (step->activation == TN_ACTIVATION_RELU) alpha = 0; /* otherwise the slope below 0 */
    if (step->activation == TN_ACTIVATION_HARD_SWISH) {    /* oneDNN 2 has these built in */
        alpha = 1.0f / 6.0f;
        beta = 0.5f;
    }
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_eltwise(post_ops, activations[i].kind, alpha, beta);
#else
    return dnnl_post_ops_append_eltwise(post_ops, 1.0f, activations[i].kind, alpha, beta);
#endif
}

/* Of outputs that are one column wide oneDNN 2.6 takes some operands for broadcast ones and adds
 * wrong elements: with channels last, and with one input channel. */
static dnnl_status_t append_addition(dnnl_post_ops_t post_ops, const tn_tensor *operand,
                                     int64_t parts) {
    tn_dnnl_layout layout = {0};
    dnnl_status_t status = dnnl_unimplemented;
    if (operand->rank == 4 && operand->shape[3] > 1 && tn_dnnl_layout_of(&layout, operand, parts))
        status =
            dnnl_post_ops_append_binary(post_ops, dnnl_binary_add, tn_dnnl_layout_view(&layout));
    tn_dnnl_layout_clear(&layout);
    return status;
}

#if DNNL_VERSION_MAJOR < 3
static dnnl_status_t append_linear(dnnl_post_ops_t post_ops, float factor, float term) {
    return dnnl_post_ops_append_eltwise(post_ops, 1.0f, dnnl_eltwise_linear, factor, term);
}

static dnnl_status_t append_zero_point(dnnl_post_ops_t post_ops, int32_t zero) {
    if (zero == 0) return dnnl_success;
    const dnnl_status_t status =
        dnnl_post_ops_append_eltwise(post_ops, 1.0f, dnnl_eltwise_round, 0, 0);
    return status == dnnl_success ? append_linear(post_ops, 1.0f, (float)zero) : status;
}

/* The addition is operation TN_DNNL_SUM_AT. The last factor is that of a function which does
 * nothing, sums below 0 being stored as 0 where they have no sign: of two linear ones oneDNN 2.6
 * computes one with the other's numbers. */
static dnnl_status_t append_sum(dnnl_post_ops_t post_ops, const tn_dnnl_requantisation *r,
                                int64_t parts) {
    dnnl_status_t status = dnnl_post_ops_append_eltwise(post_ops, 1.0f, dnnl_eltwise_round, 0, 0);
    if (status == dnnl_success)
        status = dnnl_post_ops_append_eltwise(post_ops, 1.0f, dnnl_eltwise_clip, r->low, r->high);
    if (status == dnnl_success)
        status = append_linear(post_ops, r->own_factor, (float)-r->added_zero);
    if (status == dnnl_success) status = append_addition(post_ops, r->added, parts);
    return status == dnnl_success
               ? dnnl_post_ops_append_eltwise(post_ops, r->added_factor, dnnl_eltwise_relu,
                                              r->is_signed ? 1.0f : 0.0f, 0)
               : status;
}
#endif

/* The zero point is added after the rounding, so that ties go to the even number of steps; as a
 * function of the elements, since implementations with zero points of the target are slower. */
static dnnl_status_t set_requantisation(dnnl_primitive_attr_t attributes, dnnl_post_ops_t post_ops,
                                        const tn_dnnl_requantisation *r, int64_t parts) {
#if DNNL_VERSION_MAJOR >= 3
    (void)attributes, (void)post_ops, (void)r, (void)parts;
    return dnnl_unimplemented;
#else
    dnnl_status_t status = dnnl_primitive_attr_set_output_scales(attributes, r->count,
                                                                 r->count > 1 ? 2 : 0, r->factors);
    if (status == dnnl_success && r->source_zero)
        status =
            dnnl_primitive_attr_set_zero_points(attributes, DNNL_ARG_SRC, 1, 0, &r->source_zero);
    if (status != dnnl_success) return status;
    return r->added ? append_sum(post_ops, r, parts) : append_zero_point(post_ops, r->target_zero);
#endif
}

/* The steps as attributes: at most one addition, then at most one activation of
 * TN_DNNL_ABSORBS. Scratch memory is the user's. The caller destroys them. */
static tn_status create_attributes(tn_call *call, int64_t parts,
                                   const tn_dnnl_requantisation *requantisation,
                                   dnnl_primitive_attr_t *out_attributes) {
    dnnl_post_ops_t post_ops = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    tn_known_steps steps;
    dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success) status = dnnl_post_ops_create(&post_ops);
    if (status == dnnl_success && !tn_known_steps_read(call, &steps)) status = dnnl_unimplemented;
    for (uint32_t i = 0; status == dnnl_success && i < steps.count; i++) {
        const tn_known_step *step = &steps.items[i];
        if (step->kind == TN_KNOWN_RESIDUAL && i == 0)
            status = append_addition(post_ops, call->operands[step->operand], parts);
        else if (step->kind == TN_KNOWN_ACTIVATION && i + 1 == steps.count)
            status = append_activation(post_ops, step);
        else
            status = dnnl_unimplemented;
    }
    if (status == dnnl_success && requantisation)
        status = set_requantisation(attributes, post_ops, requantisation, parts);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attributes, post_ops);
    if (post_ops) dnnl_post_ops_destroy(post_ops);
    if (status != dnnl_success) {
        if (attributes) dnnl_primitive_attr_destroy(attributes);
        return tn_dnnl_check(call, status, "the attributes of a primitive");
    }
    *out_attributes = attributes;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * descriptors */

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t create(const tn_dnnl_operation *o, const_dnnl_primitive_attr_t attributes,
                            dnnl_primitive_desc_t *out_desc) {
    const tn_dnnl_window *w = &o->window;
    const dnnl_prop_kind_t inference = dnnl_forward_inference;
    if (o->kind == TN_DNNL_POOLING)
        return dnnl_pooling_forward_primitive_desc_create(
            out_desc, tn_dnnl_engine(), inference, o->algorithm, o->source, o->target, w->strides,
            w->kernel, w->dilations, w->begin, w->end, attributes);
    if (o->kind == TN_DNNL_DECONVOLUTION)
        return dnnl_deconvolution_forward_primitive_desc_create(
            out_desc, tn_dnnl_engine(), inference, o->algorithm, o->source, o->weights, o->bias,
            o->target, w->strides, w->dilations, w->begin, w->end, attributes);
    return dnnl_convolution_forward_primitive_desc_create(
        out_desc, tn_dnnl_engine(), inference, o->algorithm, o->source, o->weights, o->bias,
        o->target, w->strides, w->dilations, w->begin, w->end, attributes);
}

#else

static bool is_called(const_dnnl_primitive_desc_t desc, const char *implementation) {
    char name[TN_DNNL_NAME_BYTES];
    tn_dnnl_implementation(desc, name, sizeof(name));
    return strcmp(name, implementation) == 0;
}

/* The implementation that the operation asks for by number or, before that, by name. */
static dnnl_status_t choose(const tn_dnnl_operation *o, const void *description,
                            const_dnnl_primitive_attr_t attributes,
                            dnnl_primitive_desc_t *out_desc) {
    dnnl_primitive_desc_iterator_t iterator = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t status = dnnl_primitive_desc_iterator_create(&iterator, description, attributes,
                                                               tn_dnnl_engine(), NULL);
    for (uint32_t i = 0; status == dnnl_success; i++) {
        desc = dnnl_primitive_desc_iterator_fetch(iterator);
        if (!desc) status = dnnl_out_of_memory;
        if (!desc || (o->implementation ? is_called(desc, o->implementation) : i == o->skipped))
            break;
        dnnl_primitive_desc_destroy(desc);
        status = dnnl_primitive_desc_iterator_next(iterator);
    }
    if (iterator) dnnl_primitive_desc_iterator_destroy(iterator);
    if (status == dnnl_iterator_ends && o->implementation)
        return dnnl_primitive_desc_create(out_desc, description, attributes, tn_dnnl_engine(),
                                          NULL);
    if (status == dnnl_success) *out_desc = desc;
    return status;
}

static dnnl_status_t create(const tn_dnnl_operation *o, const_dnnl_primitive_attr_t attributes,
                            dnnl_primitive_desc_t *out_desc) {
    const tn_dnnl_window *w = &o->window;
    const dnnl_prop_kind_t inference = dnnl_forward_inference;
    union {
        dnnl_convolution_desc_t convolution;
        dnnl_deconvolution_desc_t deconvolution;
        dnnl_pooling_v2_desc_t pooling;
    } description;
    dnnl_status_t status;
    if (o->kind == TN_DNNL_POOLING)
        status = dnnl_pooling_v2_forward_desc_init(&description.pooling, inference, o->algorithm,
                                                   o->source, o->target, w->strides, w->kernel,
                                                   w->dilations, w->begin, w->end);
    else if (o->kind == TN_DNNL_DECONVOLUTION)
        status = dnnl_dilated_deconvolution_forward_desc_init(
            &description.deconvolution, inference, o->algorithm, o->source, o->weights, o->bias,
            o->target, w->strides, w->dilations, w->begin, w->end);
    else
        status = dnnl_dilated_convolution_forward_desc_init(
            &description.convolution, inference, o->algorithm, o->source, o->weights, o->bias,
            o->target, w->strides, w->dilations, w->begin, w->end);
    if (status == dnnl_success && (o->skipped > 0 || o->implementation))
        status = choose(o, &description, attributes, out_desc);
    else if (status == dnnl_success)
        status =
            dnnl_primitive_desc_create(out_desc, &description, attributes, tn_dnnl_engine(), NULL);
    return status;
}

#endif

tn_status tn_dnnl_describe(tn_call *call, const tn_dnnl_operation *operation,
                           dnnl_primitive_desc_t *out_desc) {
    static const char *const names[] = {"a convolution", "a transposed convolution", "a pooling"};
    dnnl_primitive_attr_t attributes = NULL;
    tn_status status =
        create_attributes(call, operation->parts, operation->requantisation, &attributes);
    if (status != TN_OK) return status;
    const int before = tn_dnnl_set_threads(call->threads);
    status = tn_dnnl_check(call, create(operation, attributes, out_desc), names[operation->kind]);
    tn_dnnl_set_threads((uint32_t)before);
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

void tn_dnnl_window_of(const tn_window *window, bool is_transposed, tn_dnnl_window *out_window) {
    for (uint32_t i = 0; i < 2; i++) {
        /* The side that windows are counted on, and the one that they look at. */
        const int64_t count = is_transposed ? window->input[i] : window->output[i];
        const int64_t seen = is_transposed ? window->output[i] : window->input[i];
        out_window->kernel[i] = window->kernel[i];
        out_window->strides[i] = window->stride[i];
        out_window->dilations[i] = window->dilation[i] - 1;
        out_window->begin[i] = window->pad_begin[i];
        out_window->end[i] = (count - 1) * window->stride[i] + tn_window_extent(window, i) - seen -
                             window->pad_begin[i];
    }
}
