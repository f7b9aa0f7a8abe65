/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a node of ONNX's LSTM, GRU or RNN and checks its shapes and fields; and what the readers of
 * both formats share. See recurrent.h. */
#include "recurrent/read.h"
#include "recurrent/dynamic.h"
#include "recurrent/recurrent.h"
#include <tenon/kit/infer.h>

/* ----------------------------------------------------------------------------------------------
 * of both formats */

tn_status tn_recurrent_read(tn_call *call, tn_recurrent *out_node) {
    const tn_recurrent_kind *kind = call->op->user;
    return kind->read(call, out_node);
}

tn_status tn_recurrent_require_shape(tn_call *call, uint32_t input, uint32_t rank,
                                     const int64_t *expected) {
    char has[TN_INFER_SHAPE_TEXT_BYTES], wanted[TN_INFER_SHAPE_TEXT_BYTES];
    TN_TRY(tn_infer_require_rank(call, input, rank, rank));
    const tn_tensor *tensor = call->inputs[input];
    bool fits = true;
    for (uint32_t i = 0; i < rank; i++)
        fits = fits && (tensor->shape[i] == expected[i] || tensor->shape[i] < 0 || expected[i] < 0);
    if (fits) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has the shape %s instead of %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(rank, tensor->shape, has, sizeof(has)),
                            tn_infer_shape_text(rank, expected, wanted, sizeof(wanted)));
}

tn_status tn_recurrent_check_lengths(tn_call *call, const tn_recurrent *node) {
    for (int64_t n = 0; node->lengths && n < node->streams; n++) {
        const int64_t length = tn_recurrent_length(node, n);
        if (length < 0 || length > node->steps)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "input 'sequence_lens' has %lld for sequence %lld, outside "
                                    "0..%lld",
                                    (long long)length, (long long)n, (long long)node->steps);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * activations */

/* The next value of a list, or `fallback` behind its end. */
static float next_value(const tn_f32s *values, uint64_t *at, float fallback) {
    return *at < values->count ? values->items[(*at)++] : fallback;
}

/* Activations in the order of directions; alpha and beta in the order of those that have them. */
static tn_status read_activations(tn_call *call, tn_recurrent *node) {
    const tn_recurrent_params *params = call->params;
    const tn_recurrent_kind *kind = node->kind;
    const uint64_t needed = (uint64_t)node->directions * kind->functions;
    const tn_strings *names = &params->activations;
    uint64_t alphas = 0, betas = 0;
    if (names->count != 0 && names->count < needed)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "field 'activations' has %llu names; %llu are expected, %u for "
                                "each direction",
                                (unsigned long long)names->count, (unsigned long long)needed,
                                kind->functions);
    for (uint64_t i = 0; i < needed; i++) {
        tn_activation_function *function =
            &node->functions[i / kind->functions][i % kind->functions];
        const char *name = names->count ? names->items[i] : kind->defaults[i % kind->functions];
        uint32_t parameters = 0;
        if (!tn_activation_find(name, function, &parameters))
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "field 'activations' names '%.40s'; there are Relu, Tanh, "
                                    "Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
                                    "HardSigmoid, Elu, Softsign and Softplus",
                                    name);
        if (parameters > 0)
            function->alpha = next_value(&params->activation_alpha, &alphas, function->alpha);
        if (parameters > 1)
            function->beta = next_value(&params->activation_beta, &betas, function->beta);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * sizes and tensors */

static tn_status read_hidden(tn_call *call, tn_recurrent *node) {
    const tn_recurrent_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_ONNX_R, 3, 3));
    node->hidden_weights = call->inputs[TN_ONNX_R];
    node->hidden = node->hidden_weights->shape[node->kind->is_dynamic ? 1 : 2];
    if ((params->present & TN_RECURRENT_HAS_HIDDEN_SIZE) && node->hidden >= 0 &&
        params->hidden_size != node->hidden)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'hidden_size' is %lld, and input 'R' is of %lld elements",
                                (long long)params->hidden_size, (long long)node->hidden);
    if (node->hidden == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'R' has a hidden size of 0");
    node->columns = -1;
    if (node->hidden < 0 ||
        tn_infer_multiply(node->hidden, 2 * (int64_t)node->kind->gates, &node->columns)) {
        node->columns = node->hidden < 0 ? -1 : node->columns / 2;
        return TN_OK;
    }
    return call->host->fail(call, TN_ERROR_SHAPE, "input 'R' has %lld columns: too many",
                            (long long)node->hidden);
}

static tn_status read_sizes(tn_call *call, tn_recurrent *node) {
    const tn_recurrent_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_ONNX_X, 3, 3));
    TN_TRY(read_hidden(call, node));
    node->x = call->inputs[TN_ONNX_X];
    node->streams_first = params->layout == 1;
    node->steps = node->x->shape[node->streams_first ? 1 : 0];
    node->streams = node->x->shape[node->streams_first ? 0 : 1];
    node->directions = params->direction == TN_RECURRENT_BIDIRECTIONAL ? 2 : 1;
    node->is_reverse = params->direction == TN_RECURRENT_REVERSE;
    node->linear_before_reset = params->linear_before_reset;
    node->input_forget = params->input_forget;
    node->clip = params->clip;
    return TN_OK;
}

static tn_status read_weights(tn_call *call, tn_recurrent *node) {
    const int columns = node->kind->is_dynamic ? 2 : 1, depth = 3 - columns;
    int64_t hidden_weights[3] = {node->directions}, input_weights[3] = {node->directions};
    const int64_t bias[] = {node->directions, node->columns < 0 ? -1 : 2 * node->columns};
    hidden_weights[columns] = input_weights[columns] = node->columns;
    hidden_weights[depth] = node->hidden;
    input_weights[depth] = node->x->shape[2];
    TN_TRY(tn_recurrent_require_shape(call, TN_ONNX_R, 3, hidden_weights));
    TN_TRY(tn_recurrent_require_shape(call, TN_ONNX_W, 3, input_weights));
    node->input_weights = call->inputs[TN_ONNX_W];
    node->depth = node->input_weights->shape[depth];
    if (!tn_infer_input(call, TN_ONNX_B)) return TN_OK;
    TN_TRY(tn_recurrent_require_shape(call, TN_ONNX_B, 2, bias));
    node->bias = call->inputs[TN_ONNX_B];
    node->has_two_biases = true;
    return TN_OK;
}

static tn_status read_state(tn_call *call, const tn_recurrent *node, uint32_t input,
                            const tn_tensor **out_state) {
    const int64_t by_direction[] = {node->directions, node->streams, node->hidden};
    const int64_t by_stream[] = {node->streams, node->directions, node->hidden};
    if (!tn_infer_input(call, input)) return TN_OK;
    TN_TRY(
        tn_recurrent_require_shape(call, input, 3, node->streams_first ? by_stream : by_direction));
    *out_state = call->inputs[input];
    return TN_OK;
}

static tn_status read_optional(tn_call *call, tn_recurrent *node) {
    const int64_t peepholes[] = {node->directions, node->hidden < 0 ? -1 : 3 * node->hidden};
    if (tn_infer_input(call, TN_ONNX_LENGTHS)) {
        TN_TRY(tn_recurrent_require_shape(call, TN_ONNX_LENGTHS, 1, &node->streams));
        node->lengths = call->inputs[TN_ONNX_LENGTHS];
    }
    TN_TRY(read_state(call, node, TN_ONNX_H_0, &node->h_0));
    if (!tn_recurrent_has_cell(node)) return TN_OK;
    TN_TRY(read_state(call, node, TN_ONNX_C_0, &node->c_0));
    if (!tn_infer_input(call, TN_ONNX_P)) return TN_OK;
    TN_TRY(tn_recurrent_require_shape(call, TN_ONNX_P, 2, peepholes));
    node->peepholes = call->inputs[TN_ONNX_P];
    return TN_OK;
}

/* Scale and zero point of weights, one for each direction or one for each of their columns. */
static tn_status read_scales(tn_call *call, tn_recurrent *node, int which) {
    const uint32_t scale = which == TN_DYNAMIC_W ? TN_DYNAMIC_W_SCALE : TN_DYNAMIC_R_SCALE;
    const int64_t shape[] = {node->directions, node->columns};
    node->scales[which] = call->inputs[scale];
    TN_TRY(tn_infer_require_rank(call, scale, 1, 2));
    const uint32_t rank = node->scales[which]->rank == 2 ? 2 : 1;
    TN_TRY(tn_recurrent_require_shape(call, scale, rank, shape));
    if (!tn_infer_input(call, scale + 1)) return TN_OK;
    node->zeros[which] = call->inputs[scale + 1];
    return tn_recurrent_require_shape(call, scale + 1, rank, shape);
}

tn_status tn_recurrent_read_onnx(tn_call *call, tn_recurrent *out_node) {
    tn_recurrent node = {.kind = call->op->user};
    TN_TRY(read_sizes(call, &node));
    TN_TRY(read_weights(call, &node));
    TN_TRY(read_optional(call, &node));
    TN_TRY(read_activations(call, &node));
    for (int which = 0; node.kind->is_dynamic && which < 2; which++)
        TN_TRY(read_scales(call, &node, which));
    node.y = tn_infer_output(call, 0);
    node.h_last = tn_infer_output(call, 1);
    node.c_last = tn_recurrent_has_cell(&node) ? tn_infer_output(call, 2) : NULL;
    *out_node = node;
    return TN_OK;
}
