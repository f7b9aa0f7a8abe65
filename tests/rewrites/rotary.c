/* SPDX-License-Identifier: Apache-2.0 */
/* Test::RotaryEmbedding: pairs (i, i + e / 2) of the last axis are turned by an angle whose cosine
 * and sine are given, for each pair or for each element. */
#include "fusions.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "[..., e], e even"),
                                 TN_PORT("cos", "f32", 0, "broadcasts to x, or to half of it"),
                                 TN_PORT("sin", "f32", 0, "as cos")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static bool is_table(const tn_tensor *x, const tn_tensor *table) {
    bool is_right = table->rank > 0 && table->rank <= x->rank &&
                    (last_of(table, 1) == last_of(x, 1) || last_of(table, 1) == last_of(x, 1) / 2);
    for (uint32_t i = 2; i <= table->rank && is_right; i++)
        is_right = last_of(table, i) == 1 || last_of(table, i) == last_of(x, i);
    return is_right;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0 || last_of(x, 1) % 2 != 0 || !is_table(x, call->inputs[1]) ||
        !is_table(x, call->inputs[2]))
        return call->host->fail(call, TN_ERROR_SHAPE, "x is odd, or cos or sin does not fit");
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static tn_status turn(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *cos = call->inputs[1], *sin = call->inputs[2];
    const int64_t e = last_of(x, 1), half = e / 2, rows = e > 0 ? count_of(x) / e : 0;
    for (int64_t row = 0; row < rows; row++) {
        const float *from = (const float *)x->data + row * e;
        const float *c = (const float *)cos->data + row_in(cos, x, row) * last_of(cos, 1);
        const float *s = (const float *)sin->data + row_in(sin, x, row) * last_of(sin, 1);
        float *y = (float *)call->outputs[0]->data + row * e;
        for (int64_t i = 0; i < e; i++) {
            const double other = i < half ? -(double)from[i + half] : (double)from[i - half];
            y[i] =
                (float)(from[i] * (double)c[i % last_of(cos, 1)] + other * s[i % last_of(sin, 1)]);
        }
    }
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[2,3,4,8] cos=f32[4,8] sin=f32[4,8]",
                                    "| x=f32[2,4,6] cos=f32[2,1,3] sin=f32[4,3]"};
const tn_operator fusions_rotary = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .domain = "Test",
                                    .name = "RotaryEmbedding",
                                    .doc = "Rotary position embedding.",
                                    TN_NO_FIELDS,
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = turn,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, f32 -> f32"};
const tn_kernel fusions_rotary_kernel = {.size = sizeof(tn_kernel),
                                         .revision = 1,
                                         .domain = "Test",
                                         .op = "RotaryEmbedding",
                                         .device = "cpu",
                                         .name = "rows",
                                         .traits = TN_KERNEL_DETERMINISTIC,
                                         TN_COMBINATIONS(combinations),
                                         .run = turn};

/* ---- rewrites */

static int is_last(const tn_match *match, const char *name) {
    double axis = 0;
    return tn_match_number(match, name, 0, &axis) == TN_OK &&
           (axis == -1 || axis == tn_match_rank(match, "x") - 1);
}

/* Whether cos and sin broadcast to x, whose last extent is `extent`, and not the other way. */
static int are_tables(const tn_match *match, int64_t extent) {
    static const char *const names[] = {"cos", "sin"};
    for (int i = 0; i < 2; i++) {
        const int32_t rank = tn_match_rank(match, names[i]);
        if (rank < 1 || rank > tn_match_rank(match, "x") ||
            tn_match_extent(match, names[i], -1) != extent)
            return 0;
        for (int32_t k = 2; k <= rank; k++)
            if (tn_match_extent(match, names[i], -k) != 1 &&
                !match->is_equal_extent(match, names[i], -k, "x", -k))
                return 0;
    }
    return 1;
}

static tn_status are_sliced_halves(const tn_match *match) {
    const int64_t extent = tn_match_extent(match, "x", -1);
    double half = 0, from = 0, to = 0;
    if (extent < 2 || extent % 2 != 0)
        return match->refuse(match, "the last extent of x is odd, or not fixed");
    if (!is_last(match, "axes") || !is_last(match, "axis"))
        return match->refuse(match, "it turns along another axis");
    if (tn_match_number(match, "half", 0, &half) != TN_OK || half != (double)extent / 2 ||
        tn_match_number(match, "from", 0, &from) != TN_OK || from != half ||
        tn_match_number(match, "to", 0, &to) != TN_OK || to < (double)extent)
        return match->refuse(match, "the slices are no halves");
    return are_tables(match, extent) ? TN_OK : match->refuse(match, "cos or sin does not fit");
}

static tn_status are_split_halves(const tn_match *match) {
    const int64_t extent = tn_match_extent(match, "x", -1);
    const tn_attribute *sizes = match->value(match, "sizes");
    double first = (double)extent / 2;
    if (sizes && tn_match_number(match, "sizes", 0, &first) != TN_OK)
        return match->refuse(match, "the sizes of the halves are not known");
    if (extent < 2 || first * 2 != (double)extent || !is_last(match, "axis"))
        return match->refuse(match, "the last axis of x is not split into halves");
    return are_tables(match, extent) ? TN_OK : match->refuse(match, "cos or sin does not fit");
}

static tn_status are_pairs(const tn_match *match) {
    const int64_t extent = tn_match_extent(match, "x", -1);
    if (extent < 2 || extent % 2 != 0 || !is_last(match, "axis"))
        return match->refuse(match, "the last axis of x is not split into halves");
    return are_tables(match, extent / 2) ? TN_OK : match->refuse(match, "cos or sin does not fit");
}

#define TABLES "cos=f32[4,8] sin=f32[4,8] "
static const char *const sliced_cases[] = {"x=f32[2,3,4,8] " TABLES
                                           "half=[4] from=[4] to=[8] axes=[3] axis=-1"};
/* Not the halves; another axis. */
static const char *const sliced_misses[] = {
    "x=f32[2,8,8,8] cos=f32[8,8] sin=f32[8,8] half=[4] from=[4] to=[8] axes=[2] axis=2"};
static const tn_rewrite sliced = {
    .size = sizeof(tn_rewrite),
    .name = "rotary",
    .doc = "x * cos + rotate_half(x) * sin, as Transformers has it",
    .pattern = "low = Slice(x, [0], ?half[], ?axes[]) | Slice(x, [0], ?half[], ?axes[], [1]);"
               "high = Slice(x, ?from[], ?to[], ?axes[]) | Slice(x, ?from[], ?to[], ?axes[], [1]);"
               "y = Add(Mul(x, cos), Mul(Concat(Neg(high), low, axis=?axis), sin))",
    .replacement = "y = Test::RotaryEmbedding(x, cos, sin)",
    .guard = are_sliced_halves,
    TN_REWRITE_CASES(sliced_cases),
    TN_REWRITE_MISSES(sliced_misses),
};
static const char *const split_cases[] = {"x=f32[2,3,4,8] " TABLES "sizes=[4,4] axis=-1"};
static const tn_rewrite split = {
    .size = sizeof(tn_rewrite),
    .name = "rotary.split",
    .doc = "the same with the halves by Split, as PyTorch's newer exporter has them",
    .pattern = "low, high = Split(x, ?sizes[], axis=?axis) | Split(x, axis=?axis, num_outputs=2);"
               "y = Add(Mul(x, cos), Mul(Concat(Neg(high), low, axis=?axis), sin))",
    .replacement = "y = Test::RotaryEmbedding(x, cos, sin)",
    .guard = are_split_halves,
    TN_REWRITE_CASES(split_cases),
};
static const char *const pair_cases[] = {
    "x=f32[2,3,4,8] cos=f32[2,1,4,4] sin=f32[2,1,4,4] axis=-1"};
static const tn_rewrite pairs = {
    .size = sizeof(tn_rewrite),
    .name = "rotary.expanded",
    .doc = "real and imaginary part, as in the body of ONNX's RotaryEmbedding",
    .pattern = "a, b = Split(x, axis=?axis, num_outputs=2);"
               "y = Concat(Sub(Mul(cos, a), Mul(sin, b)), Add(Mul(sin, a), Mul(cos, b)), "
               "axis=?axis)",
    .replacement = "y = Test::RotaryEmbedding(x, cos, sin)",
    .guard = are_pairs,
    TN_REWRITE_CASES(pair_cases),
};
const tn_rewrite *const fusions_rotary_rewrites[3] = {&sliced, &split, &pairs};
