/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights of recurrent layers, in the gates' order of kernels.h. */
#include "kit/math/element.h"
#include "kit/math/round_up.h"
#include "kit/operator/kernel_memory.h"
#include "recurrent/kernels.h"

#include <stdio.h>

int64_t tn_recurrent_weights_row(const tn_recurrent *node, int64_t column) {
    const int64_t gates = tn_recurrent_first_gates(node), hidden = node->hidden;
    int64_t gate, element;
    if (column >= gates * hidden) { /* a GRU's candidate */
        gate = gates;
        element = column - gates * hidden;
    } else {
        const int64_t first = column / (gates * TN_RECURRENT_CHUNK) * TN_RECURRENT_CHUNK;
        const int64_t left = hidden - first, within = column - first * gates;
        const int64_t count = left < TN_RECURRENT_CHUNK ? left : TN_RECURRENT_CHUNK;
        gate = within / count;
        element = first + within % count;
    }
    return (int64_t)node->kind->rows[gate] * hidden + element;
}

/* Some columns of the gates' order, from a direction's weights; `node` null: all rows as they are.
 */
typedef struct pack_job {
    const tn_call *call;
    const tn_recurrent_level *level;
    const tn_recurrent *node;
    const tn_tensor *weights; /* rows x depth, from row `first_row` on */
    int64_t first_row, depth, first, columns;
} pack_job;

/* `ordered` has room for the columns. */
static void pack_ordered(const pack_job *job, float *ordered, float *to) {
    const tn_type type = job->weights->type;
    const size_t row_bytes = (size_t)job->depth * tn_element_bytes(type);
    const char *weights = job->weights->data;
    for (int64_t column = 0; column < job->columns; column++) {
        const int64_t row =
            job->first_row + tn_recurrent_weights_row(job->node, job->first + column);
        job->level->cells->load(TN_CELL_F32, type, job->depth, weights + (size_t)row * row_bytes,
                                ordered + column * job->depth);
    }
    tn_matrix_pack(job->level->matrix, job->depth, job->columns, ordered, 1, job->depth, 1, to);
}

static tn_status fill_packed(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const tn_host *host = job->call->host;
    (void)bytes;
    if (!job->node) {
        tn_matrix_pack(job->level->matrix, job->depth, job->columns, job->weights->data, 1,
                       job->depth, 1, data);
        return TN_OK;
    }
    float *ordered =
        host->allocate(host, (uint64_t)(job->columns * job->depth) * sizeof(float), 64);
    if (!ordered) return TN_ERROR_MEMORY;
    pack_ordered(job, ordered, data);
    host->deallocate(host, ordered);
    return TN_OK;
}

/* Where a run packs; `at` null: the host keeps what is packed. */
typedef struct pack_memory {
    float *ordered, *at;
} pack_memory;

static tn_status pack(tn_call *call, uint32_t input, const char *what, int64_t direction,
                      pack_job *job, pack_memory *memory, const float **out_packed) {
    char key[48];
    const void *packed = NULL;
    const int64_t floats = tn_matrix_packed_floats(job->level->matrix, job->depth, job->columns);
    if (memory->at) {
        pack_ordered(job, memory->ordered, memory->at);
        *out_packed = memory->at;
        memory->at += tn_whole_vectors(floats);
        return TN_OK;
    }
    snprintf(key, sizeof(key), "%s %lld", what, (long long)direction);
    TN_TRY(call->host->packed(call, input, key, (uint64_t)floats * sizeof(float), fill_packed, job,
                              &packed));
    *out_packed = packed;
    return TN_OK;
}

static tn_status pack_direction(tn_call *call, const tn_recurrent *node, int64_t direction,
                                pack_memory *memory, tn_recurrent_packed *packed) {
    const tn_recurrent_level *level = call->user;
    const uint32_t hidden_input = node->kind->hidden_weights;
    const int64_t first_columns = tn_recurrent_first_gates(node) * node->hidden;
    pack_job job = {.call = call,
                    .level = level,
                    .node = node,
                    .weights = node->input_weights,
                    .first_row = direction * node->columns,
                    .depth = node->depth,
                    .columns = node->columns};
    TN_TRY(pack(call, node->kind->input_weights, "gates", direction, &job, memory,
                &packed->input_weights));
    job.weights = node->hidden_weights;
    job.depth = node->hidden;
    job.columns = first_columns;
    TN_TRY(pack(call, hidden_input, "gates", direction, &job, memory, &packed->hidden_weights));
    if (first_columns == node->columns) return TN_OK;
    job.first = first_columns;
    job.columns = node->columns - first_columns;
    return pack(call, hidden_input, "candidate", direction, &job, memory,
                &packed->candidate_weights);
}

/* The weights of Caffe's static input and output layer, where they are. */
static tn_status pack_caffe(tn_call *call, const tn_recurrent *node, tn_recurrent_state *state) {
    const tn_recurrent_level *level = call->user;
    pack_memory kept = {NULL, NULL};
    if (node->static_weights) {
        pack_job job = {.call = call,
                        .level = level,
                        .node = node,
                        .weights = node->static_weights,
                        .depth = node->static_depth,
                        .columns = node->columns};
        TN_TRY(pack(call, node->kind->static_weights, "gates", 0, &job, &kept,
                    &state->static_weights));
    }
    if (!node->output_weights) return TN_OK;
    pack_job job = {.call = call,
                    .level = level,
                    .weights = node->output_weights,
                    .depth = node->hidden,
                    .columns = node->hidden};
    return pack(call, node->kind->output_weights, "transposed", 0, &job, &kept,
                &state->output_weights);
}

static tn_status pack_all(tn_call *call, tn_recurrent_state *state) {
    tn_recurrent node = {0};
    pack_memory kept = {NULL, NULL};
    TN_TRY(tn_recurrent_read(call, &node));
    state->packs_at_run = !node.input_weights->data || !node.hidden_weights->data;
    for (int64_t d = 0; d < node.directions && !state->packs_at_run; d++)
        TN_TRY(pack_direction(call, &node, d, &kept, &state->directions[d]));
    return pack_caffe(call, &node, state);
}

tn_status tn_recurrent_prepare(tn_call *call) {
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_recurrent_state)));
    tn_recurrent_state *state = call->state;
    state->level = call->user;
    return tn_kernel_state_finish(call, pack_all(call, state));
}

/* ----------------------------------------------------------------------------------------------
 * weights that vary: columns in order, then the packed weights of each direction */

static int64_t ordered_floats(const tn_recurrent *node) {
    return tn_whole_vectors(node->columns *
                            (node->depth > node->hidden ? node->depth : node->hidden));
}

int64_t tn_recurrent_packed_floats(const tn_recurrent_level *level, const tn_recurrent *node) {
    const int64_t first = tn_recurrent_first_gates(node) * node->hidden;
    int64_t each =
        tn_whole_vectors(tn_matrix_packed_floats(level->matrix, node->depth, node->columns)) +
        tn_whole_vectors(tn_matrix_packed_floats(level->matrix, node->hidden, first));
    if (first < node->columns)
        each += tn_whole_vectors(
            tn_matrix_packed_floats(level->matrix, node->hidden, node->columns - first));
    return ordered_floats(node) + node->directions * each;
}

tn_status tn_recurrent_pack_at_run(tn_call *call, const tn_recurrent *node, float *memory,
                                   tn_recurrent_packed *out_directions) {
    pack_memory at = {memory, memory + ordered_floats(node)};
    for (int64_t d = 0; d < node->directions; d++)
        TN_TRY(pack_direction(call, node, d, &at, &out_directions[d]));
    return TN_OK;
}
