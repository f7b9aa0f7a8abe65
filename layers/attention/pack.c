/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run of Attention's kernels, and K and V in it; see unit.h. */
#include "attention/unit.h"
#include <tenon/kit/infer.h>

static uint64_t rounded(int64_t count, int64_t unit) {
    return ((uint64_t)count + (uint64_t)unit - 1) / (uint64_t)unit * (uint64_t)unit;
}

/* a * b + c; false where it does not fit. */
static bool multiply_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out) && !__builtin_add_overflow(*out, c, out);
}

/* Floats of all parts. Rows and depths are 0 where nothing is computed. */
static bool count_floats(tn_attention_run *run, uint32_t threads) {
    const tn_attention_sizes *sizes = &run->sizes;
    const int64_t lanes = run->level->matrix->lanes;
    const int64_t wider = sizes->depth > sizes->v_depth ? sizes->depth : sizes->v_depth;
    const uint64_t heads = (uint64_t)sizes->batch * (uint64_t)sizes->kv_heads;
    const uint64_t blocks = run->is_packed ? heads * (uint64_t)run->key_blocks : 0;
    const uint64_t zeros = rounded(wider, lanes) + TN_ATTENTION_KEYS;
    const uint64_t fixed = TN_ATTENTION_ROWS * (TN_ATTENTION_KEYS + 2);
    uint64_t packed = 0, all = 0;
    if (!multiply_add(TN_ATTENTION_KEYS, (uint64_t)sizes->depth, 0, &run->key_floats) ||
        !multiply_add(TN_ATTENTION_KEYS, rounded(sizes->v_depth, lanes), 0, &run->value_floats) ||
        !multiply_add(TN_ATTENTION_KEYS, rounded(wider, lanes), fixed, &run->scratch_floats) ||
        !multiply_add(TN_ATTENTION_ROWS, (uint64_t)sizes->depth + (uint64_t)sizes->v_depth,
                      run->scratch_floats, &run->scratch_floats))
        return false;
    run->scratch_floats = rounded((int64_t)run->scratch_floats, lanes);
    if (!multiply_add(blocks, run->key_floats + run->value_floats, zeros, &packed) ||
        !multiply_add(run->scratch_floats, threads, packed, &all) ||
        all > INT64_MAX / sizeof(float))
        return false;
    run->workspace_floats = all;
    return true;
}

tn_status tn_attention_run_read(tn_call *call, tn_attention_run *out_run) {
    tn_attention_run run = {.call = call, .level = call->user};
    TN_TRY(tn_attention_read(call, &run.sizes));
    const tn_attention_sizes *sizes = &run.sizes;
    const bool is_empty =
        sizes->batch == 0 || sizes->q_heads == 0 || sizes->queries == 0 || sizes->v_depth == 0;
    run.type = call->inputs[TN_ATTENTION_Q]->type;
    run.rows = is_empty ? 0 : sizes->group * sizes->queries;
    run.row_blocks = (run.rows + TN_ATTENTION_ROWS - 1) / TN_ATTENTION_ROWS;
    run.key_blocks = (int64_t)(rounded(sizes->keys, TN_ATTENTION_KEYS) / TN_ATTENTION_KEYS);
    run.is_packed = run.rows >= TN_ATTENTION_FEW;
    if (!is_empty && !count_floats(&run, call->threads))
        return call->host->fail(call, TN_ERROR_MEMORY, "the extents are too large");
    *out_run = run;
    return TN_OK;
}

void tn_attention_run_lay_out(tn_attention_run *run, void *workspace) {
    const tn_attention_sizes *sizes = &run->sizes;
    const int64_t wider = sizes->depth > sizes->v_depth ? sizes->depth : sizes->v_depth;
    const uint64_t zeros = rounded(wider, run->level->matrix->lanes) + TN_ATTENTION_KEYS;
    const uint64_t blocks = run->is_packed ? (uint64_t)sizes->batch * (uint64_t)sizes->kv_heads *
                                                 (uint64_t)run->key_blocks
                                           : 0;
    run->zeros = workspace;
    memset(run->zeros, 0, zeros * sizeof(float));
    run->keys = run->zeros + zeros;
    run->values = run->keys + blocks * run->key_floats;
    run->scratch = run->values + blocks * run->value_floats;
}

/* Where a row of K or V is; *out_is_past: in the past of either. */
static const void *find_row(const tn_attention_run *run, bool is_key, int64_t head, int64_t key,
                            bool *out_is_past) {
    const tn_attention_sizes *sizes = &run->sizes;
    const int64_t depth = is_key ? sizes->depth : sizes->v_depth;
    const int64_t at =
        tn_attention_key_offset(sizes, is_key ? &sizes->k : &sizes->v, depth,
                                head / sizes->kv_heads, head % sizes->kv_heads, key, out_is_past);
    const uint32_t past = is_key ? TN_ATTENTION_PAST_KEY : TN_ATTENTION_PAST_VALUE;
    const uint32_t input = *out_is_past ? past : is_key ? TN_ATTENTION_K : TN_ATTENTION_V;
    const char *data = tn_attention_input(run->call, input)->data;
    return data + (size_t)at * tn_element_bytes(run->type);
}

void tn_attention_widen(const tn_attention_run *run, int64_t count, const void *from, float *to) {
    if (run->type == TN_F32)
        memcpy(to, from, (size_t)count * sizeof(float));
    else
        run->level->widen(run->type, count, from, to);
}

const float *tn_attention_gather(const tn_attention_run *run, bool is_key, int64_t head,
                                 int64_t first, int64_t count, float *buffer, int64_t *out_stride) {
    const tn_attention_sizes *sizes = &run->sizes;
    const int64_t depth = is_key ? sizes->depth : sizes->v_depth;
    bool is_past = false;
    if (run->type == TN_F32 && (first >= sizes->past || first + count <= sizes->past)) {
        const float *rows = find_row(run, is_key, head, first, &is_past);
        *out_stride = is_past ? depth : is_key ? sizes->k.position : sizes->v.position;
        return rows;
    }
    for (int64_t i = 0; i < count; i++)
        tn_attention_widen(run, depth, find_row(run, is_key, head, first + i, &is_past),
                           buffer + i * depth);
    *out_stride = depth;
    return buffer;
}

void tn_attention_pack_block(const tn_attention_run *run, int64_t head, int64_t block,
                             uint32_t thread) {
    const tn_attention_sizes *sizes = &run->sizes;
    const tn_matrix_level *matrix = run->level->matrix;
    const int64_t first = block * TN_ATTENTION_KEYS, left = sizes->keys - first;
    const int64_t count = left < TN_ATTENTION_KEYS ? left : TN_ATTENTION_KEYS;
    const uint64_t index = (uint64_t)(head * run->key_blocks + block);
    float *buffer = run->scratch + thread * run->scratch_floats;
    int64_t stride = 0;
    const float *from = tn_attention_gather(run, true, head, first, count, buffer, &stride);
    tn_matrix_pack(matrix, sizes->depth, count, from, 1, stride, 1.0f,
                   run->keys + index * run->key_floats);
    from = tn_attention_gather(run, false, head, first, count, buffer, &stride);
    tn_matrix_pack(matrix, count, sizes->v_depth, from, stride, 1, 1.0f,
                   run->values + index * run->value_floats);
}
