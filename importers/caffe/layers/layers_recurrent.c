/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSTM and RNN: operators of the domain Caffe. Bottoms are x, cont, maybe x_static, and with
 * expose_hidden the states before the first step; tops are the outputs of all steps and, with
 * expose_hidden, the states after the last one. Blobs come in the order in which Caffe's unrolled
 * network makes its parameters: those of x, of x_static where there is one, of the hidden state,
 * and of an RNN's output. Semantics: BVLC's RecurrentLayer, LSTMLayer and RNNLayer; the state
 * begins at zero at each run, where Caffe's goes on from its last run unless cont says otherwise.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <string.h>

/* Inputs of the operators at most. */
#define INPUTS 10

typedef struct recurrent {
    bool is_lstm, is_exposed;
    uint32_t states; /* hidden and, of an LSTM, cell */
    bool has_static;
    int64_t hidden, rows; /* of the weights: one for each hidden element, an LSTM's four */
    int64_t depth, static_depth;
} recurrent;

static tn_status check_ports(const tn_caffe_layer *layer, const recurrent *it) {
    const uint32_t exposed = it->is_exposed ? it->states : 0;
    const char *states = !it->is_exposed ? "" : it->is_lstm ? ", h_0 and c_0" : ", h_0";
    if (layer->bottom_count < 2 + exposed || layer->bottom_count > 3 + exposed)
        return tn_fail(TN_ERROR_FORMAT,
                       "it has %" PRIu32 " bottoms; %" PRIu32
                       " are expected%s: x, cont (time steps "
                       "x streams)%s; or one more, x_static, after cont",
                       layer->bottom_count, 2 + exposed,
                       it->is_exposed ? " with expose_hidden" : " without expose_hidden", states);
    if (layer->top_count == 1 + exposed) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT, "it has %" PRIu32 " tops; %" PRIu32 " %s expected%s",
                   layer->top_count, 1 + exposed, it->is_exposed ? "are" : "is",
                   it->is_exposed ? " with expose_hidden: the outputs and the last states"
                                  : " without expose_hidden");
}

static tn_status check_rank(const tn_caffe_value *value, const char *name, uint32_t low,
                            uint32_t high, const char *axes) {
    if (!tn_caffe_has_rank(value) || (value->rank >= low && value->rank <= high)) return TN_OK;
    return tn_fail(TN_ERROR_SHAPE, "its bottom %s has rank %" PRIu32 "; %s is expected", name,
                   value->rank, axes);
}

static tn_status check_bottoms(const tn_caffe_layer *layer, const recurrent *it) {
    const uint32_t first = it->has_static ? 3 : 2;
    TN_TRY(check_rank(&layer->bottoms[0], "x", 2, TN_MAX_RANK, "time steps, streams, ..."));
    TN_TRY(check_rank(&layer->bottoms[1], "cont", 2, 2, "2, time steps and streams,"));
    if (it->has_static)
        TN_TRY(check_rank(&layer->bottoms[2], "x_static", 1, TN_MAX_RANK, "streams, ..."));
    for (uint32_t i = first; i < layer->bottom_count; i++)
        TN_TRY(check_rank(&layer->bottoms[i], i == first ? "h_0" : "c_0", 3, 3,
                          "3, [1, streams, num_output],"));
    return TN_OK;
}

static tn_status read_layer(const tn_caffe_layer *layer, recurrent *it) {
    it->is_lstm = strcmp(layer->type_name, "LSTM") == 0;
    it->is_exposed = tn_prototext_bool(layer->params, "expose_hidden", false);
    it->states = it->is_lstm ? 2 : 1;
    TN_TRY(tn_caffe_output_count(layer, &it->hidden));
    it->rows = it->hidden * (it->is_lstm ? 4 : 1);
    TN_TRY(check_ports(layer, it));
    it->has_static = layer->bottom_count > 2 + (it->is_exposed ? it->states : 0);
    TN_TRY(check_bottoms(layer, it));
    it->depth = tn_caffe_inner_extent(&layer->bottoms[0], 2);
    if (it->has_static) it->static_depth = tn_caffe_inner_extent(&layer->bottoms[2], 1);
    return TN_OK;
}

/* The blob that is next, as an input. */
static tn_status add_matrix(tn_caffe_layer *layer, int64_t rows, int64_t columns, uint32_t *blob,
                            tn_import_tensor *out_input) {
    int64_t extents[] = {rows, columns};
    return tn_caffe_blob_constant(layer, (*blob)++, 2, extents, 0, out_input);
}

static tn_status add_bias(tn_caffe_layer *layer, int64_t count, uint32_t *blob,
                          tn_import_tensor *out_input) {
    return tn_caffe_blob_constant(layer, (*blob)++, 1, &count, 0, out_input);
}

/* The operator's inputs: x, cont, W_x, b, W_h, an RNN's W_ho and b_o; then those that may be
 * absent: x_static, its weights, and the states. */
static tn_status read_inputs(tn_caffe_layer *layer, const recurrent *it, tn_import_tensor *inputs,
                             uint32_t *out_count) {
    const uint32_t optional = it->is_lstm ? 5 : 7;
    uint32_t blob = 0, bottom = 2;
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = TN_IMPORT_NO_TENSOR;
    inputs[0] = layer->bottoms[0].tensor;
    inputs[1] = layer->bottoms[1].tensor;
    TN_TRY(add_matrix(layer, it->rows, it->depth, &blob, &inputs[2]));
    TN_TRY(add_bias(layer, it->rows, &blob, &inputs[3]));
    if (it->has_static) {
        inputs[optional] = layer->bottoms[bottom++].tensor;
        TN_TRY(add_matrix(layer, it->rows, it->static_depth, &blob, &inputs[optional + 1]));
    }
    TN_TRY(add_matrix(layer, it->rows, it->hidden, &blob, &inputs[4]));
    if (!it->is_lstm) {
        TN_TRY(add_matrix(layer, it->hidden, it->hidden, &blob, &inputs[5]));
        TN_TRY(add_bias(layer, it->hidden, &blob, &inputs[6]));
    }
    for (uint32_t i = 0; i < it->states && it->is_exposed; i++)
        inputs[optional + 2 + i] = layer->bottoms[bottom++].tensor;
    *out_count = optional + 2 + it->states;
    return TN_OK;
}

/* States that are no tops lie inside the layer. */
tn_status tn_caffe_read_recurrent(tn_caffe_layer *layer) {
    static const char *const states[] = {"h_T", "c_T"};
    const tn_caffe_value *x = &layer->bottoms[0];
    recurrent it = {0};
    tn_import_tensor inputs[INPUTS], inner[2];
    uint32_t input_count = 0;
    TN_TRY(read_layer(layer, &it));
    TN_TRY(read_inputs(layer, &it, inputs, &input_count));
    const tn_caffe_value last = {.rank = 3, .extents = {1, tn_caffe_extent(x, 1), it.hidden}};
    tn_caffe_value shapes[] = {last, last, last};
    shapes[0].extents[0] = tn_caffe_extent(x, 0);
    return tn_caffe_tops(layer, layer->top_count, layer->type_name,
                         &(const tn_emit_fields){.domain = "Caffe"},
                         (tn_emit_tensors){input_count, inputs}, shapes,
                         it.is_exposed ? 0 : it.states, states, inner);
}
