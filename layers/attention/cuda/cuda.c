/* SPDX-License-Identifier: Apache-2.0 */
/* Attention's kernels on CUDA: their callbacks; see cuda_online.cuh. */
#include "attention/attention.h"
#include "attention/cuda/cuda_attention.h"
#include "kit/operator/layer.h"
#include <tenon/kit/cuda/launch.h>

#include <limits.h>

typedef cudaError_t (*launch_function)(const tn_cuda_attention *job, cudaStream_t stream);

static bool read_mask_type(const tn_tensor *mask, int *out_type) {
    *out_type = TN_CUDA_NO_MASK;
    if (!mask) return true;
    switch (mask->type) {
    case TN_BOOL:
        *out_type = TN_CUDA_MASK_BOOL;
        return true;
    case TN_F32:
        *out_type = TN_CUDA_MASK_F32;
        return true;
    case TN_F16:
        *out_type = TN_CUDA_MASK_F16;
        return true;
    case TN_BF16:
        *out_type = TN_CUDA_MASK_BF16;
        return true;
    default:
        return false;
    }
}

/* Rows are counted in 32 bits, heads by the second axis of a grid. */
static bool fits(const tn_attention_sizes *sizes) {
    const int64_t most_heads = 65535, most = INT_MAX / 4;
    if (sizes->depth > TN_CUDA_ATTENTION_DEPTH || sizes->v_depth > TN_CUDA_ATTENTION_DEPTH)
        return false;
    if (sizes->batch > most_heads || sizes->kv_heads > most_heads ||
        sizes->batch * sizes->kv_heads > most_heads)
        return false;
    return sizes->keys <= most && sizes->group <= most && sizes->queries <= most &&
           sizes->group * sizes->queries <= most;
}

static tn_status accepts(tn_call *call) {
    const tn_attention_params *params = call->params;
    const tn_type type = call->inputs[TN_ATTENTION_Q]->type;
    const tn_tensor *mask = tn_attention_input(call, TN_ATTENTION_MASK);
    tn_attention_sizes sizes;
    int mask_type;
    TN_TRY(tn_attention_read(call, &sizes));
    if (tn_attention_input(call, TN_ATTENTION_V)->type != type ||
        !read_mask_type(mask, &mask_type) || params->softmax_precision == 11 /* double */ ||
        tn_infer_output(call, TN_ATTENTION_SCORES))
        return TN_ERROR_UNSUPPORTED;
    return fits(&sizes) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_cuda_heads steps_of(const tn_attention_strides *strides) {
    return (tn_cuda_heads){strides->batch, strides->head, strides->position};
}

static const void *heads_at(const tn_call *call, uint32_t input,
                            const tn_attention_strides *strides) {
    const tn_tensor *tensor = tn_attention_input(call, input);
    return (const char *)tensor->data + (size_t)strides->first * tn_element_bytes(tensor->type);
}

/* Whether rows of so many elements, so far apart, begin at 16 bytes. */
static bool is_aligned(const void *data, const tn_cuda_heads *step, int64_t depth, size_t bytes) {
    const int64_t each = 16 / (int64_t)bytes;
    return (uintptr_t)data % 16 == 0 && step->batch % each == 0 && step->head % each == 0 &&
           step->position % each == 0 && depth % each == 0;
}

/* A window's bound; -1: none. So is one that is longer than any sequence. */
static int window_bound(const tn_call *call, int64_t size) {
    return call->op->since_version >= 25 && size >= 0 && size <= INT_MAX / 4 ? (int)size : -1;
}

static tn_cuda_attention read_job(const tn_call *call, const tn_attention_sizes *sizes) {
    const tn_attention_params *params = call->params;
    const size_t bytes = tn_element_bytes(call->inputs[TN_ATTENTION_Q]->type);
    tn_cuda_attention job = {
        .q = heads_at(call, TN_ATTENTION_Q, &sizes->q),
        .k = heads_at(call, TN_ATTENTION_K, &sizes->k),
        .v = heads_at(call, TN_ATTENTION_V, &sizes->v),
        .past_k = tn_infer_data(tn_attention_input(call, TN_ATTENTION_PAST_KEY)),
        .past_v = tn_infer_data(tn_attention_input(call, TN_ATTENTION_PAST_VALUE)),
        .mask = tn_infer_data(tn_attention_input(call, TN_ATTENTION_MASK)),
        .lengths = tn_infer_data(tn_attention_input(call, TN_ATTENTION_LENGTHS)),
        .y = call->outputs[TN_ATTENTION_Y]->data,
        .q_step = steps_of(&sizes->q),
        .k_step = steps_of(&sizes->k),
        .v_step = steps_of(&sizes->v),
        .y_step = steps_of(&sizes->y),
        .batch = (int)sizes->batch,
        .kv_heads = (int)sizes->kv_heads,
        .group = (int)sizes->group,
        .queries = (int)sizes->queries,
        .past = (int)sizes->past,
        .keys = (int)sizes->keys,
        .mask_keys = (int)sizes->mask_keys,
        .depth = (int)sizes->depth,
        .v_depth = (int)sizes->v_depth,
        .left = window_bound(call, params->left_window_size),
        .right = params->is_causal ? 0 : window_bound(call, params->right_window_size),
        .scale = (float)sizes->scale,
        .softcap = (float)sizes->softcap};
    for (int i = 0; i < 4; i++)
        job.mask_step[i] = sizes->mask_strides[i];
    (void)read_mask_type(tn_attention_input(call, TN_ATTENTION_MASK), &job.mask_type);
    job.is_aligned = is_aligned(job.k, &job.k_step, sizes->depth, bytes) &&
                     is_aligned(job.v, &job.v_step, sizes->v_depth, bytes) &&
                     (uintptr_t)job.past_k % 16 == 0 && (uintptr_t)job.past_v % 16 == 0;
    job.is_q_aligned = is_aligned(job.q, &job.q_step, sizes->depth, bytes);
    return job;
}

static cudaError_t write_present(const tn_call *call, const tn_attention_sizes *sizes,
                                 uint32_t input, uint32_t past, uint32_t output) {
    const bool is_key = input == TN_ATTENTION_K;
    const tn_tensor *present = tn_infer_output(call, output);
    if (!present || present->bytes == 0) return cudaSuccess;
    const tn_cuda_present job = {.past = tn_infer_data(tn_attention_input(call, past)),
                                 .from = tn_infer_data(tn_attention_input(call, input)),
                                 .to = present->data,
                                 .step = steps_of(is_key ? &sizes->k : &sizes->v),
                                 .elements = tn_element_count(present),
                                 .kv_heads = (int)sizes->kv_heads,
                                 .past_keys = (int)sizes->past,
                                 .keys = (int)sizes->keys,
                                 .depth = (int)(is_key ? sizes->depth : sizes->v_depth),
                                 .element_bytes = (int)tn_element_bytes(present->type)};
    return tn_cuda_present_write(&job, call->stream);
}

static launch_function function_of(const tn_call *call) {
    switch (call->inputs[TN_ATTENTION_Q]->type) {
    case TN_F16:
        return tn_cuda_attention_f16;
    case TN_BF16:
        return tn_cuda_attention_bf16;
    default:
        return call->user ? tn_cuda_attention_tf32 : tn_cuda_attention_f32;
    }
}

static tn_status run(tn_call *call) {
    tn_attention_sizes sizes;
    TN_TRY(tn_attention_read(call, &sizes));
    const tn_tensor *y = tn_infer_output(call, TN_ATTENTION_Y);
    const int before = tn_cuda_enter(call);
    cudaError_t error = write_present(call, &sizes, TN_ATTENTION_K, TN_ATTENTION_PAST_KEY,
                                      TN_ATTENTION_PRESENT_KEY);
    if (error == cudaSuccess)
        error = write_present(call, &sizes, TN_ATTENTION_V, TN_ATTENTION_PAST_VALUE,
                              TN_ATTENTION_PRESENT_VALUE);
    if (error == cudaSuccess && y && y->bytes > 0) {
        const tn_cuda_attention job = read_job(call, &sizes);
        error = function_of(call)(&job, call->stream);
    }
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching attention");
}

#define MASKED(type, mask)                                                                         \
    type ", " type ", " type ", " mask "?, " type "?, " type "?, i64? -> " type "?, " type         \
         "?, " type "?, " type "?"
static const char *const combinations[] = {
    MASKED("f32", "f32"), MASKED("f32", "bool"),  MASKED("f16", "f16"),   MASKED("f16", "bool"),
    MASKED("f16", "f32"), MASKED("bf16", "bf16"), MASKED("bf16", "bool"), MASKED("bf16", "f32"),
};
static const char *const rounded_combinations[] = {MASKED("f32", "f32"), MASKED("f32", "bool")};

#define PACKED(type, mask) type ", " mask "? -> " type
static const char *const packed_combinations[] = {
    PACKED("f32", "f32"), PACKED("f32", "bool"),  PACKED("f16", "f16"),   PACKED("f16", "bool"),
    PACKED("f16", "f32"), PACKED("bf16", "bf16"), PACKED("bf16", "bool"), PACKED("bf16", "f32"),
};
static const char *const packed_rounded_combinations[] = {PACKED("f32", "f32"),
                                                          PACKED("f32", "bool")};

#define WORDS "Online softmax over tiles of keys in shared memory; 16-bit types on tensor cores."
#define ROUNDED_WORDS                                                                              \
    "Online softmax over tiles of keys in shared memory; 32-bit floats are rounded to tf32 "       \
    "before "                                                                                      \
    "they are multiplied."
#define ROUNDED (void *)(uintptr_t)&tn_cuda_attention_tf32

#define ONLINE(symbol, domain, name, kernel_name, words, more_traits, table, function)             \
    static const tn_kernel symbol = {                                                              \
        TN_KERNEL_BEGIN("cuda", domain, name, kernel_name, 1, words),                              \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE more_traits,                      \
        TN_COMBINATIONS(table),                                                                    \
        .accepts = accepts,                                                                        \
        .run = run,                                                                                \
        .user = function,                                                                          \
    }
ONLINE(online, "", "Attention", "online", WORDS, , combinations, NULL);
ONLINE(online_tf32, "", "Attention", "online_tf32", ROUNDED_WORDS, | TN_KERNEL_TF32,
       rounded_combinations, ROUNDED);
ONLINE(packed, "Tenon", "PackedQkvAttention", "online", WORDS, , packed_combinations, NULL);
ONLINE(packed_tf32, "Tenon", "PackedQkvAttention", "online_tf32", ROUNDED_WORDS, | TN_KERNEL_TF32,
       packed_rounded_combinations, ROUNDED);

TN_CUDA_LAYER(attention, &online, &online_tf32, &packed, &packed_tf32);
