/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What networks write around Attention, and what Attention does itself: heads that are cut out of
 * rows and joined again, heads of keys that are repeated for those of queries, and a past of keys
 * and values that is joined with those of now.
 */
#include "attention/rewrites.h"
#include "kit/operator/layer.h"

#define AROUND(symbol, rewrite_name, words, ...)                                                   \
    const tn_rewrite symbol = {                                                                    \
        .size = sizeof(tn_rewrite), .name = rewrite_name, .doc = words, __VA_ARGS__}
#define FIELDS " scale=?scale, softcap=?softcap, is_causal=?causal"

/* ----------------------------------------------------------------------------------------------
 * heads of rows */

/* `heads` is `rows`, [batch, positions, elements], with each row cut into as many heads. */
static int64_t heads_of(const tn_match *match, const char *rows, const char *heads) {
    const int64_t count = tn_match_extent(match, heads, 2);
    if (tn_match_rank(match, rows) != 3 || tn_match_rank(match, heads) != 4 ||
        !match->is_equal_extent(match, rows, 0, heads, 0) ||
        !match->is_equal_extent(match, rows, 1, heads, 1) || tn_match_extent(match, heads, 3) < 1)
        return -1;
    return count;
}

static tn_status are_rows(const tn_match *match) {
    const int64_t q = heads_of(match, "q", "q4"), k = heads_of(match, "k", "k4");
    if (q < 1 || k < 1 || heads_of(match, "v", "v4") != k || q % k != 0)
        return match->refuse(match, "q, k or v is not cut into heads of fixed extents");
    const int64_t count = 4, heads[] = {0, 0, q, tn_match_extent(match, "v4", 3)};
    tn_tensor shape = {.size = sizeof shape,
                       .type = TN_I64,
                       .rank = 1,
                       .shape = (int64_t *)(uintptr_t)&count,
                       .bytes = sizeof heads,
                       .data = (void *)(uintptr_t)heads};
    const tn_attribute value = {
        .size = sizeof value, .type = TN_FIELD_TENSOR, .name = "heads", .tensor = &shape};
    tn_status status = match->set(match, &value);
    if (status == TN_OK) status = tn_match_set_integer(match, "q_heads", q);
    return status == TN_OK ? tn_match_set_integer(match, "kv_heads", k) : status;
}

static const char *const row_cases[] = {
    "q=f32[2,4,12] k=f32[2,5,12] v=f32[2,5,6] cut_q=i64[4]{2,4,3,4} cut_k=i64[4]{2,5,3,4} "
    "cut_v=i64[4]{2,5,3,2} mask=f32[4,5] scale=0.4 zero=1",
    "q=f32[2,4,16] k=f32[2,5,8] v=f32[2,5,6] cut_q=i64[4]{0,-1,4,4} cut_k=i64[4]{0,-1,2,4} "
    "cut_v=i64[4]{0,-1,2,3} scale=0.4 softcap=3.0 causal=1"};
/* The rows of two batches are one sequence; elements of two positions are one head. */
static const char *const row_misses[] = {
    "q=f32[2,4,12] k=f32[2,4,12] v=f32[2,4,12] cut_q=i64[4]{1,8,3,4} cut_k=i64[4]{1,8,3,4} "
    "cut_v=i64[4]{1,8,3,4} scale=0.4",
    "q=f32[2,4,12] k=f32[2,4,12] v=f32[2,4,6] cut_q=i64[4]{2,2,6,4} cut_k=i64[4]{2,2,6,4} "
    "cut_v=i64[4]{2,2,6,2} scale=0.4"};
AROUND(tn_attention_rows_rewrite, "attention.rows",
       "heads that are cut out of rows, and their results, laid out as rows",
       .pattern =
           "q4 = Reshape(q, cut_q, allowzero=?zero); k4 = Reshape(k, cut_k, allowzero=?zero);"
           "v4 = Reshape(v, cut_v, allowzero=?zero);"
           "o = Attention(Transpose(q4, perm=[0, 2, 1, 3]),"
           "  Transpose(k4, perm=[0, 2, 1, 3]), Transpose(v4, perm=[0, 2, 1, 3]),"
           "  mask?," FIELDS ");"
           "y = Transpose(o, perm=[0, 2, 1, 3])",
       .replacement = "r = Attention(q, k, v, mask, q_num_heads=$q_heads,"
                      "  kv_num_heads=$kv_heads," FIELDS "); y = Reshape(r, $heads)",
       .guard = are_rows, TN_REWRITE_CASES(row_cases), TN_REWRITE_MISSES(row_misses));

/* ----------------------------------------------------------------------------------------------
 * heads of keys for several heads of queries */

/* `wide` is `from`, [batch, heads, positions, elements], with an axis of copies behind the heads,
 * and `all` has both as heads. */
static int is_repeated(const tn_match *match, const char *from, const char *wide, const char *all) {
    return tn_match_rank(match, from) == 4 && tn_match_rank(match, wide) == 5 &&
           tn_match_rank(match, all) == 4 && match->is_equal_extent(match, from, 0, wide, 0) &&
           match->is_equal_extent(match, from, 1, wide, 1) &&
           match->is_equal_extent(match, from, 2, wide, 3) &&
           match->is_equal_extent(match, from, 3, wide, 4) &&
           match->is_equal_extent(match, from, 0, all, 0) &&
           match->is_equal_extent(match, from, 2, all, 2) &&
           match->is_equal_extent(match, from, 3, all, 3) && tn_match_extent(match, from, 1) > 0;
}

static tn_status are_repeated(const tn_match *match) {
    if (is_repeated(match, "k", "k5", "k4") && is_repeated(match, "v", "v5", "v4")) return TN_OK;
    return match->refuse(match, "not each head of keys and values is repeated by itself");
}

static const char *const group_cases[] = {
    "q=f32[2,6,4,8] k=f32[2,3,5,8] v=f32[2,3,5,7] wide_k=i64[5]{2,3,2,5,8} "
    "wide_v=i64[5]{2,3,2,5,7} join_k=i64[4]{2,6,5,8} join_v=i64[4]{2,6,5,7} mask=f32[4,5] "
    "scale=0.3 axes=[2]"};
static const char *const group_misses[] = {
    "q=f32[2,6,4,8] k=f32[2,3,5,8] v=f32[2,3,5,7] wide_k=i64[5]{2,2,3,5,8} "
    "wide_v=i64[5]{2,2,3,5,7} join_k=i64[4]{2,6,5,8} join_v=i64[4]{2,6,5,7} mask=f32[4,5] "
    "scale=0.3 axes=[1]"};
#define REPEATED(x)                                                                                \
    x "5 = Expand(Unsqueeze(" x ", axes=?axes) | Unsqueeze(" x ", ?axes[]), wide_" x ");" x        \
      "4 = Reshape(" x "5, join_" x ", ...);"
static tn_status are_groups(const tn_match *match) {
    double axis = 0;
    if (tn_match_number(match, "axes", 0, &axis) != TN_OK || (axis != 2 && axis != -3))
        return match->refuse(match, "the copies do not lie behind their head");
    return are_repeated(match);
}
AROUND(tn_attention_groups_rewrite, "attention.groups",
       "heads of keys, repeated for those of queries",
       .pattern = REPEATED("k") REPEATED("v") "y = Attention(q, k4, v4, mask?," FIELDS ")",
       .replacement = "y = Attention(q, k, v, mask," FIELDS ")", .guard = are_groups,
       TN_REWRITE_CASES(group_cases), TN_REWRITE_MISSES(group_misses));

/* ----------------------------------------------------------------------------------------------
 * a past */

static tn_status is_past(const tn_match *match) {
    static const char *const names[] = {"past_k", "k", "past_v", "v"};
    double axis = 0;
    for (int i = 0; i < 4; i++)
        if (tn_match_rank(match, names[i]) != 4)
            return match->refuse(match, "keys or values are not of rank 4");
    if (tn_match_number(match, "axis", 0, &axis) != TN_OK || (axis != 2 && axis != -2))
        return match->refuse(match, "the past is not joined along the positions");
    if (!match->is_equal_extent(match, "past_k", 2, "past_v", 2) ||
        !match->is_equal_extent(match, "k", 2, "v", 2))
        return match->refuse(match, "keys and values have pasts of two lengths");
    return TN_OK;
}

static const char *const past_cases[] = {
    "q=f32[2,6,4,8] k=f32[2,3,4,8] v=f32[2,3,4,7] past_k=f32[2,3,2,8] past_v=f32[2,3,2,7] "
    "mask=f32[4,6] scale=0.3 axis=-2",
    "q=f32[2,6,4,8] k=f32[2,3,4,8] v=f32[2,3,4,7] past_k=f32[2,3,2,8] past_v=f32[2,3,2,7] axis=2"};
/* Along the heads; keys and values of two lengths before. */
static const char *const past_misses[] = {
    "q=f32[2,6,4,8] k=f32[2,3,4,8] v=f32[2,3,4,7] past_k=f32[2,3,4,8] past_v=f32[2,3,4,7] "
    "mask=f32[4,4] scale=0.3 axis=1",
    "q=f32[2,6,4,8] k=f32[2,3,4,8] v=f32[2,3,3,7] past_k=f32[2,3,2,8] past_v=f32[2,3,3,7] "
    "mask=f32[4,6] scale=0.3 axis=-2"};
AROUND(tn_attention_past_rewrite, "attention.past",
       "keys and values of before, joined with those of now",
       .pattern = "pk = Concat(past_k, k, axis=?axis); pv = Concat(past_v, v, axis=?axis);"
                  "y = Attention(q, pk, pv, mask?, scale=?scale, softcap=?softcap)",
       .replacement = "y, pk, pv = Attention(q, k, v, mask, past_k, past_v, scale=?scale,"
                      "  softcap=?softcap)",
       .guard = is_past, TN_REWRITE_CASES(past_cases), TN_REWRITE_MISSES(past_misses));

/* ----------------------------------------------------------------------------------------------
 * queries, keys and values out of one tensor */

/* Rows of x are those of q, k and v behind each other, in heads of one depth. */
static tn_status is_packed(const tn_match *match) {
    const int64_t q = tn_match_extent(match, "q", 2), k = tn_match_extent(match, "k", 2);
    double q_heads = 0, kv_heads = 0, axis = 0;
    if (tn_match_rank(match, "x") != 3 || tn_match_rank(match, "q") != 3)
        return match->refuse(match, "not of rank 3");
    if (tn_match_number(match, "q_heads", 0, &q_heads) != TN_OK || !(q_heads >= 1) ||
        tn_match_number(match, "kv_heads", 0, &kv_heads) != TN_OK || !(kv_heads >= 1))
        return match->refuse(match, "the heads are not counted");
    if (q < 1 || k < 1 || tn_match_extent(match, "v", 2) != k ||
        tn_match_extent(match, "x", 2) != q + 2 * k || (double)q / q_heads != (double)k / kv_heads)
        return match->refuse(match, "rows are not those of q, k and v, in heads of one depth");
    if (tn_match_number(match, "axis", 0, &axis) == TN_OK && axis != 2 && axis != -1)
        return match->refuse(match, "not cut along the elements");
    /* Attention takes a mask of fewer keys for one that ends early. */
    if (match->tensor(match, "mask") && !match->is_equal_extent(match, "mask", -1, "x", 1))
        return match->refuse(match, "the mask has other keys than the rows");
    return TN_OK;
}

#define PACKED_FIELDS "q_num_heads=?q_heads, kv_num_heads=?kv_heads," FIELDS
#define PACKED_ATTEND "y = Tenon::PackedQkvAttention(x, mask, " PACKED_FIELDS ")"
#define ATTEND_ROWS   "y = Attention(q, k, v, mask?, " PACKED_FIELDS ")"
static const char *const packed_cases[] = {
    "x=f32[2,4,36] sizes=i64[3]{12,12,12} axis=2 q_heads=3 kv_heads=3 mask=f32[4,4] scale=0.4",
    "x=f32[2,4,32] sizes=i64[3]{16,8,8} axis=-1 q_heads=4 kv_heads=2 causal=1 softcap=3.0"};
/* Cut along the positions; heads of values that are wider than those of keys. */
static const char *const packed_misses[] = {
    "x=f32[2,12,12] sizes=i64[3]{4,4,4} axis=1 q_heads=3 kv_heads=3 scale=0.4",
    "x=f32[2,4,32] sizes=i64[3]{8,8,16} axis=2 q_heads=2 kv_heads=2 scale=0.4"};
AROUND(tn_attention_packed_rewrite, "attention.packed",
       "queries, keys and values that are split out of one tensor",
       .pattern = "q, k, v = Split(x, sizes?, axis=?axis, num_outputs=?parts);" ATTEND_ROWS,
       .replacement = PACKED_ATTEND, .guard = is_packed, TN_REWRITE_CASES(packed_cases),
       TN_REWRITE_MISSES(packed_misses));

static int is_number(const tn_match *match, const char *name, double wanted) {
    double number = 0;
    return tn_match_number(match, name, 0, &number) == TN_OK && number == wanted;
}

/* Each part begins where the one before it ends. */
static tn_status are_slices(const tn_match *match) {
    static const char *const axes[] = {"axis_q", "axis_k", "axis_v"};
    static const char *const steps[] = {"step_q", "step_k", "step_v"};
    const tn_status status = is_packed(match);
    if (status != TN_OK) return status;
    for (int i = 0; i < 3; i++) {
        if (!is_number(match, axes[i], 2) && !is_number(match, axes[i], -1))
            return match->refuse(match, "not cut along the elements");
        if (match->value(match, steps[i]) && !is_number(match, steps[i], 1))
            return match->refuse(match, "not every element is taken");
    }
    const int64_t q = tn_match_extent(match, "q", 2), k = tn_match_extent(match, "k", 2);
    if (!is_number(match, "from_q", 0) || !is_number(match, "from_k", (double)q) ||
        !is_number(match, "from_v", (double)(q + k)))
        return match->refuse(match, "q, k and v do not begin behind each other");
    return TN_OK;
}

#define SLICE(of)                                                                                  \
    of " = Slice(x, ?from_" of "[], ?to_" of "[], ?axis_" of "[], ?step_" of "[])"                 \
       " | Slice(x, ?from_" of "[], ?to_" of "[], ?axis_" of "[]);"
#define PARTS(last)                                                                                \
    "from_q=[0] to_q=[12] from_k=[12] to_k=[24] from_v=[24] to_v=[36] axis_k=[-1] axis_v=[2] "     \
    "step_q=[1] step_k=[1] step_v=[1] axis_q=[" last "] "
static const char *const sliced_cases[] = {
    "x=f32[2,4,36] " PARTS("2") "q_heads=3 kv_heads=3 mask=f32[4,4] scale=0.4"};
/* Parts in another order. */
static const char *const sliced_misses[] = {
    "x=f32[2,4,36] from_q=[12] to_q=[24] from_k=[0] to_k=[12] from_v=[24] to_v=[36] axis_q=[2] "
    "axis_k=[2] axis_v=[2] step_q=[1] step_k=[1] step_v=[1] q_heads=3 kv_heads=3 scale=0.4"};
AROUND(tn_attention_sliced_rewrite, "attention.sliced",
       "queries, keys and values that are sliced out of one tensor",
       .pattern = SLICE("q") SLICE("k") SLICE("v") ATTEND_ROWS, .replacement = PACKED_ATTEND,
       .guard = are_slices, TN_REWRITE_CASES(sliced_cases), TN_REWRITE_MISSES(sliced_misses));
