/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention: softmax(scale * Q K^T + mask) V, head by head (Vaswani et al., "Attention Is All You
 * Need", 2017), with keys and values of earlier runs before those of this one. A key that the mask
 * excludes, or the node's range of keys, has no part in the result, whatever its score is; a query
 * that sees no key gets zeros.
 */
#include "attention/attention.h"
#include "attention/rewrites.h"
#include "kit/operator/layer.h"

#define FIELD_CAUSAL                                                                               \
    TN_FIELD_RANGE(tn_attention_params, is_causal, TN_FIELD_I64, TN_OPTIONAL, "0", 0, 1,           \
                   "1: a query sees the keys up to its own position alone")
#define FIELD_SCALE                                                                                \
    TN_FIELD(tn_attention_params, scale, TN_FIELD_F32, TN_OPTIONAL, NULL,                          \
             "factor of Q K^T; not given: 1 / sqrt(elements of a head)")
#define FIELD_SOFTCAP                                                                              \
    TN_FIELD(tn_attention_params, softcap, TN_FIELD_F32, TN_OPTIONAL, "0",                         \
             "scores are held within -softcap..softcap by tanh; 0: they are not")
#define PRECISIONS "none=0|f32=1|f16=10|f64=11|bf16=16"
static const tn_field attention_fields[] = {
    FIELD_CAUSAL,
    TN_FIELD(tn_attention_params, kv_num_heads, TN_FIELD_I64, TN_OPTIONAL, "0",
             "heads of K and V of rank 3"),
    TN_FIELD(tn_attention_params, q_num_heads, TN_FIELD_I64, TN_OPTIONAL, "0",
             "heads of Q of rank 3"),
    TN_FIELD_RANGE(tn_attention_params, qk_matmul_output_mode, TN_FIELD_I64, TN_OPTIONAL, "0", 0, 3,
                   "qk_matmul_output is 0: the scaled product, 1: with softcap, 2: with the mask, "
                   "3: after the softmax"),
    FIELD_SCALE,
    FIELD_SOFTCAP,
    TN_FIELD_CHOICE(tn_attention_params, softmax_precision, TN_FIELD_ENUM, TN_OPTIONAL, "none",
                    PRECISIONS, "the least precision of the softmax"),
    TN_FIELD_RANGE(tn_attention_params, left_window_size, TN_FIELD_I64, TN_OPTIONAL, "-1", -1,
                   9.2e18, "keys before its own position that a query sees; -1: all"),
    TN_FIELD_RANGE(tn_attention_params, right_window_size, TN_FIELD_I64, TN_OPTIONAL, "-1", -1,
                   9.2e18, "keys after its own position that a query sees; -1: all"),
};
enum { FIELDS_23 = 7, FIELDS_25 = 9, INPUTS_23 = 6, INPUTS_24 = 7 };

static tn_status set_present(tn_call *call, const tn_attention_sizes *sizes, uint32_t output,
                             int64_t depth) {
    const int64_t shape[4] = {sizes->batch, sizes->kv_heads, sizes->keys, depth};
    return tn_infer_set_shape(call, output, 4, shape);
}

static tn_status attention_infer(tn_call *call) {
    tn_attention_sizes sizes;
    TN_TRY(tn_attention_read(call, &sizes));
    const int64_t scores[4] = {sizes.batch, sizes.q_heads, sizes.queries, sizes.keys};
    const int64_t heads[4] = {sizes.batch, sizes.q_heads, sizes.queries, sizes.v_depth};
    const int64_t packed[3] = {sizes.batch, sizes.queries, sizes.y.position};
    const uint32_t rank = call->inputs[TN_ATTENTION_Q]->rank;
    TN_TRY(set_present(call, &sizes, TN_ATTENTION_PRESENT_KEY, sizes.depth));
    TN_TRY(set_present(call, &sizes, TN_ATTENTION_PRESENT_VALUE, sizes.v_depth));
    TN_TRY(tn_infer_set_shape(call, TN_ATTENTION_SCORES, 4, scores));
    return tn_infer_set_shape(call, TN_ATTENTION_Y, rank, rank == 4 ? heads : packed);
}

static tn_status attention_operations(tn_call *call, double *out_operations) {
    tn_attention_sizes sizes;
    TN_TRY(tn_attention_read(call, &sizes));
    *out_operations = 2.0 * (double)(sizes.depth + sizes.v_depth) * (double)sizes.keys *
                      (double)sizes.queries * (double)sizes.q_heads * (double)sizes.batch;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port attention_inputs[] = {
    TN_PORT("Q", "T1:float", 0,
            "queries: batch, heads, positions, elements; or batch, positions, elements of all "
            "heads"),
    TN_PORT("K", "T1", 0, "keys, as Q; Q's heads are a multiple of theirs"),
    TN_PORT("V", "T2:float", 0, "values, as K"),
    TN_PORT("attn_mask", "U:any", TN_PORT_OPTIONAL,
            "added to the scores, or false where a key is not seen; broadcasts to batch, heads, "
            "queries, keys"),
    TN_PORT("past_key", "T1", TN_PORT_OPTIONAL,
            "keys before those of K: batch, heads, positions, elements"),
    TN_PORT("past_value", "T2", TN_PORT_OPTIONAL, "their values"),
    TN_PORT("nonpad_kv_seqlen", "i64", TN_PORT_OPTIONAL,
            "how many of the keys there are, for each of the batch"),
};
static const tn_port attention_outputs[] = {
    TN_PORT("Y", "T1", 0, "what each query gets, laid out as Q"),
    TN_PORT("present_key", "T1", TN_PORT_OPTIONAL, "past_key with K behind it"),
    TN_PORT("present_value", "T2", TN_PORT_OPTIONAL, "past_value with V behind it"),
    TN_PORT("qk_matmul_output", "T1", TN_PORT_OPTIONAL, "the scores: batch, heads, queries, keys"),
};

#define CASES_23                                                                                   \
    "| Q=f32[2,3,4,8] K=f32[2,3,6,8] V=f32[2,3,6,8]",                                              \
        "is_causal=1 | Q=f32[1,2,5,7] K=f32[1,2,5,7] V=f32[1,2,5,3]",                              \
        "q_num_heads=6 kv_num_heads=2 | Q=f32[2,4,48] K=f32[2,6,16] V=f32[2,6,20]",                \
        "scale=0.3 softcap=2 | Q=f32[1,2,3,5] K=f32[1,1,4,5] V=f32[1,1,4,9] "                      \
        "attn_mask=f32[3,4]",                                                                      \
        "| Q=f32[2,2,3,4] K=f32[2,2,5,4] V=f32[2,2,5,4] "                                          \
        "attn_mask=bool[3,5]{1,0,1,1,0,0,0,0,0,0,1,1,1,1,1}",                                      \
        "is_causal=1 | Q=f32[1,2,3,4] K=f32[1,2,3,4] V=f32[1,2,3,4] past_key=f32[1,2,2,4] "        \
        "past_value=f32[1,2,2,4] attn_mask=f32[1,1,3,5]",                                          \
        "q_num_heads=2 kv_num_heads=2 qk_matmul_output_mode=3 | Q=f32[1,3,8] K=f32[1,4,8] "        \
        "V=f32[1,4,6] past_key=f32[1,2,3,4] past_value=f32[1,2,3,3]",                              \
        "qk_matmul_output_mode=1 softcap=3 | Q=f64[1,2,3,4] K=f64[1,2,5,4] V=f64[1,2,5,4]",        \
        "qk_matmul_output_mode=2 softmax_precision=f64 | Q=f32[1,2,3,4] K=f32[1,2,5,4] "           \
        "V=f64[1,2,5,4] attn_mask=f16[2,3,5]",                                                     \
        "| Q=f16[2,3,4,8] K=f16[2,3,6,8] V=f16[2,3,6,8] attn_mask=f16[2,3,4,6]",                   \
        "is_causal=1 | Q=bf16[1,4,5,8] K=bf16[1,2,5,8] V=bf16[1,2,5,16]",                          \
        "| Q=f32[1,1,1,1] K=f32[1,1,1,1] V=f32[1,1,1,1]",                                          \
        "| Q=f32[1,2,3,4] K=f32[1,2,0,4] V=f32[1,2,0,4]",                                          \
        "| Q=f32[1,4,1,9] K=f32[1,2,1,9] V=f32[1,2,1,33] past_key=f32[1,2,140,9] "                 \
        "past_value=f32[1,2,140,33]",                                                              \
        "is_causal=1 | Q=f32[1,1,52,8] K=f32[1,1,52,8] V=f32[1,1,52,8] past_key=f32[1,1,99,8] "    \
        "past_value=f32[1,1,99,8]",                                                                \
        "is_causal=1 | Q=f32[1,4,3,16] K=f32[1,2,3,16] V=f32[1,2,3,24] past_key=f32[1,2,700,16] "  \
        "past_value=f32[1,2,700,24]",                                                              \
        "| Q=f16[1,2,2,8] K=f16[1,2,300,8] V=f16[1,2,300,8] attn_mask=f16[2,300]"
static const char *const attention_cases_23[] = {CASES_23};
#define CASES_24                                                                                   \
    CASES_23,                                                                                      \
        "is_causal=1 | Q=f32[2,2,3,4] K=f32[2,2,6,4] V=f32[2,2,6,4] "                              \
        "nonpad_kv_seqlen=i64[2]{5,2}",                                                            \
        "| Q=f32[2,2,3,4] K=f32[2,2,6,4] V=f32[2,2,6,4] attn_mask=bool[2,1,3,4] "                  \
        "nonpad_kv_seqlen=i64[2]{3,0}",                                                            \
        "q_num_heads=4 kv_num_heads=2 | Q=f16[2,1,16] K=f16[2,9,8] V=f16[2,9,8] "                  \
        "nonpad_kv_seqlen=i64[2]{9,4}",                                                            \
        "is_causal=1 | Q=f32[2,2,1,32] K=f32[2,2,600,32] V=f32[2,2,600,32] "                       \
        "nonpad_kv_seqlen=i64[2]{600,70}"
static const char *const attention_cases_24[] = {CASES_24};
static const char *const attention_cases_25[] = {
    CASES_24,
    "left_window_size=2 is_causal=1 | Q=f32[1,2,9,4] K=f32[1,2,9,4] V=f32[1,2,9,4]",
    "left_window_size=1 right_window_size=2 | Q=f32[1,2,4,4] K=f32[1,2,6,4] V=f32[1,2,6,4]",
    ("right_window_size=0 | Q=f32[2,2,4,4] K=f32[2,2,6,4] V=f32[2,2,6,4] "
     "nonpad_kv_seqlen=i64[2]{6,3}"),
    "left_window_size=9 is_causal=1 | Q=f32[1,1,140,4] K=f32[1,1,140,4] V=f32[1,1,140,4]",
};

#define ATTENTION(version, inputs_count, fields_count, words)                                      \
    static const tn_operator attention_##version = {                                               \
        TN_OPERATOR_BEGIN("", "Attention", version, words),                                        \
        .params_bytes = sizeof(tn_attention_params),                                               \
        .field_size = sizeof(tn_field),                                                            \
        .field_count = fields_count,                                                               \
        .fields = attention_fields,                                                                \
        .port_size = sizeof(tn_port),                                                              \
        .input_count = inputs_count,                                                               \
        .inputs = attention_inputs,                                                                \
        TN_OUTPUTS(attention_outputs),                                                             \
        .infer = attention_infer,                                                                  \
        .reference = tn_attention_reference,                                                       \
        .operations = attention_operations,                                                        \
        TN_CASES(attention_cases_##version)}
ATTENTION(23, INPUTS_23, FIELDS_23, "Scaled dot-product attention.");
ATTENTION(24, INPUTS_24, FIELDS_23, "Scaled dot-product attention, with numbers of keys.");
ATTENTION(25, INPUTS_24, FIELDS_25, "Scaled dot-product attention, also within a window of keys.");

/* ----------------------------------------------------------------------------------------------
 * queries, keys and values in one tensor */

#define FIELD_HEADS(field, words)                                                                  \
    TN_FIELD_RANGE(tn_attention_params, field, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 9.2e18, words)
static const tn_field packed_fields[] = {
    FIELD_CAUSAL, FIELD_HEADS(kv_num_heads, "heads of keys, and of values"),
    FIELD_HEADS(q_num_heads, "heads of queries, a multiple of those of keys"), FIELD_SCALE,
    FIELD_SOFTCAP};
static const tn_port packed_inputs[] = {
    TN_PORT("qkv", "T1:float", 0,
            "batch, positions, elements: those of all heads of queries, then of keys, then of "
            "values, each head as wide as every other"),
    TN_PORT("attn_mask", "U:any", TN_PORT_OPTIONAL,
            "added to the scores, or false where a key is not seen; broadcasts to batch, heads, "
            "queries, keys"),
};
static const tn_port packed_outputs[] = {
    TN_PORT("Y", "T1", 0, "what each query gets: batch, positions, elements of all heads")};
static const char *const packed_cases[] = {
    "q_num_heads=3 kv_num_heads=3 | qkv=f32[2,4,36]",
    "q_num_heads=4 kv_num_heads=2 is_causal=1 scale=0.4 softcap=2 | qkv=f32[2,9,40]",
    "q_num_heads=2 kv_num_heads=1 | qkv=f16[1,5,32] attn_mask=f16[5,5]",
    "q_num_heads=2 kv_num_heads=2 | qkv=bf16[2,3,48] attn_mask=bool[2,1,1,3]{1,0,1,0,1,1}",
    "q_num_heads=1 kv_num_heads=1 | qkv=f64[1,3,6] attn_mask=f64[3]",
    "q_num_heads=2 kv_num_heads=2 | qkv=f32[1,140,48] attn_mask=f32[2,140,140]",
    "q_num_heads=2 kv_num_heads=2 | qkv=f32[1,0,12]",
    "q_num_heads=12 kv_num_heads=12 | qkv=f16[12,17,1152]",
};
static const tn_operator packed_attention = {
    TN_OPERATOR_BEGIN("Tenon", "PackedQkvAttention", 1,
                      "Scaled dot-product attention of queries, keys and values in one tensor."),
    TN_FIELDS(tn_attention_params, packed_fields),
    TN_INPUTS(packed_inputs),
    TN_OUTPUTS(packed_outputs),
    .infer = attention_infer,
    .reference = tn_attention_reference,
    .operations = attention_operations,
    TN_CASES(packed_cases)};

TN_LAYER_WITH_REWRITES(attention,
                       TN_OPERATORS(&attention_23, &attention_24, &attention_25, &packed_attention),
                       tn_attention_kernels, tn_attention_rewrites);
