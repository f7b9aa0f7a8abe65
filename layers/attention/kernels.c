/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by an online softmax (Milakov and Gimelshein, "Online normalizer calculation for
 * softmax", 2018; Dao et al., "FlashAttention", 2022): the keys are taken block by block, and what
 * was summed before is rescaled where a block has a larger score, so that there are never more
 * scores than those of a block of queries and a block of keys. A unit of work is a block of the
 * queries that share a head of keys. Where these are many, K and V are packed once for the matrix
 * product of tenon/kit/matrix.h; where they are few (decoding), dot products read K and V as they
 * lie.
 */
#include "attention/attention.h"
#include "attention/online.h"
#include "attention/unit.h"
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>

/* Whether the node is one of 32 bits that keeps no scores. All others are left to rows.c. It is
 * asked when shapes are known, so that the kernel also takes nodes whose ranks nobody knows before
 * a run. */
static bool is_online(const tn_call *call) {
    const tn_attention_params *params = call->params;
    const tn_type type = call->inputs[TN_ATTENTION_Q]->type;
    return (type == TN_F32 || type == TN_F16 || type == TN_BF16) &&
           tn_attention_input(call, TN_ATTENTION_V)->type == type &&
           params->softmax_precision != 11 /* double */ &&
           !tn_infer_output(call, TN_ATTENTION_SCORES);
}

static tn_status online_reshape(tn_call *call) {
    tn_attention_run run;
    if (!is_online(call)) return tn_attention_rows_reshape(call);
    TN_TRY(tn_attention_run_read(call, &run));
    call->workspace_bytes = run.workspace_floats * sizeof(float);
    return TN_OK;
}

static tn_status write_present(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_attention_run *run = user;
    (void)thread;
    tn_attention_write_present(run->call, &run->sizes, begin, end);
    return TN_OK;
}

/* Items are blocks of keys of a head. */
static tn_status pack_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_attention_run *run = user;
    for (int64_t item = begin; item < end; item++)
        tn_attention_pack_block(run, item / run->key_blocks, item % run->key_blocks, thread);
    return TN_OK;
}

/* Items are blocks of the queries of a head of keys. */
static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_attention_run *run = user;
    for (int64_t item = begin; item < end; item++)
        tn_attention_unit_run(run, item / run->row_blocks, item % run->row_blocks, thread);
    return TN_OK;
}

static tn_status online_run(tn_call *call) {
    enum { COPIED_AT_ONCE = 16384, PACKED_AT_ONCE = 8192, MULTIPLIED_AT_ONCE = 400000 };
    tn_attention_run run;
    if (!is_online(call)) return tn_attention_rows_run(call);
    TN_TRY(tn_attention_run_read(call, &run));
    const tn_attention_sizes *sizes = &run.sizes;
    const tn_tensor *y = tn_infer_output(call, TN_ATTENTION_Y);
    const int64_t heads = sizes->batch * sizes->kv_heads, depths = sizes->depth + sizes->v_depth;
    TN_TRY(tn_attention_check_lengths(call, sizes));
    if (tn_infer_output(call, TN_ATTENTION_PRESENT_KEY) ||
        tn_infer_output(call, TN_ATTENTION_PRESENT_VALUE))
        TN_TRY(call->host->parallel_for(call, heads * sizes->keys,
                                        tn_parallel_grain(COPIED_AT_ONCE, depths + 1),
                                        write_present, &run));
    if (!y || y->bytes == 0) return TN_OK;
    tn_attention_run_lay_out(&run, call->workspace);
    if (run.is_packed)
        TN_TRY(call->host->parallel_for(
            call, heads * run.key_blocks,
            tn_parallel_grain(PACKED_AT_ONCE, TN_ATTENTION_KEYS * depths), pack_blocks, &run));
    const int64_t each = TN_ATTENTION_ROWS * (sizes->keys + 1) * depths;
    return call->host->parallel_for(call, heads * run.row_blocks,
                                    tn_parallel_grain(MULTIPLIED_AT_ONCE, each), do_units, &run);
}

#define ONLINE(prefix, domain, operator_name)                                                      \
    TN_LEVEL_KERNELS_IN(domain, prefix, tn_attention, operator_name, "online",                     \
                        "Online softmax over blocks of keys, in 32-bit floats; scores and double " \
                        "precision by queries.",                                                   \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        .reshape = online_reshape, .run = online_run)
ONLINE(online, "", "Attention");
ONLINE(packed, "Tenon", "PackedQkvAttention");

const tn_kernel *const tn_attention_kernels[2] = {TN_LEVEL_LIST(online), TN_LEVEL_LIST(packed)};
