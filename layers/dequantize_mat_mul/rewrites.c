/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMul or Gemm whose weights come out of DequantizeLinear, by blocks or of 4 bits or of 8-bit
 * floats: the guard writes the weights down as DequantizeMatMul has them, in 4 bits where they fit.
 */
#include "dequantize_mat_mul/dequantize_mat_mul.h"
#include "kit/math/small.h"

/* The constants of a match. Weights are depth x columns, or the other way round in the file. */
typedef struct source {
    const tn_tensor *w, *scale, *zero; /* zero null: none */
    bool is_turned;
    int64_t depth, columns, block, blocks;
    bool is_blocked; /* else there is one scale, or one a column */
} source;

static bool is_one(const tn_tensor *tensor) {
    return tn_element_count(tensor) == 1;
}

static bool has_scales(const source *of, const tn_tensor *tensor) {
    if (!of->is_blocked)
        return is_one(tensor) || (tensor->rank == 1 && tensor->shape[0] == of->columns);
    const int64_t rows = of->is_turned ? of->columns : of->blocks;
    const int64_t columns = of->is_turned ? of->blocks : of->columns;
    return tensor->rank == 2 && tensor->shape[0] == rows && tensor->shape[1] == columns;
}

static bool is_type(tn_type type) {
    return type == TN_U8 || type == TN_I8 || type == TN_U4 || type == TN_I4 ||
           (type >= TN_F8E4M3 && type <= TN_F8E5M2FNUZ);
}

static tn_status read_source(const tn_match *match, bool is_turned, source *out_source) {
    source of = {.w = match->tensor(match, "w"),
                 .scale = match->tensor(match, "scale"),
                 .zero = match->tensor(match, "zero"),
                 .is_turned = is_turned};
    if (!of.w || !of.w->data || of.w->rank != 2 || !is_type(of.w->type) || !of.scale ||
        !of.scale->data || of.scale->type != TN_F32 || (of.zero && !of.zero->data))
        return match->refuse(match, "the weights are no constant matrix of 8 or 4 bits");
    of.depth = of.w->shape[is_turned];
    of.columns = of.w->shape[!is_turned];
    if (of.depth < 1 || of.columns < 1) return match->refuse(match, "there are no weights");
    const double block = tn_match_number_or(match, "block", 0);
    const double axis = tn_match_number_or(match, "axis", 1);
    const bool is_along_depth = (axis < 0 ? axis + 2 : axis) == (double)is_turned;
    of.is_blocked = block > 0;
    of.block = of.is_blocked && block < (double)of.depth ? (int64_t)block : of.depth;
    of.blocks = of.depth / of.block + (of.depth % of.block != 0);
    if (!of.is_blocked && (of.w->type == TN_U8 || of.w->type == TN_I8))
        return match->refuse(match, "integers of 8 bits without blocks become floats at the build");
    if (is_along_depth != of.is_blocked && !(is_one(of.scale) && !of.is_blocked))
        return match->refuse(match, "scales are not of blocks of rows nor of columns");
    if (!has_scales(&of, of.scale) || (of.zero && !has_scales(&of, of.zero)))
        return match->refuse(match, "the scales are not those of the blocks");
    *out_source = of;
    return TN_OK;
}

/* Where the scale of a block and a column lies in the file. */
static int64_t scale_at(const source *of, const tn_tensor *tensor, int64_t block, int64_t column) {
    if (!of->is_blocked) return is_one(tensor) ? 0 : column;
    return of->is_turned ? column * of->blocks + block : block * of->columns + column;
}

/* Whether integers of a tensor are those of 4 bits without a sign. */
static bool is_narrow(const tn_tensor *tensor) {
    const uint8_t *bytes = tensor->data;
    if (tensor->type != TN_U8) return false;
    for (uint64_t i = 0; i < tensor->bytes; i++)
        if (bytes[i] > 15) return false;
    return true;
}

/* Integers of 4 bits need an even number of columns, so that each row begins at a byte. */
static tn_type stored_type(const source *of) {
    const tn_type type = of->w->type;
    const bool is_even = of->columns % 2 == 0;
    if (type == TN_U8 && is_even && is_narrow(of->w) && (!of->zero || is_narrow(of->zero)))
        return TN_U4;
    if (is_even) return type;
    return type == TN_U4 ? TN_U8 : type == TN_I4 ? TN_I8 : type;
}

static void store(tn_tensor *to, int64_t at, const tn_tensor *from, int64_t from_at) {
    if (to->type == TN_U4 || to->type == TN_I4)
        tn_small_store_integer(to->data, to->type, at,
                               (int64_t)tn_dequantize_stored(from, from_at));
    else if (from->type == to->type)
        ((uint8_t *)to->data)[at] = ((const uint8_t *)from->data)[from_at];
    else
        ((uint8_t *)to->data)[at] = (uint8_t)(int64_t)tn_dequantize_stored(from, from_at);
}

/* Sets $name to a matrix of `rows` rows of as many columns as the weights have; `from` says where
 * in the file an element lies. */
static tn_status set_matrix(const tn_match *match, const char *name, const source *of, tn_type type,
                            int64_t rows, const tn_tensor *from) {
    const tn_host *host = match->host;
    int64_t shape[2] = {rows, of->columns};
    const int64_t count = rows * of->columns;
    const bool is_small = type == TN_U4 || type == TN_I4;
    const uint64_t bytes = type == TN_F32 ? (uint64_t)count * sizeof(float)
                           : is_small     ? (uint64_t)(count + 1) / 2
                                          : (uint64_t)count;
    tn_tensor to = {.size = sizeof(to),
                    .type = type,
                    .rank = 2,
                    .shape = shape,
                    .bytes = bytes,
                    .data = host->allocate(host, bytes, 64)};
    if (!to.data) return match->refuse(match, "there is no memory for the weights");
    memset(to.data, 0, bytes);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t n = 0; n < of->columns; n++) {
            const int64_t in_file = of->is_turned ? n * of->depth + row : row * of->columns + n;
            const int64_t at = from == of->w ? in_file : scale_at(of, from, row, n);
            if (!from->data) break; /* no zero points: all are 0 */
            if (type == TN_F32)
                ((float *)to.data)[row * of->columns + n] = ((const float *)from->data)[at];
            else
                store(&to, row * of->columns + n, from, at);
        }
    const tn_attribute value = {
        .size = sizeof(value), .type = TN_FIELD_TENSOR, .name = name, .tensor = &to};
    const tn_status status = match->set(match, &value);
    host->deallocate(host, to.data);
    return status;
}

static tn_status check_bias(const tn_match *match, const source *of) {
    const tn_tensor *bias = match->tensor(match, "bias");
    if (!bias || (bias->type == TN_F32 && bias->rank == 1 && bias->shape[0] == of->columns))
        return TN_OK;
    return match->refuse(match, "the bias is not one number a column");
}

static tn_status set_all(const tn_match *match, bool is_turned) {
    source of;
    tn_status status = read_source(match, is_turned, &of);
    if (status == TN_OK) status = check_bias(match, &of);
    if (status != TN_OK) return status;
    const tn_type type = stored_type(&of);
    status = set_matrix(match, "weights", &of, type, of.depth, of.w);
    if (status == TN_OK) status = set_matrix(match, "scales", &of, TN_F32, of.blocks, of.scale);
    if (status == TN_OK) status = tn_match_set_integer(match, "size", of.block);
    const tn_tensor none = {.size = sizeof(none), .type = type};
    if (status == TN_OK)
        status = set_matrix(match, "zeros", &of, type, of.blocks, of.zero ? of.zero : &none);
    return status;
}

static tn_status is_as_stored(const tn_match *match) {
    return set_all(match, false);
}
static tn_status is_turned(const tn_match *match) {
    return set_all(match, true);
}

#define WEIGHTS                                                                                    \
    "DequantizeLinear@21(w:const, scale:const, zero?:const, axis=?axis, block_size=?block, ...)"
#define REPLACEMENT(bias)                                                                          \
    "y = Tenon::DequantizeMatMul(a, $weights, $scales, $zeros" bias ", block_size=$size)"
static const char *const cases[] = {
    "a=f32[2,9,8] w=u8[8,6] scale=f32[4,6] zero=u8[4,6] axis=0 block=2",
    "a=f32[17,8] w=i4[8,5] scale=f32[3,5] axis=-2 block=3",
    "a=f32[16,8] w=u4[8,4] scale=f32[4] zero=u4[4] axis=1 block=0",
    "a=f32[17,8] w=f8e4m3[8,6] scale=f32[]{0.5} axis=1 block=0"};
static const char *const misses[] = {"a=f32[17,8] w=i8[8,6] scale=f32[6] axis=1 block=0",
                                     "a=f32[17,8] w=i4[8,6] scale=f32[8,3] axis=1 block=2"};
static const char *const turned_cases[] = {
    "a=f32[2,9,8] w=u8[6,8] scale=f32[6,4] zero=u8[6,4] axis=1 block=2",
    "a=f32[17,8] w=i4[5,8] scale=f32[5,3] axis=-1 block=3",
    "a=f32[17,8] w=f8e5m2[6,8] scale=f32[6] axis=0 block=0"};
static const char *const turned_misses[] = {"a=f32[17,8] w=i8[6,8] scale=f32[6] axis=0 block=0",
                                            "a=f32[17,8] w=i4[6,8] scale=f32[3,8] axis=0 block=2"};
TN_REWRITE(as_stored, "dequantize.mat_mul",
           "MatMul with weights of 4 bits, of blocks, or of 8-bit floats",
           .pattern = "y = MatMul(a, " WEIGHTS ")", .replacement = REPLACEMENT(""),
           .guard = is_as_stored, TN_REWRITE_CASES(cases), TN_REWRITE_MISSES(misses));
TN_REWRITE(turned, "dequantize.mat_mul.transposed", "the same, stored column after column",
           .pattern = "y = MatMul(a, Transpose(" WEIGHTS ", perm=[1, 0]))",
           .replacement = REPLACEMENT(""), .guard = is_turned, TN_REWRITE_CASES(turned_cases),
           TN_REWRITE_MISSES(turned_misses));

static const char *const gemm_cases[] = {
    "a=f32[9,8] w=u8[8,6] scale=f32[4,6] zero=u8[4,6] axis=0 block=2 bias=f32[6]",
    "a=f32[17,8] w=f8e4m3[8,6] scale=f32[]{0.5} axis=1 block=0"};
static const char *const gemm_misses[] = {
    "a=f32[9,8] w=u8[8,6] scale=f32[4,6] axis=0 block=2 bias=f32[9,1]"};
static const char *const gemm_turned_cases[] = {
    "a=f32[3,8] w=i4[5,8] scale=f32[5,3] axis=-1 block=3 bias=f32[5]",
    "a=f32[1,8] w=f8e5m2[6,8] scale=f32[6] axis=0 block=0"};
static const char *const gemm_turned_misses[] = {
    "a=f32[9,8] w=u8[6,8] scale=f32[6,4] axis=1 block=2 bias=f32[1,6]"};
TN_REWRITE(gemm, "dequantize.gemm", "the same of Gemm, and its bias",
           .pattern = "y = Gemm(a, " WEIGHTS ", bias?)", .replacement = REPLACEMENT(", bias"),
           .guard = is_as_stored, TN_REWRITE_CASES(gemm_cases), TN_REWRITE_MISSES(gemm_misses));
TN_REWRITE(gemm_turned, "dequantize.gemm.transposed", "the same, stored column after column",
           .pattern = "y = Gemm(a, " WEIGHTS ", bias?, transB=1)",
           .replacement = REPLACEMENT(", bias"), .guard = is_turned,
           TN_REWRITE_CASES(gemm_turned_cases), TN_REWRITE_MISSES(gemm_turned_misses));

const tn_rewrite *const tn_dequantize_mat_mul_rewrites[4] = {&as_stored, &turned, &gemm,
                                                             &gemm_turned};
