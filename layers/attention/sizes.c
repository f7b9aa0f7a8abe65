/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of an Attention node's shapes, and what they mean; see attention.h. */
#include "attention/attention.h"
#include "kit/operator/layer.h"

/* Of extents that may be large where another one is 0. */
static int64_t product_of(int64_t a, int64_t b) {
    int64_t product = INT64_MAX;
    (void)tn_infer_multiply(a, b, &product);
    return product;
}

static tn_status refuse_shape(tn_call *call, uint32_t input, const char *wanted) {
    const tn_tensor *tensor = tn_attention_input(call, input);
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has the shape %s, expected %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(tensor->rank, tensor->shape, text, sizeof(text)),
                            wanted);
}

/* Heads, positions and depth of Q, K or V. */
typedef struct heads_of {
    int64_t heads, positions, depth;
    tn_attention_strides strides;
} heads_of;

/* A tensor [batch, heads, positions, depth], or [batch, positions, heads * depth] of as many heads
 * as the field says. */
static tn_status read_heads(tn_call *call, uint32_t input, const char *field, int64_t count,
                            heads_of *out) {
    const tn_tensor *tensor = call->inputs[input];
    if (tensor->rank == 4) {
        out->heads = tensor->shape[1];
        out->positions = tensor->shape[2];
        out->depth = tensor->shape[3];
        out->strides.position = out->depth;
        out->strides.head = product_of(out->positions, out->depth);
        if (count > 0 && count != out->heads)
            return call->host->fail(
                call, TN_ERROR_RANGE, "field '%s' is %lld, input '%s' has %lld heads", field,
                (long long)count, tn_infer_input_name(call, input), (long long)out->heads);
    } else {
        if (count < 1)
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "inputs of rank 3 need field '%s', at least 1", field);
        if (tensor->shape[2] % count != 0)
            return call->host->fail(
                call, TN_ERROR_SHAPE, "the %lld elements of input '%s' are not those of %lld heads",
                (long long)tensor->shape[2], tn_infer_input_name(call, input), (long long)count);
        out->heads = count;
        out->positions = tensor->shape[1];
        out->depth = tensor->shape[2] / count;
        out->strides.position = tensor->shape[2];
        out->strides.head = out->depth;
    }
    out->strides.batch = tn_infer_product(tensor->shape, 1, tensor->rank);
    return TN_OK;
}

/* A tensor [batch, positions, elements] of rows with the heads of Q, then K's, then V's. */
static tn_status read_packed(tn_call *call, heads_of *q, heads_of *k, heads_of *v) {
    const tn_attention_params *params = call->params;
    const int64_t most = 1 << 30;
    TN_TRY(tn_infer_require_rank(call, TN_ATTENTION_PACKED, 3, 3));
    const tn_tensor *rows = call->inputs[TN_ATTENTION_PACKED];
    if (params->q_num_heads > most || params->kv_num_heads > most)
        return call->host->fail(call, TN_ERROR_RANGE, "more than 2^30 heads");
    const int64_t heads = params->q_num_heads + 2 * params->kv_num_heads;
    if (rows->shape[2] % heads != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "the %lld elements of a row of input 'qkv' are not those of %lld "
                                "heads of Q and %lld of K and V each",
                                (long long)rows->shape[2], (long long)params->q_num_heads,
                                (long long)params->kv_num_heads);
    *q = (heads_of){
        .heads = params->q_num_heads, .positions = rows->shape[1], .depth = rows->shape[2] / heads};
    q->strides = (tn_attention_strides){
        .batch = tn_infer_product(rows->shape, 1, 3), .head = q->depth, .position = rows->shape[2]};
    *k = *q;
    k->heads = params->kv_num_heads;
    k->strides.first = q->heads * q->depth;
    *v = *k;
    v->strides.first += k->heads * k->depth;
    return TN_OK;
}

static tn_status read_inputs(tn_call *call, heads_of *q, heads_of *k, heads_of *v) {
    const tn_attention_params *params = call->params;
    if (tn_attention_is_packed(call)) return read_packed(call, q, k, v);
    TN_TRY(tn_infer_require_rank(call, TN_ATTENTION_Q, 3, 4));
    const uint32_t rank = call->inputs[TN_ATTENTION_Q]->rank;
    TN_TRY(tn_infer_require_rank(call, TN_ATTENTION_K, rank, rank));
    TN_TRY(tn_infer_require_rank(call, TN_ATTENTION_V, rank, rank));
    TN_TRY(read_heads(call, TN_ATTENTION_Q, "q_num_heads", params->q_num_heads, q));
    TN_TRY(read_heads(call, TN_ATTENTION_K, "kv_num_heads", params->kv_num_heads, k));
    return read_heads(call, TN_ATTENTION_V, "kv_num_heads", params->kv_num_heads, v);
}

static tn_status read_q_k_v(tn_call *call, tn_attention_sizes *sizes, int64_t *out_new_keys) {
    heads_of q = {0}, k = {0}, v = {0};
    TN_TRY(read_inputs(call, &q, &k, &v));
    sizes->batch = call->inputs[TN_ATTENTION_Q]->shape[0];
    if (tn_attention_input(call, TN_ATTENTION_K)->shape[0] != sizes->batch || k.depth != q.depth)
        return refuse_shape(call, TN_ATTENTION_K, "the batch and the elements a head of Q");
    if (tn_attention_input(call, TN_ATTENTION_V)->shape[0] != sizes->batch || v.heads != k.heads ||
        v.positions != k.positions)
        return refuse_shape(call, TN_ATTENTION_V, "batch, heads and positions of K");
    if (k.heads == 0 ? q.heads != 0 : q.heads % k.heads != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "%lld heads of queries are no multiple of %lld heads of keys",
                                (long long)q.heads, (long long)k.heads);
    sizes->q_heads = q.heads;
    sizes->kv_heads = k.heads;
    sizes->group = k.heads == 0 ? 0 : q.heads / k.heads;
    sizes->queries = q.positions;
    sizes->depth = q.depth;
    sizes->v_depth = v.depth;
    sizes->q = q.strides;
    sizes->k = k.strides;
    sizes->v = v.strides;
    *out_new_keys = k.positions;
    return TN_OK;
}

/* [batch, kv_heads, past, depth]. */
static tn_status check_past(tn_call *call, const tn_attention_sizes *sizes, uint32_t input,
                            int64_t depth) {
    TN_TRY(tn_infer_require_rank(call, input, 4, 4));
    const int64_t *shape = call->inputs[input]->shape;
    if (shape[0] != sizes->batch || shape[1] != sizes->kv_heads || shape[3] != depth)
        return refuse_shape(call, input, "batch, heads and elements a head of K or V");
    return TN_OK;
}

static tn_status read_past(tn_call *call, tn_attention_sizes *sizes, int64_t new_keys) {
    const tn_tensor *key = tn_attention_input(call, TN_ATTENTION_PAST_KEY);
    const tn_tensor *value = tn_attention_input(call, TN_ATTENTION_PAST_VALUE);
    const tn_tensor *lengths = tn_attention_input(call, TN_ATTENTION_LENGTHS);
    sizes->past = 0;
    if (!key != !value)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "inputs 'past_key' and 'past_value' come together, or not at all");
    if (key) {
        TN_TRY(check_past(call, sizes, TN_ATTENTION_PAST_KEY, sizes->depth));
        TN_TRY(check_past(call, sizes, TN_ATTENTION_PAST_VALUE, sizes->v_depth));
        if (key->shape[2] != value->shape[2])
            return refuse_shape(call, TN_ATTENTION_PAST_VALUE, "as many positions as past_key");
        sizes->past = key->shape[2];
    }
    if (!tn_infer_add(sizes->past, new_keys, &sizes->keys))
        return call->host->fail(call, TN_ERROR_SHAPE, "too many keys");
    if (!lengths) return TN_OK;
    if (key)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "inputs 'nonpad_kv_seqlen' and 'past_key' exclude each other");
    TN_TRY(tn_infer_require_rank(call, TN_ATTENTION_LENGTHS, 1, 1));
    if (lengths->shape[0] != sizes->batch)
        return refuse_shape(call, TN_ATTENTION_LENGTHS, "one number for each of the batch");
    return TN_OK;
}

/* The mask broadcasts to [batch, q_heads, queries, keys]; from opset 24 on it may have fewer keys
 * in place of being broadcast along them. */
static tn_status read_mask(tn_call *call, tn_attention_sizes *sizes) {
    const int64_t wanted[4] = {sizes->batch, sizes->q_heads, sizes->queries, sizes->keys};
    const bool may_be_short = call->op->since_version >= 24;
    const tn_tensor *mask = tn_attention_input(call, TN_ATTENTION_MASK);
    int64_t stride = 1;
    for (uint32_t i = 0; i < 4; i++)
        sizes->mask_strides[i] = 0;
    sizes->mask_keys = sizes->keys;
    if (!mask) return TN_OK;
    TN_TRY(tn_infer_require_rank(
        call, tn_attention_is_packed(call) ? TN_ATTENTION_PACKED_MASK : TN_ATTENTION_MASK, 1, 4));
    for (uint32_t axis = 4; axis-- > 4 - mask->rank;) {
        const int64_t extent = mask->shape[axis - (4 - mask->rank)];
        const bool is_short = axis == 3 && may_be_short && extent < sizes->keys;
        if (is_short) sizes->mask_keys = extent;
        if (!is_short && extent != wanted[axis] && extent != 1)
            return refuse_shape(call, TN_ATTENTION_MASK,
                                "what broadcasts to batch, heads, queries and keys");
        sizes->mask_strides[axis] = extent == 1 ? 0 : stride;
        stride = product_of(stride, extent);
    }
    return TN_OK;
}

tn_status tn_attention_read(tn_call *call, tn_attention_sizes *out_sizes) {
    const tn_attention_params *params = call->params;
    int64_t new_keys = 0;
    TN_TRY(read_q_k_v(call, out_sizes, &new_keys));
    TN_TRY(read_past(call, out_sizes, new_keys));
    TN_TRY(read_mask(call, out_sizes));
    const bool has_scale =
        params->present & 1u << (tn_attention_is_packed(call) ? TN_ATTENTION_PACKED_FIELD_SCALE
                                                              : TN_ATTENTION_FIELD_SCALE);
    const double depth = out_sizes->depth > 0 ? (double)out_sizes->depth : 1;
    out_sizes->scale = has_scale ? (double)params->scale : 1 / sqrt(depth);
    out_sizes->softcap = params->softcap > 0 ? (double)params->softcap : 0;
    /* Y is laid out as Q is. */
    const bool has_heads = call->inputs[TN_ATTENTION_Q]->rank == 4;
    const int64_t all = product_of(out_sizes->q_heads, out_sizes->v_depth);
    out_sizes->y.first = 0;
    out_sizes->y.position = has_heads ? out_sizes->v_depth : all;
    out_sizes->y.head =
        has_heads ? product_of(out_sizes->queries, out_sizes->v_depth) : out_sizes->v_depth;
    out_sizes->y.batch = product_of(out_sizes->queries, all);
    return TN_OK;
}

tn_status tn_attention_check_lengths(tn_call *call, const tn_attention_sizes *sizes) {
    const tn_tensor *lengths = tn_attention_input(call, TN_ATTENTION_LENGTHS);
    for (int64_t i = 0; lengths && i < sizes->batch; i++) {
        const int64_t length = ((const int64_t *)lengths->data)[i];
        if (length < 0 || length > sizes->keys)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "element %lld of input 'nonpad_kv_seqlen' is %lld, of %lld "
                                    "keys",
                                    (long long)i, (long long)length, (long long)sizes->keys);
    }
    return TN_OK;
}

/* A window's bound; -1: none. So is one that is longer than any sequence. */
static int64_t window_bound(const tn_call *call, int64_t size) {
    return call->op->since_version >= 25 && size <= INT32_MAX ? size : -1;
}

/* Query i is at position p = i + offset, where offset keys come before the queries. It sees the
 * keys j with p - left <= j <= p + right, and j <= p where the node is causal. */
tn_attention_range tn_attention_range_of(const tn_call *call, const tn_attention_sizes *sizes,
                                         int64_t batch, int64_t query) {
    const tn_attention_params *params = call->params;
    const tn_tensor *lengths = tn_attention_input(call, TN_ATTENTION_LENGTHS);
    const int64_t length = lengths ? ((const int64_t *)lengths->data)[batch] : sizes->keys;
    const int64_t position = query + (lengths ? length - sizes->queries : sizes->past);
    const int64_t left = window_bound(call, params->left_window_size);
    const int64_t right = params->is_causal ? 0 : window_bound(call, params->right_window_size);
    tn_attention_range range = {0, length < sizes->mask_keys ? length : sizes->mask_keys};
    if (right >= 0 && position + right + 1 < range.end) range.end = position + right + 1;
    if (range.end < 0) range.end = 0;
    if (left >= 0 && position - left > 0) range.begin = position - left;
    if (range.begin > range.end) range.begin = range.end;
    return range;
}

int64_t tn_attention_key_offset(const tn_attention_sizes *sizes,
                                const tn_attention_strides *strides, int64_t depth, int64_t batch,
                                int64_t head, int64_t key, bool *out_is_past) {
    *out_is_past = key < sizes->past;
    if (*out_is_past) return ((batch * sizes->kv_heads + head) * sizes->past + key) * depth;
    return tn_attention_at(strides, batch, head, key - sizes->past);
}

/* What one of the outputs is made of. */
typedef struct present_parts {
    uint32_t input, past, output;
    const tn_attention_strides *strides;
    int64_t depth;
} present_parts;

static void write_present(const tn_call *call, const tn_attention_sizes *sizes,
                          const present_parts *parts, int64_t begin, int64_t end) {
    const tn_tensor *present = tn_infer_output(call, parts->output);
    const tn_tensor *past = tn_attention_input(call, parts->past);
    if (!present || present->bytes == 0) return;
    const size_t element = tn_element_bytes(present->type);
    const size_t bytes = (size_t)parts->depth * element;
    for (int64_t row = begin; row < end; row++) {
        const int64_t head = row / sizes->keys;
        bool is_past = false;
        const int64_t at =
            tn_attention_key_offset(sizes, parts->strides, parts->depth, head / sizes->kv_heads,
                                    head % sizes->kv_heads, row % sizes->keys, &is_past);
        const char *from = is_past ? past->data : tn_attention_input(call, parts->input)->data;
        memcpy((char *)present->data + (size_t)row * bytes, from + (size_t)at * element, bytes);
    }
}

void tn_attention_write_present(const tn_call *call, const tn_attention_sizes *sizes, int64_t begin,
                                int64_t end) {
    const present_parts key = {TN_ATTENTION_K, TN_ATTENTION_PAST_KEY, TN_ATTENTION_PRESENT_KEY,
                               &sizes->k, sizes->depth};
    const present_parts value = {TN_ATTENTION_V, TN_ATTENTION_PAST_VALUE,
                                 TN_ATTENTION_PRESENT_VALUE, &sizes->v, sizes->v_depth};
    write_present(call, sizes, &key, begin, end);
    write_present(call, sizes, &value, begin, end);
}
