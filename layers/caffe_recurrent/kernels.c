/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of Caffe's LSTM and RNN with constant weights: packing, the workspace, and their tables.
 * What they run is run.c. */
#include "caffe_recurrent/kernels.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"

/* ----------------------------------------------------------------------------------------------
 * prepare */

static bool has_value(const tn_tensor *tensor) {
    return !tensor || tensor->data;
}

/* Weights are known, and no product is over nothing. */
static tn_status recurrent_accepts(tn_call *call) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    const bool is_known = has_value(node.input_weights) && has_value(node.hidden_weights) &&
                          has_value(node.output_weights) && has_value(node.static_weights);
    if (!is_known || node.hidden == 0 || node.depth == 0 ||
        (node.x_static && node.static_depth == 0))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

typedef struct pack_job {
    const tn_matrix_level *level;
    const tn_tensor *weights;
} pack_job;

static tn_status fill_packed(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const int64_t columns = job->weights->shape[0], depth = job->weights->shape[1];
    (void)bytes;
    tn_matrix_pack(job->level, depth, columns, job->weights->data, 1, depth, 1, data);
    return TN_OK;
}

/* The transpose of an input's matrix, packed; nothing for an absent one. */
static tn_status pack(tn_call *call, uint32_t input, const tn_tensor *weights,
                      const float **out_packed) {
    const tn_recurrent_level *level = call->user;
    pack_job job = {level->matrix, weights};
    const void *packed = NULL;
    if (!weights) return TN_OK;
    const int64_t floats =
        tn_matrix_packed_floats(level->matrix, weights->shape[1], weights->shape[0]);
    TN_TRY(call->host->packed(call, input, "transposed", (uint64_t)floats * sizeof(float),
                              fill_packed, &job, &packed));
    *out_packed = packed;
    return TN_OK;
}

static tn_status pack_all(tn_call *call, tn_recurrent_state *state) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    const tn_recurrent_kind *kind = node.kind;
    TN_TRY(pack(call, TN_RECURRENT_INPUT_WEIGHTS, node.input_weights, &state->input_weights));
    TN_TRY(pack(call, TN_RECURRENT_HIDDEN_WEIGHTS, node.hidden_weights, &state->hidden_weights));
    TN_TRY(pack(call, kind->output_weights, node.output_weights, &state->output_weights));
    return pack(call, kind->optional + 1, node.static_weights, &state->static_weights);
}

static tn_status recurrent_prepare(tn_call *call) {
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_recurrent_state)));
    tn_recurrent_state *state = call->state;
    state->level = call->user;
    return tn_kernel_state_finish(call, pack_all(call, state));
}

/* ----------------------------------------------------------------------------------------------
 * workspace */

/* Adds room for `count` floats, aligned to 64 bytes; *out_first: where they begin. */
static bool add_room(int64_t count, int64_t *floats, int64_t *out_first) {
    int64_t padded;
    *out_first = *floats;
    return tn_infer_add(count, 15, &padded) && tn_infer_add(*floats, padded / 16 * 16, floats);
}

tn_status tn_recurrent_measure(tn_call *call, const tn_recurrent *node,
                               tn_recurrent_room *out_room) {
    tn_recurrent_room room = {0};
    int64_t rows = 0, gates = 0, state = 0, states = 0;
    const bool fits = tn_infer_multiply(node->steps, node->streams, &rows) &&
                      tn_infer_multiply(rows, node->columns, &gates) &&
                      tn_infer_multiply(node->streams, node->hidden, &state) &&
                      (node->y || tn_infer_multiply(rows, node->hidden, &states)) &&
                      add_room(gates, &room.floats, &room.gates) &&
                      add_room(states, &room.floats, &room.hidden_states) &&
                      add_room(state, &room.floats, &room.kept) &&
                      add_room(state, &room.floats, &room.cell) &&
                      add_room(node->columns, &room.floats, &room.zeros) &&
                      room.floats <= INT64_MAX / (int64_t)sizeof(float);
    if (!fits)
        return call->host->fail(call, TN_ERROR_MEMORY,
                                "%lld steps of %lld streams need more memory than there can be",
                                (long long)node->steps, (long long)node->streams);
    *out_room = room;
    return TN_OK;
}

static tn_status recurrent_reshape(tn_call *call) {
    tn_recurrent node = {0};
    tn_recurrent_room room = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_recurrent_measure(call, &node, &room));
    call->workspace_bytes = (uint64_t)room.floats * sizeof(float);
    return TN_OK;
}

static const char *const lstm_combinations[] = {
    "f32, f32, f32, f32, f32, f32?, f32?, f32?, f32? -> f32?, f32?, f32?"};
static const char *const rnn_combinations[] = {
    "f32, f32, f32, f32, f32, f32, f32, f32?, f32?, f32? -> f32?, f32?"};

#define RECURRENT_KERNEL(prefix, operator_name, level)                                             \
    static const tn_kernel prefix##_##level = {                                                    \
        TN_KERNEL_BEGIN("cpu", "Caffe", operator_name, "packed_" #level, 1,                        \
                        "Constant weights, packed; the input's product for all steps at once."),   \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        TN_COMBINATIONS(prefix##_combinations),                                                    \
        .accepts = recurrent_accepts,                                                              \
        .prepare = recurrent_prepare,                                                              \
        .release = tn_kernel_state_destroy,                                                        \
        .reshape = recurrent_reshape,                                                              \
        .run = tn_recurrent_run,                                                                   \
        .user = (void *)(uintptr_t)&level_##level,                                                 \
    }
#define RECURRENT_KERNELS(level)                                                                   \
    static const tn_recurrent_level level_##level = {&tn_matrix_##level, &tn_rows_##level};        \
    RECURRENT_KERNEL(lstm, "LSTM", level);                                                         \
    RECURRENT_KERNEL(rnn, "RNN", level)
RECURRENT_KERNELS(baseline);
RECURRENT_KERNELS(avx2);
RECURRENT_KERNELS(avx512);

const tn_kernel *const tn_recurrent_kernels[6] = {TN_LEVEL_LIST(lstm), TN_LEVEL_LIST(rnn)};
