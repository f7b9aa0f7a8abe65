/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaled dot-product attention as exporters write it: two products around a softmax. They differ in
 * where the scale stands (PyTorch puts its root on both sides, Transformers a quotient or a product
 * behind or before the product), in how the keys come to lie transposed, and in how the mask
 * enters. Each of four forms of the keys is a rewrite with each of four masks; heads and
 * caches around them are those of rewrites_around.c.
 */
#include "attention/rewrites.h"
#include "kit/operator/layer.h"

/* An axis of a mask, counted from the end, is that of the scores, or 1 but for the keys: there
 * Attention takes 1 for a mask that ends with the first key. */
static int fits_scores(const tn_match *match, const char *mask, int32_t axis) {
    if (axis == -1) return (int)match->is_equal_extent(match, mask, axis, "kt", axis);
    return tn_match_extent(match, mask, axis) == 1 ||
           match->is_equal_extent(match, mask, axis, "q", axis);
}

/* The mask broadcasts to the scores, and not the other way. Inputs of rank 3 are batches of one
 * head: a mask of theirs has no batch. */
static tn_status check_mask(const tn_match *match, const char *mask, int32_t rank) {
    const int32_t mask_rank = tn_match_rank(match, mask);
    if (!match->tensor(match, mask)) return TN_OK;
    if (mask_rank < 1 || mask_rank > rank)
        return match->refuse(match, "the mask has no axis, or more than the scores");
    for (int32_t axis = -1; axis >= -mask_rank; axis--)
        if (!fits_scores(match, mask, axis))
            return match->refuse(match, "the mask does not broadcast to the scores");
    if (rank == 3 && mask_rank == 3 && tn_match_extent(match, mask, 0) != 1)
        return match->refuse(match, "the mask has a batch, and the scores have no heads");
    return TN_OK;
}

/* One batch of heads, so that nothing broadcasts; the softmax is along the last axis; the factors
 * of q, of the keys and of the scores become one. */
static tn_status is_attention(const tn_match *match) {
    const int32_t rank = tn_match_rank(match, "q");
    const double axis = tn_match_number_or(match, "axis", -1),
                 divisor = tn_match_number_or(match, "divisor", 1);
    if ((rank != 3 && rank != 4) || rank != tn_match_rank(match, "kt") ||
        rank != tn_match_rank(match, "v"))
        return match->refuse(match, "q, k and v are not of rank 3 or 4 alike");
    for (int32_t i = 0; i + 2 < rank; i++)
        if (!match->is_equal_extent(match, "q", i, "kt", i) ||
            !match->is_equal_extent(match, "q", i, "v", i))
            return match->refuse(match, "q, k and v may broadcast");
    if (match->tensor(match, "q")->type != match->tensor(match, "v")->type)
        return match->refuse(match, "q and v are of two types");
    if (axis != -1 && axis != rank - 1) return match->refuse(match, "the softmax has another axis");
    if (divisor == 0) return match->refuse(match, "the divisor is 0");
    const tn_status status = tn_match_set_integer(match, "heads", rank == 3);
    if (status != TN_OK) return status;
    return tn_match_set_number(match, "scale",
                               tn_match_number_or(match, "of_q", 1) *
                                   tn_match_number_or(match, "of_k", 1) *
                                   tn_match_number_or(match, "factor", 1) / divisor);
}

/* What hides a key is so low that no score shows beside it: the sum of both is the number itself.
 * Anything higher would leave differences where a query sees no key. */
static tn_status is_low(const tn_match *match) {
    const double highest = -1e30;
    if (match->value(match, "least") && !(tn_match_number_or(match, "least", 0) <= highest))
        return match->refuse(match, "what stands for a hidden key is above -1e30");
    return TN_OK;
}

static tn_status check_all(const tn_match *match) {
    static const char *const masks[] = {"mask", "seen", "hidden"};
    tn_status status = is_attention(match);
    for (int i = 0; i < 3 && status == TN_OK; i++)
        status = check_mask(match, masks[i], tn_match_rank(match, "q"));
    return status == TN_OK ? is_low(match) : status;
}

/* ----------------------------------------------------------------------------------------------
 * the keys */

/* kt is k with its last two axes exchanged. */
static tn_status of_transposed(const tn_match *match) {
    const int32_t rank = tn_match_rank(match, "k");
    double axis = -1;
    for (int32_t i = 0; i < rank; i++) {
        const int32_t wanted = i + 2 < rank ? i : 2 * rank - 3 - i;
        if (tn_match_number(match, "perm", (uint64_t)i, &axis) != TN_OK || axis != wanted)
            return match->refuse(match, "other axes of k than the last two are exchanged");
    }
    return check_all(match);
}

/* kt is k with its last two axes exchanged, by way of one batch of matrices. */
static tn_status of_flattened(const tn_match *match) {
    if (tn_match_rank(match, "k") != 4 || tn_match_rank(match, "f") != 3 ||
        tn_match_rank(match, "kt") != 4)
        return match->refuse(match, "k is not of rank 4, or not of rank 3 between");
    for (int32_t i = 0; i < 2; i++)
        if (!match->is_equal_extent(match, "k", i, "kt", i) ||
            !match->is_equal_extent(match, "k", i + 2, "kt", 3 - i) ||
            !match->is_equal_extent(match, "k", i + 2, "f", i + 1))
            return match->refuse(match, "the keys are cut otherwise than into their matrices");
    return check_all(match);
}

/* kt comes from anywhere: its last two axes are exchanged. */
static tn_status of_any(const tn_match *match) {
    static const int64_t orders[2][4] = {{0, 2, 1}, {0, 1, 3, 2}};
    const int32_t rank = tn_match_rank(match, "q");
    tn_status status = check_all(match);
    if (status != TN_OK) return status;
    const tn_attribute order = {.size = sizeof order,
                                .type = TN_FIELD_I64S,
                                .name = "order",
                                .count = (uint64_t)rank,
                                .items = orders[rank - 3]};
    return match->set(match, &order);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

#define SCORES                                                                                     \
    "s = Mul(MatMul(q, kt), ?factor) | Div(MatMul(q, kt), ?divisor)"                               \
    " | MatMul(Mul(q, ?of_q), Mul(kt, ?of_k)) | MatMul(Mul(q, ?of_q), kt)"                         \
    " | MatMul(Div(q, ?divisor), kt) | MatMul(q, kt);"
/* Newer exporters have zeros where a query sees no key, as Attention has. */
#define VALUES     " y = MatMul(p, v) | MatMul(Where(IsNaN(p), 0, p), v)"
#define ATTEND(of) "y = Attention(q, " of ", scale=$scale, q_num_heads=$heads, kv_num_heads=$heads)"

/* Older Transformers expand the mask to the scores, by way of numbers where Expand takes no
 * booleans. */
#define EXPANDED                                                                                   \
    "(Cast(Expand(Cast(hidden, to=f32), Shape(s)), to=bool) | Expand(hidden, Shape(s)) | hidden)"

#define SEEN      "seen=bool[4,5]{1,0,1,1,0,0,1,0,0,0,1,1,1,1,1,0,0,0,0,1} "
#define HIDDEN    "hidden=bool[1,4,5]{1,0,1,1,0,0,1,0,0,0,1,1,1,1,1,0,0,0,0,1} "
#define Q         "q=f32[2,3,4,8] v=f32[2,3,5,6] factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 axis=-1 "
#define Q_FLAT    "q=f32[6,4,8] v=f32[6,5,6] factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 axis=2 "
#define Q_SMALL   "q=f32[2,3,5,5] v=f32[2,3,5,5] factor=0.5 divisor=2.0 of_q=0.6 of_k=0.7 "
#define ANY_KEYS  "kt=f32[2,3,8,5] "
#define LAST_KEYS "k=f32[2,3,5,8] perm=[0,1,3,2] "
#define HEAD_KEYS "k=f32[2,5,3,8] "
#define FLAT_KEYS "k=f32[2,3,5,8] cut=i64[3]{-1,5,8} join=i64[4]{2,3,8,5} "

/* A rewrite for each kind of mask: none, one that is added, and those of booleans. */
#define WITH_KEYS(symbol, name, keys, before, of, check, q, these)                                 \
    static const char *const symbol##_cases[] = {q these};                                         \
    static const char *const symbol##_added_cases[] = {q these "mask=f32[4,5]",                    \
                                                       q these "mask=f32[1,1,5]"};                 \
    static const char *const symbol##_seen_cases[] = {q these SEEN "least=-1e38"};                 \
    static const char *const symbol##_seen_misses[] = {q these SEEN "least=-1e4"};                 \
    static const char *const symbol##_hidden_cases[] = {q these HIDDEN "least=-1e38"};             \
    static const char *const symbol##_hidden_misses[] = {q these HIDDEN "least=-1e4"};             \
    TN_REWRITE(symbol, "attention.products" name, "softmax(scale * q k^T) v",                      \
               .pattern = keys SCORES "p = Softmax(s, axis=?axis);" VALUES,                        \
               .replacement = before ATTEND(of ", v"), .guard = check,                             \
               TN_REWRITE_CASES(symbol##_cases), TN_REWRITE_MISSES(symbol##_misses));              \
    TN_REWRITE(symbol##_added, "attention.products.masked" name,                                   \
               "softmax(scale * q k^T + mask) v",                                                  \
               .pattern = keys SCORES "p = Softmax(Add(s, mask), axis=?axis);" VALUES,             \
               .replacement = before ATTEND(of ", v, mask"), .guard = check,                       \
               TN_REWRITE_CASES(symbol##_added_cases), TN_REWRITE_MISSES(symbol##_added_misses));  \
    TN_REWRITE(symbol##_seen, "attention.products.seen" name,                                      \
               "softmax(where(seen, scale * q k^T, lowest)) v",                                    \
               .pattern = keys SCORES "p = Softmax(Where(seen, s, ?least), axis=?axis);" VALUES,   \
               .replacement = before "m = Where(seen, 0, ?least);" ATTEND(of ", v, m"),            \
               .guard = check, TN_REWRITE_CASES(symbol##_seen_cases),                              \
               TN_REWRITE_MISSES(symbol##_seen_misses));                                           \
    TN_REWRITE(                                                                                    \
        symbol##_hidden, "attention.products.hidden" name,                                         \
        "softmax(where(hidden, lowest, scale * q k^T)) v",                                         \
        .pattern = keys SCORES "p = Softmax(Where(" EXPANDED ", ?least, s), axis=?axis);" VALUES,  \
        .replacement = before "m = Where(hidden, ?least, 0);" ATTEND(of ", v, m"), .guard = check, \
        TN_REWRITE_CASES(symbol##_hidden_cases), TN_REWRITE_MISSES(symbol##_hidden_misses))

/* Another axis of the softmax; heads that broadcast; a mask with a batch of batches. */
#define MISSES(symbol, q_small, keys_small, q_few, these)                                          \
    static const char *const symbol##_misses[] = {q_small keys_small "axis=2", q_few these};       \
    static const char *const symbol##_added_misses[] = {q_small keys_small "axis=2 mask=f32[5,5]", \
                                                        q_few these "mask=f32[4,5]"}
#define Q_FEW "q=f32[2,1,4,8] v=f32[2,3,5,6] factor=0.35 divisor=2.8 of_q=0.6 of_k=0.7 axis=-1 "
MISSES(last, Q_SMALL, "k=f32[2,3,5,5] perm=[0,1,3,2] ", Q_FEW, LAST_KEYS);
MISSES(head, Q_SMALL, "k=f32[2,5,3,5] ", Q_FEW, HEAD_KEYS);
MISSES(flat, Q_SMALL, "k=f32[2,3,5,5] cut=i64[3]{-1,5,5} join=i64[4]{2,3,5,5} ", Q_FEW, FLAT_KEYS);
MISSES(any, Q_SMALL, "kt=f32[2,3,5,5] ", Q_FEW, ANY_KEYS);

WITH_KEYS(last, "", "kt = Transpose(k, perm=?perm);", "", "k", of_transposed, Q, LAST_KEYS);
WITH_KEYS(head, ".heads", "kt = Transpose(k, perm=[0, 2, 3, 1]);",
          "t = Transpose(k, perm=[0, 2, 1, 3]);", "t", check_all, Q, HEAD_KEYS);
WITH_KEYS(flat, ".matrices",
          "f = Reshape(k, cut, ...); kt = Reshape(Transpose(f, perm=[0, 2, 1]), join, ...);", "",
          "k", of_flattened, Q, FLAT_KEYS);
WITH_KEYS(any, ".any", "", "t = Transpose(kt, perm=$order);", "t", of_any, Q, ANY_KEYS);

const tn_rewrite *const tn_attention_rewrites[21] = {&last,
                                                     &last_added,
                                                     &last_seen,
                                                     &last_hidden,
                                                     &head,
                                                     &head_added,
                                                     &head_seen,
                                                     &head_hidden,
                                                     &flat,
                                                     &flat_added,
                                                     &flat_seen,
                                                     &flat_hidden,
                                                     &any,
                                                     &any_added,
                                                     &any_seen,
                                                     &any_hidden,
                                                     &tn_attention_rows_rewrite,
                                                     &tn_attention_groups_rewrite,
                                                     &tn_attention_past_rewrite,
                                                     &tn_attention_packed_rewrite,
                                                     &tn_attention_sliced_rewrite};
