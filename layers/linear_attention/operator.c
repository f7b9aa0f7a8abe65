/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LinearAttention: a recurrence over a matrix S for each head of keys (Katharopoulos et al.,
 * "Transformers are RNNs", 2020; Yang et al., "Gated Delta Networks", 2024). With the query q, key
 * k, value v, decay g and rate b of a step:
 *
 *     S = exp(g) S                     where the rule is gated
 *     v = b (v - S^T k)                where it is a delta rule
 *     S = S + k v^T;  o = scale S^T q
 */
#include "kit/operator/layer.h"
#include "linear_attention/linear_attention.h"

#include <math.h>

static const tn_field linear_attention_fields[] = {
    TN_FIELD(tn_linear_attention_params, chunk_size, TN_FIELD_I64, TN_OPTIONAL, "64",
             "a hint for kernels: steps that are taken together"),
    TN_FIELD_RANGE(tn_linear_attention_params, kv_num_heads, TN_FIELD_I64, TN_REQUIRED, NULL, 1,
                   9.2e18, "heads of keys and values"),
    TN_FIELD_RANGE(tn_linear_attention_params, q_num_heads, TN_FIELD_I64, TN_REQUIRED, NULL, 1,
                   9.2e18, "heads of queries, a multiple of those of keys"),
    TN_FIELD(tn_linear_attention_params, scale, TN_FIELD_F32, TN_OPTIONAL, "0",
             "factor of the output; 0: 1 / sqrt(elements of a head of keys)"),
    TN_FIELD_CHOICE(tn_linear_attention_params, update_rule, TN_FIELD_ENUM, TN_OPTIONAL,
                    "gated_delta", "linear=0|gated=1|delta=2|gated_delta=3",
                    "how a step changes the state"),
};

/* ----------------------------------------------------------------------------------------------
 * shapes */

/* [batch, steps, heads * depth]; the depth. */
static tn_status read_heads(tn_call *call, uint32_t input, int64_t heads, int64_t *out_depth) {
    TN_TRY(tn_infer_require_rank(call, input, 3, 3));
    const int64_t *shape = call->inputs[input]->shape;
    const int64_t *first = call->inputs[TN_LINEAR_QUERY]->shape;
    if (shape[0] != first[0] || shape[1] != first[1])
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input '%s' has not batch and steps of the query",
                                tn_infer_input_name(call, input));
    if (shape[2] % heads != 0)
        return call->host->fail(
            call, TN_ERROR_SHAPE, "the %lld elements of input '%s' are not those of %lld heads",
            (long long)shape[2], tn_infer_input_name(call, input), (long long)heads);
    *out_depth = shape[2] / heads;
    return TN_OK;
}

/* An input that the rule needs, or that it has no use for: [batch, steps, a or b numbers]. */
static tn_status read_gate(tn_call *call, uint32_t input, bool is_needed, int64_t a, int64_t b,
                           int64_t *out_count) {
    *out_count = 0;
    if (is_needed != (tn_infer_input(call, input) != NULL))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the update rule %s input '%s'",
                                is_needed ? "needs" : "has no use for",
                                tn_infer_input_name(call, input));
    if (!is_needed) return TN_OK;
    TN_TRY(read_heads(call, input, 1, out_count));
    if (*out_count != a && *out_count != b)
        return call->host->fail(
            call, TN_ERROR_SHAPE, "input '%s' has %lld numbers a step, expected %lld or %lld",
            tn_infer_input_name(call, input), (long long)*out_count, (long long)a, (long long)b);
    return TN_OK;
}

static tn_status check_past(tn_call *call, const tn_linear_attention_sizes *sizes) {
    if (!tn_infer_input(call, TN_LINEAR_PAST)) return TN_OK;
    TN_TRY(tn_infer_require_rank(call, TN_LINEAR_PAST, 4, 4));
    const int64_t *shape = call->inputs[TN_LINEAR_PAST]->shape;
    if (shape[0] == sizes->batch && shape[1] == sizes->kv_heads && shape[2] == sizes->k_depth &&
        shape[3] == sizes->v_depth)
        return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input 'past_state' is not [%lld, %lld, %lld, %lld]",
                            (long long)sizes->batch, (long long)sizes->kv_heads,
                            (long long)sizes->k_depth, (long long)sizes->v_depth);
}

tn_status tn_linear_attention_read(tn_call *call, tn_linear_attention_sizes *out_sizes) {
    const tn_linear_attention_params *params = call->params;
    const int64_t heads = params->kv_num_heads;
    int64_t k_depth = 0, all = INT64_MAX;
    out_sizes->q_heads = params->q_num_heads;
    out_sizes->kv_heads = heads;
    out_sizes->group = params->q_num_heads / heads;
    if (params->q_num_heads % heads != 0)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "field 'q_num_heads' is %lld, no multiple of 'kv_num_heads', %lld",
                                (long long)params->q_num_heads, (long long)heads);
    TN_TRY(tn_infer_require_rank(call, TN_LINEAR_QUERY, 3, 3));
    TN_TRY(read_heads(call, TN_LINEAR_QUERY, params->q_num_heads, &out_sizes->k_depth));
    TN_TRY(read_heads(call, TN_LINEAR_KEY, heads, &k_depth));
    TN_TRY(read_heads(call, TN_LINEAR_VALUE, heads, &out_sizes->v_depth));
    if (k_depth != out_sizes->k_depth)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "a head of 'key' has %lld elements, one of 'query' %lld",
                                (long long)k_depth, (long long)out_sizes->k_depth);
    out_sizes->batch = call->inputs[TN_LINEAR_QUERY]->shape[0];
    out_sizes->steps = call->inputs[TN_LINEAR_QUERY]->shape[1];
    out_sizes->is_gated = params->update_rule & TN_LINEAR_GATED;
    out_sizes->is_delta = params->update_rule & TN_LINEAR_DELTA;
    (void)tn_infer_multiply(heads, k_depth, &all);
    TN_TRY(read_gate(call, TN_LINEAR_DECAY, out_sizes->is_gated, heads, all, &out_sizes->decays));
    TN_TRY(read_gate(call, TN_LINEAR_BETA, out_sizes->is_delta, heads, 1, &out_sizes->betas));
    out_sizes->scale = params->scale != 0 ? (double)params->scale
                       : k_depth > 0      ? 1 / sqrt((double)k_depth)
                                          : 1;
    return check_past(call, out_sizes);
}

static tn_status linear_attention_infer(tn_call *call) {
    tn_linear_attention_sizes sizes;
    TN_TRY(tn_linear_attention_read(call, &sizes));
    int64_t all = 0;
    if (!tn_infer_multiply(sizes.q_heads, sizes.v_depth, &all))
        return call->host->fail(call, TN_ERROR_SHAPE, "too many elements");
    const int64_t output[3] = {sizes.batch, sizes.steps, all};
    const int64_t state[4] = {sizes.batch, sizes.kv_heads, sizes.k_depth, sizes.v_depth};
    const tn_tensor *past = tn_infer_input(call, TN_LINEAR_PAST);
    tn_infer_set_type(call, TN_LINEAR_PRESENT,
                      past ? past->type : call->inputs[TN_LINEAR_QUERY]->type);
    TN_TRY(tn_infer_set_shape(call, TN_LINEAR_PRESENT, 4, state));
    return tn_infer_set_shape(call, TN_LINEAR_OUTPUT, 3, output);
}

/* ----------------------------------------------------------------------------------------------
 * the reference: a column of a head's state at a time, which nothing but k, q and gates ties to the
 * others */

typedef struct column {
    const tn_call *call;
    const tn_linear_attention_sizes *sizes;
    int64_t batch, head, index;
    double *state; /* k_depth */
} column;

static double input_at(const column *of, uint32_t input, int64_t step, int64_t index) {
    const tn_tensor *tensor = of->call->inputs[input];
    const int64_t row = of->batch * of->sizes->steps + step;
    return tn_element_f64(tensor, row * tensor->shape[2] + index);
}

static double decay_at(const column *of, int64_t step, int64_t i) {
    const tn_linear_attention_sizes *sizes = of->sizes;
    const bool is_per_head = sizes->decays == sizes->kv_heads;
    return exp(input_at(of, TN_LINEAR_DECAY, step,
                        is_per_head ? of->head : of->head * sizes->k_depth + i));
}

static void take_step(const column *of, int64_t step) {
    const tn_linear_attention_sizes *sizes = of->sizes;
    const int64_t first = of->head * sizes->k_depth;
    double value = input_at(of, TN_LINEAR_VALUE, step, of->head * sizes->v_depth + of->index);
    for (int64_t i = 0; sizes->is_gated && i < sizes->k_depth; i++)
        of->state[i] *= decay_at(of, step, i);
    if (sizes->is_delta) {
        for (int64_t i = 0; i < sizes->k_depth; i++)
            value -= of->state[i] * input_at(of, TN_LINEAR_KEY, step, first + i);
        value *= input_at(of, TN_LINEAR_BETA, step, sizes->betas == 1 ? 0 : of->head);
    }
    for (int64_t i = 0; i < sizes->k_depth; i++)
        of->state[i] += input_at(of, TN_LINEAR_KEY, step, first + i) * value;
    for (int64_t g = 0; g < sizes->group; g++) {
        const int64_t head = of->head * sizes->group + g;
        double sum = 0;
        for (int64_t i = 0; i < sizes->k_depth; i++)
            sum += of->state[i] * input_at(of, TN_LINEAR_QUERY, step, head * sizes->k_depth + i);
        tn_element_set_f64(of->call->outputs[TN_LINEAR_OUTPUT],
                           ((of->batch * sizes->steps + step) * sizes->q_heads + head) *
                                   sizes->v_depth +
                               of->index,
                           sizes->scale * sum);
    }
}

static void compute_column(const column *of) {
    const tn_linear_attention_sizes *sizes = of->sizes;
    const tn_tensor *past = tn_infer_input(of->call, TN_LINEAR_PAST);
    const tn_tensor *present = tn_infer_output(of->call, TN_LINEAR_PRESENT);
    const int64_t first = (of->batch * sizes->kv_heads + of->head) * sizes->k_depth;
    for (int64_t i = 0; i < sizes->k_depth; i++)
        of->state[i] = past ? tn_element_f64(past, (first + i) * sizes->v_depth + of->index) : 0;
    for (int64_t step = 0; step < sizes->steps; step++)
        take_step(of, step);
    for (int64_t i = 0; present && i < sizes->k_depth; i++)
        tn_element_set_f64(present, (first + i) * sizes->v_depth + of->index, of->state[i]);
}

static tn_status linear_attention_reference(tn_call *call) {
    tn_linear_attention_sizes sizes;
    TN_TRY(tn_linear_attention_read(call, &sizes));
    if (sizes.batch == 0 || sizes.v_depth == 0) return TN_OK;
    double *state =
        call->host->allocate(call->host, (uint64_t)sizes.k_depth * sizeof(double) + 1, 64);
    if (!state) return TN_ERROR_MEMORY;
    for (int64_t head = 0; head < sizes.batch * sizes.kv_heads; head++)
        for (int64_t i = 0; i < sizes.v_depth; i++) {
            const column of = {call, &sizes, head / sizes.kv_heads, head % sizes.kv_heads,
                               i,    state};
            compute_column(&of);
        }
    call->host->deallocate(call->host, state);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port linear_attention_inputs[] = {
    TN_PORT("query", "T:f32|f16|bf16", 0, "batch, steps, elements of all heads"),
    TN_PORT("key", "T", 0, "batch, steps, elements of all heads"),
    TN_PORT("value", "T", 0, "batch, steps, elements of all heads"),
    TN_PORT("past_state", "S:f32|f16|bf16", TN_PORT_OPTIONAL,
            "batch, heads, elements of a key, of a value; not given: zeros"),
    TN_PORT("decay", "T", TN_PORT_OPTIONAL,
            "logarithms of what is kept: batch, steps, one for each head or element of a key"),
    TN_PORT("beta", "T", TN_PORT_OPTIONAL, "rates: batch, steps, one for each head or all"),
};
static const tn_port linear_attention_outputs[] = {
    TN_PORT("output", "T", 0, "batch, steps, elements of all heads of queries"),
    TN_PORT("present_state", "S", 0, "the state after the last step, of past_state's or T's type"),
};
#define GATE "{-0.5,-1,-0.25,-2,-0.125,-1.5}"
static const char *const linear_attention_cases[] = {
    "update_rule=linear q_num_heads=2 kv_num_heads=2 | query=f32[1,3,8] key=f32[1,3,8] "
    "value=f32[1,3,6]",
    "update_rule=gated q_num_heads=4 kv_num_heads=2 scale=0.5 | query=f32[1,3,12] key=f32[1,3,6] "
    "value=f32[1,3,10] decay=f32[1,3,2]" GATE,
    "update_rule=gated q_num_heads=1 kv_num_heads=1 | query=f32[1,2,3] key=f32[1,2,3] "
    "value=f32[1,2,5] past_state=f32[1,1,3,5] decay=f32[1,2,3]" GATE,
    "update_rule=delta q_num_heads=2 kv_num_heads=1 | query=f32[2,2,6] key=f32[2,2,3] "
    "value=f32[2,2,4] past_state=f32[2,1,3,4] beta=f32[2,2,1]",
    "q_num_heads=2 kv_num_heads=2 | query=f32[1,3,8] key=f32[1,3,8] value=f32[1,3,6] "
    "decay=f32[1,3,2]" GATE " beta=f32[1,3,2]",
    "q_num_heads=2 kv_num_heads=2 chunk_size=1 | query=f16[1,3,4] key=f16[1,3,4] value=f16[1,3,6] "
    "past_state=f32[1,2,2,3] decay=f16[1,3,2]" GATE " beta=f16[1,3,1]",
    "update_rule=linear q_num_heads=1 kv_num_heads=1 | query=bf16[1,2,3] key=bf16[1,2,3] "
    "value=bf16[1,2,3]",
    "update_rule=linear q_num_heads=1 kv_num_heads=1 | query=f32[2,0,3] key=f32[2,0,3] "
    "value=f32[2,0,5] past_state=f32[2,1,3,5]",
    "update_rule=linear q_num_heads=1 kv_num_heads=1 scale=2 | query=f32[1,2,1]{3,4} "
    "key=f32[1,2,1]{5,6} value=f32[1,2,1]{7,8} | output=f32[1,2,1]{210,664} "
    "present_state=f32[1,1,1,1]{83}",
    "update_rule=linear q_num_heads=2 kv_num_heads=1 | query=f32[1,4,64] key=f32[1,4,32] "
    "value=f32[1,4,150]",
};
TN_OPERATOR(linear_attention, "", "LinearAttention", 27,
            "A recurrence over a matrix of keys and values, which queries read.",
            TN_FIELDS(tn_linear_attention_params, linear_attention_fields));

TN_LAYER(linear_attention, TN_OPERATORS(&linear_attention_27), tn_linear_attention_kernels);
