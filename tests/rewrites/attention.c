/* SPDX-License-Identifier: Apache-2.0 */
/* Test::Attention: softmax(scale * q k^T + mask) v over the last two axes. */
#include "fusions.h"

#include <math.h>
#include <stdlib.h>

typedef struct attention_params {
    uint64_t present;
    float scale;
    bool transposed_key;
    bool zero_masked;
} attention_params;

static const tn_field fields[] = {
    TN_FIELD(attention_params, scale, TN_FIELD_F32, 0, "1", "factor of the products"),
    TN_FIELD(attention_params, transposed_key, TN_FIELD_BOOL, 0, "0", "k is [..., e, s]"),
    TN_FIELD(attention_params, zero_masked, TN_FIELD_BOOL, 0, "0",
             "a row that the mask hides whole is zero"),
};
static const tn_port inputs[] = {
    TN_PORT("q", "f32", 0, "[..., l, e]"), TN_PORT("k", "f32", 0, "[..., s, e]"),
    TN_PORT("v", "f32", 0, "[..., s, f]"),
    TN_PORT("mask", "f32", TN_PORT_OPTIONAL, "added; broadcasts to [..., l, s]")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "[..., l, f]")};

static tn_status infer(tn_call *call) {
    const attention_params *p = call->params;
    const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    const tn_tensor *mask = call->input_count > 3 ? call->inputs[3] : NULL;
    const int64_t length = last_of(k, p->transposed_key ? 1 : 2);
    if (q->rank < 2 || k->rank != q->rank || v->rank != q->rank || length != last_of(v, 2) ||
        last_of(k, p->transposed_key ? 2 : 1) != last_of(q, 1))
        return call->host->fail(call, TN_ERROR_SHAPE, "q, k and v do not fit");
    for (uint32_t i = 3; i <= q->rank; i++)
        if (last_of(k, i) != last_of(q, i) || last_of(v, i) != last_of(q, i))
            return call->host->fail(call, TN_ERROR_SHAPE, "q, k and v differ in their heads");
    for (uint32_t i = 1; mask && i <= mask->rank; i++) {
        const int64_t wanted = i == 1 ? length : i <= q->rank ? last_of(q, i) : 1;
        if (last_of(mask, i) != 1 && last_of(mask, i) != wanted)
            return call->host->fail(call, TN_ERROR_SHAPE, "the mask does not broadcast");
    }
    call->outputs[0]->rank = q->rank;
    for (uint32_t i = 0; i < q->rank; i++)
        call->outputs[0]->shape[i] = i + 1 < q->rank ? q->shape[i] : last_of(v, 1);
    return TN_OK;
}

/* The scores of row `row` of q, and their largest. */
static double score_row(const tn_call *call, int64_t row, double *scores) {
    const attention_params *p = call->params;
    const tn_tensor *q = call->inputs[0], *k = call->inputs[1];
    const tn_tensor *mask = call->input_count > 3 ? call->inputs[3] : NULL;
    const int64_t e = last_of(q, 1), l = last_of(q, 2);
    const int64_t s = last_of(k, p->transposed_key ? 1 : 2);
    const float *from = (const float *)q->data + row * e;
    const float *keys = (const float *)k->data + row / l * s * e;
    const float *added =
        mask ? (const float *)mask->data + row_in(mask, call->outputs[0], row) * last_of(mask, 1)
             : NULL;
    double largest = -INFINITY;
    for (int64_t j = 0; j < s; j++) {
        double sum = 0;
        for (int64_t i = 0; i < e; i++)
            sum += (double)from[i] * keys[p->transposed_key ? i * s + j : j * e + i];
        scores[j] = sum * p->scale;
        if (added) scores[j] += added[last_of(mask, 1) == 1 ? 0 : j];
        if (scores[j] > largest) largest = scores[j];
    }
    return largest;
}

static tn_status attend_row(tn_call *call, int64_t row, double *scores) {
    const attention_params *p = call->params;
    const tn_tensor *q = call->inputs[0], *v = call->inputs[2];
    const int64_t s = last_of(v, 2), f = last_of(v, 1), l = last_of(q, 2);
    const double largest = score_row(call, row, scores);
    const float *values = (const float *)v->data + row / l * s * f;
    float *y = (float *)call->outputs[0]->data + row * f;
    double sum = 0;
    for (int64_t j = 0; j < s; j++)
        sum += scores[j] = exp(scores[j] - largest);
    for (int64_t i = 0; i < f; i++) {
        double value = 0;
        for (int64_t j = 0; j < s; j++)
            value += scores[j] / sum * values[j * f + i];
        y[i] = p->zero_masked && largest == -INFINITY ? 0 : (float)value;
    }
    return TN_OK;
}

static tn_status attend(tn_call *call) {
    const int64_t f = last_of(call->inputs[2], 1), s = last_of(call->inputs[2], 2);
    const int64_t rows = f > 0 ? count_of(call->outputs[0]) / f : 0;
    double *scores = call->host->allocate(call->host, (uint64_t)(s + 1) * sizeof *scores, 64);
    if (!scores) return TN_ERROR_MEMORY;
    for (int64_t row = 0; row < rows; row++)
        attend_row(call, row, scores);
    call->host->deallocate(call->host, scores);
    return TN_OK;
}

static const char *const cases[] = {
    "scale=0.5 | q=f32[2,3,4,8] k=f32[2,3,5,8] v=f32[2,3,5,6] mask=f32[4,5]",
    "transposed_key=1 | q=f32[2,4,8] k=f32[2,8,5] v=f32[2,5,3]",
};
const tn_operator fusions_attention = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "Test",
                                       .name = "Attention",
                                       .doc = "Scaled dot-product attention.",
                                       TN_FIELDS(attention_params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = attend,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, f32, f32? -> f32"};
const tn_kernel fusions_attention_kernel = {.size = sizeof(tn_kernel),
                                            .revision = 1,
                                            .domain = "Test",
                                            .op = "Attention",
                                            .device = "cpu",
                                            .name = "rows",
                                            .traits = TN_KERNEL_DETERMINISTIC,
                                            TN_COMBINATIONS(combinations),
                                            .run = attend};

/* ---- rewrites */

static double number_or(const tn_match *match, const char *name, double fallback) {
    double number = fallback;
    return tn_match_number(match, name, 0, &number) == TN_OK ? number : fallback;
}

/* One batch of heads, so that nothing broadcasts; the softmax is along the last axis; the factors
 * of q, of k and of the scores become one. */
static tn_status is_attention(const tn_match *match) {
    const int32_t rank = tn_match_rank(match, "q");
    const double axis = number_or(match, "axis", -1);
    const double divisor = number_or(match, "divisor", 1);
    if (rank < 3 || rank != tn_match_rank(match, "kt") || rank != tn_match_rank(match, "v"))
        return match->refuse(match, "q, k and v have other ranks");
    for (int32_t i = 0; i + 2 < rank; i++)
        if (!match->is_equal_extent(match, "q", i, "kt", i) ||
            !match->is_equal_extent(match, "q", i, "v", i))
            return match->refuse(match, "q, k and v may broadcast");
    if (axis != -1 && axis != rank - 1) return match->refuse(match, "the softmax has another axis");
    if (divisor == 0) return match->refuse(match, "the divisor is 0");
    if (tn_match_rank(match, "mask") > rank) return match->refuse(match, "the mask has more axes");
    return tn_match_set_number(match, "scale",
                               number_or(match, "of_q", 1) * number_or(match, "of_k", 1) *
                                   number_or(match, "factor", 1) / divisor);
}

/* The scores s, as PyTorch's exporters (the root of the scale on both sides), Transformers (a
 * quotient or a product afterwards, or before, of q alone) write them. */
#define SCORES                                                                                     \
    "s = Mul(MatMul(q, kt), ?factor) | Div(MatMul(q, kt), ?divisor)"                               \
    " | MatMul(Mul(q, ?of_q), Mul(kt, ?of_k)) | MatMul(Mul(q, ?of_q), kt)"                         \
    " | MatMul(Div(q, ?divisor), kt);"
#define HEADS "q=f32[2,3,4,8] kt=f32[2,3,8,5] v=f32[2,3,5,6] "

static const char *const masked_cases[] = {
    HEADS "mask=f32[4,5] factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 axis=-1",
    HEADS "mask=f32[2,1,1,5] factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 axis=3"};
/* Another axis; heads that broadcast; a factor for each head. */
static const char *const masked_misses[] = {
    "q=f32[2,3,5,5] kt=f32[2,3,5,5] v=f32[2,3,5,5] mask=f32[5,5] factor=0.5 divisor=2.0 of_q=0.6 "
    "of_k=0.7 axis=2",
    "q=f32[2,3,4,8] kt=f32[1,3,8,5] v=f32[2,3,5,6] mask=f32[4,5] factor=0.5 divisor=2.0 of_q=0.6 "
    "of_k=0.7 axis=-1"};
static const tn_rewrite masked = {
    .size = sizeof(tn_rewrite),
    .name = "attention.masked",
    .doc = "softmax(scale * q k^T + mask) v",
    .pattern = SCORES "y = MatMul(Softmax@13(Add(s, mask), axis=?axis), v)",
    .replacement = "y = Test::Attention(q, kt, v, mask, scale=$scale, transposed_key=1)",
    .guard = is_attention,
    TN_REWRITE_CASES(masked_cases),
    TN_REWRITE_MISSES(masked_misses),
};
static const char *const plain_cases[] = {HEADS
                                          "factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 axis=-1"};
static const tn_rewrite plain = {
    .size = sizeof(tn_rewrite),
    .name = "attention",
    .doc = "softmax(scale * q k^T) v",
    .pattern = SCORES "y = MatMul(Softmax@13(s, axis=?axis), v)",
    .replacement = "y = Test::Attention(q, kt, v, scale=$scale, transposed_key=1)",
    .guard = is_attention,
    TN_REWRITE_CASES(plain_cases),
};
/* The mask is read twice: rows that it hides whole are zero. */
static const tn_rewrite expanded = {
    .size = sizeof(tn_rewrite),
    .name = "attention.expanded",
    .doc = "the body of ONNX's Attention with a mask",
    .pattern = SCORES "h = Equal(ReduceMax(mask, [-1]), -inf);"
                      "y = MatMul(Where(h, 0, Softmax@13(Add(s, mask), axis=?axis)), v)",
    .replacement =
        "y = Test::Attention(q, kt, v, mask, scale=$scale, transposed_key=1, zero_masked=1)",
    .guard = is_attention,
    TN_REWRITE_CASES(masked_cases),
};

/* The same with a mask that is known: which rows are hidden was computed already. */
static tn_status is_seen(const tn_match *match) {
    const tn_tensor *hidden = match->tensor(match, "hidden");
    for (uint64_t i = 0; hidden && i < hidden->bytes; i++)
        if (((const uint8_t *)hidden->data)[i])
            return match->refuse(match, "the mask hides a row whole");
    return hidden ? is_attention(match) : TN_ERROR_UNSUPPORTED;
}

static const char *const known_cases[] = {
    HEADS "mask=f32[4,5] hidden=bool[4,1]{0,0,0,0} factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 "
          "axis=-1"};
static const char *const known_misses[] = {
    HEADS "mask=f32[4,5] hidden=bool[4,1]{0,1,0,0} factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 "
          "axis=-1"};
static const tn_rewrite known = {
    .size = sizeof(tn_rewrite),
    .name = "attention.known_mask",
    .doc = "the body of ONNX's Attention with a mask that is constant",
    .pattern = SCORES "y = MatMul(Where(hidden:const, 0, Softmax@13(Add(s, mask), axis=?axis)), v)",
    .replacement = "y = Test::Attention(q, kt, v, mask, scale=$scale, transposed_key=1)",
    .guard = is_seen,
    TN_REWRITE_CASES(known_cases),
    TN_REWRITE_MISSES(known_misses),
};
const tn_rewrite *const fusions_attention_rewrites[4] = {&masked, &plain, &expanded, &known};
