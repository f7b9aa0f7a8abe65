/* SPDX-License-Identifier: Apache-2.0 */
/* What only selects, moves and joins elements; included by rewrites.c alone. */

static bool is_same_scale(const tn_match_scale *a, const tn_match_scale *b) {
    return a->type == b->type && a->zero == b->zero && a->scale == b->scale;
}

static tn_status refuse_scales(const tn_match *match) {
    return match->refuse(match, "the output has another scale or zero point than the input");
}

static tn_status is_selection(const tn_match *match) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (!is_same_scale(&x, &y)) return refuse_scales(match);
    return TN_OK;
}

#define STORED(type)                                                                               \
    "x_scale=f32[]{0.5} x_zero=" type "[]{3} y_scale=f32[]{0.5} y_zero=" type "[]{3} "
#define OTHER(type)                                                                                \
    "x_scale=f32[]{0.5} x_zero=" type "[]{3} y_scale=f32[]{0.25} y_zero=" type "[]{3} "
/* `before` follows the tensor in the pattern, `after` in the replacement. */
#define SELECTION(symbol, of_name, op, more, of_cases, of_misses)                                  \
    SELECTION_AS(symbol, of_name, op, more, more, of_cases, of_misses)
#define SELECTION_AS(symbol, of_name, op, before, after, of_cases, of_misses)                      \
    TN_REWRITE(symbol, "quantized." of_name, op " of 8-bit integers as they are",                  \
               .pattern = "v = " op "(" TN_MATCH_REAL("x") before "); " TN_MATCH_STORED("y", "v"), \
               .replacement = "y = " op "(x" after ")", .guard = is_selection,                     \
               TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))
static const char *const pool_cases[] = {
    "x=u8[1,2,7,9] " STORED("u8") "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"};
static const char *const pool_misses[] = {
    "x=u8[1,2,7,9] " OTHER("u8") "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"};
SELECTION(max_pool, "max_pool", "MaxPool",
          ", auto_pad=?auto_pad, ceil_mode=?ceil_mode, kernel_shape=?kernel_shape, "
          "strides=?strides, dilations=?dilations, pads=?pads",
          pool_cases, pool_misses);
static const char *const reshape_cases[] = {"x=i8[2,3,4] shape=i64[2]{6,-1} " STORED("i8")};
static const char *const reshape_misses[] = {"x=i8[2,3,4] shape=i64[2]{6,-1} " OTHER("i8")};
SELECTION(reshape, "reshape", "Reshape", ", shape", reshape_cases, reshape_misses);
static const char *const flatten_cases[] = {"x=u8[2,3,4] axis=2 " STORED("u8")};
static const char *const flatten_misses[] = {"x=u8[2,3,4] axis=2 " OTHER("u8")};
SELECTION(flatten, "flatten", "Flatten", ", axis=?axis", flatten_cases, flatten_misses);
static const char *const transpose_cases[] = {"x=u8[2,3,4] perm=[2,0,1] " STORED("u8")};
static const char *const transpose_misses[] = {"x=u8[2,3,4] perm=[2,0,1] " OTHER("u8")};
SELECTION(transpose, "transpose", "Transpose", ", perm=?perm", transpose_cases, transpose_misses);

#define SELECTION_OF(symbol, of_name, op, before, after, type, shape, values)                      \
    static const char *const symbol##_cases[] = {"x=" type shape " " values " " STORED(type)};     \
    static const char *const symbol##_misses[] = {"x=" type shape " " values " " OTHER(type)};     \
    SELECTION_AS(symbol, of_name, op, before, after, symbol##_cases, symbol##_misses)
SELECTION_OF(squeeze, "squeeze", "Squeeze@13", ", axes?", ", axes", "u8", "[2,1,3]",
             "axes=i64[1]{1}");
SELECTION_OF(unsqueeze, "unsqueeze", "Unsqueeze@13", ", axes", ", axes", "u8", "[2,3]",
             "axes=i64[1]{1}");
SELECTION_OF(slice, "slice", "Slice@10", ", starts, ends, axes?, steps?",
             ", starts, ends, axes, steps", "i8", "[4,5,6]",
             "starts=i64[2]{1,4} ends=i64[2]{3,0} axes=i64[2]{0,2} steps=i64[2]{1,-2}");
SELECTION_OF(gather, "gather", "Gather", ", indices, axis=?axis", ", indices, axis=?axis", "u8",
             "[4,5]", "indices=i64[3]{2,0,3} axis=0");
SELECTION_OF(expand, "expand", "Expand", ", shape", ", shape", "u8", "[4,1]",
             "shape=i64[3]{2,4,3}");
SELECTION_OF(depth_to_space, "depth_to_space", "DepthToSpace@11",
             ", blocksize=?blocksize, mode=?mode", ", blocksize=?blocksize, mode=?mode", "u8",
             "[1,8,2,3]", "blocksize=2");
SELECTION_OF(space_to_depth, "space_to_depth", "SpaceToDepth", ", blocksize=?blocksize",
             ", blocksize=?blocksize", "u8", "[1,2,4,6]", "blocksize=2");

/* Padding with 0 is padding with the zero point; other numbers are left alone. */
static tn_status is_pad(const tn_match *match) {
    const tn_tensor *value = match->tensor(match, "value");
    const tn_status status = is_selection(match);
    if (status != TN_OK) return status;
    if (value && (!value->data || tn_element_count(value) != 1 || tn_element_f64(value, 0) != 0))
        return match->refuse(match, "what it pads with is not 0");
    return tn_match_set_zero(match, "xz", "x");
}

#define PADDED "x=u8[2,3,4] pads=i64[6]{0,1,2,0,1,0} "
#define PAD_REWRITE(symbol, of_name, version, before, after, of_cases, of_misses)                  \
    TN_REWRITE(symbol, "quantized." of_name, "Pad of 8-bit integers with their zero point",        \
               .pattern = "v = Pad@" version "(" TN_MATCH_REAL(                                    \
                   "x") ", pads, value?:const" before ", mode=?mode); " TN_MATCH_STORED("y", "v"), \
               .replacement = "y = Pad(x, pads, $xz" after ", mode=?mode)", .guard = is_pad,       \
               TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))
static const char *const pad_cases[] = {PADDED STORED("u8"),
                                        PADDED "value=f32[]{0} mode=edge " STORED("u8")};
static const char *const pad_misses[] = {PADDED OTHER("u8"), PADDED "value=f32[]{1} " STORED("u8")};
PAD_REWRITE(pad, "pad", "11-17", "", "", pad_cases, pad_misses);
PAD_REWRITE(pad_axes, "pad.axes", "18", ", axes?", ", axes", pad_cases, pad_misses);

/* The nearest elements are elements of the input but where a crop reaches beyond it. */
static tn_status is_nearest(const tn_match *match) {
    const tn_attribute *how = match->value(match, "how");
    if (how && how->s && strcmp(how->s, "tf_crop_and_resize") == 0)
        return match->refuse(match, "it crops");
    return is_selection(match);
}

#define NEAREST_FIELDS "mode=nearest, coordinate_transformation_mode=?how, nearest_mode=?nearest"
#define RESIZE_REWRITE(symbol, of_name, version, more)                                             \
    TN_REWRITE(symbol, "quantized." of_name, "Resize of 8-bit integers to the nearest ones",       \
               .pattern = "v = Resize@" version                                                    \
                          "(" TN_MATCH_REAL("x") ", roi?:const, scales?:const, sizes?"             \
                                                 ", " NEAREST_FIELDS more                          \
                                                 "); " TN_MATCH_STORED("y", "v"),                  \
               .replacement = "y = Resize(x, roi, scales, sizes, " NEAREST_FIELDS more ")",        \
               .guard = is_nearest, TN_REWRITE_CASES(resize_cases),                                \
               TN_REWRITE_MISSES(resize_misses))
#define RESIZED "x=u8[1,2,3,4] scales=f32[4]{1,1,2,1.5} "
static const char *const resize_cases[] = {RESIZED STORED("u8"),
                                           RESIZED "how=asymmetric nearest=floor " STORED("u8")};
static const char *const resize_misses[] = {RESIZED OTHER("u8")};
RESIZE_REWRITE(resize, "resize", "11-17", "");
RESIZE_REWRITE(resize_axes, "resize.axes", "18", ", axes=?axes, keep_aspect_ratio_policy=?policy");

/* ----------------------------------------------------------------------------------------------
 * what has several inputs or results: names are "a" and those that follow */

/* Of `inputs` named "a", ...: whether they have one type, and one scale where `is_one` says so. */
static tn_status are_joined(const tn_match *match, uint32_t count, bool is_one) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "y", &y);
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        const char name[2] = {(char)('a' + i), 0};
        status = tn_match_scale_read(match, name, &x);
        if (status == TN_OK && (is_one ? !is_same_scale(&x, &y) : x.type != y.type))
            return refuse_scales(match);
    }
    return status == TN_OK && !is_one ? set_all(match, y.type) : status;
}

#define JOINED_SCALE "_scale=f32[]{0.5} "
#define INPUTS_2     "a=u8[2,3] a" JOINED_SCALE "b=u8[2,1] b" JOINED_SCALE
#define INPUTS_3     INPUTS_2 "c=u8[2,3] c" JOINED_SCALE
#define INPUTS_4     INPUTS_3 "d=u8[2,3] d" JOINED_SCALE
#define INPUTS_5     INPUTS_4 "e=u8[2,3] e" JOINED_SCALE
#define FLOATS_2     TN_MATCH_REAL("a") ", " TN_MATCH_REAL("b")
#define FLOATS_3     FLOATS_2 ", " TN_MATCH_REAL("c")
#define FLOATS_4     FLOATS_3 ", " TN_MATCH_REAL("d")
#define FLOATS_5     FLOATS_4 ", " TN_MATCH_REAL("e")
#define NAMES_2      "a, b"
#define NAMES_3      NAMES_2 ", c"
#define NAMES_4      NAMES_3 ", d"
#define NAMES_5      NAMES_4 ", e"
#define TABLE(x)                                                                                   \
    "Tenon::LookUp(" x ", QuantizeLinear(DequantizeLinear($all, " x "_scale, " x                   \
    "_zero), y_scale, y_zero))"
#define TABLES_2 TABLE("a") ", " TABLE("b")
#define TABLES_3 TABLES_2 ", " TABLE("c")
#define TABLES_4 TABLES_3 ", " TABLE("d")
#define TABLES_5 TABLES_4 ", " TABLE("e")

/* Inputs of the output's scale are joined as they are; else each becomes bytes of it by a table. */
#define CONCAT(count)                                                                              \
    static tn_status are_joined_##count(const tn_match *match) {                                   \
        return are_joined(match, count, true);                                                     \
    }                                                                                              \
    static tn_status are_mixed_##count(const tn_match *match) {                                    \
        return are_joined(match, count, false);                                                    \
    }                                                                                              \
    static const char *const same_##count[] = {INPUTS_##count "y_scale=f32[]{0.5} axis=1"};        \
    static const char *const mixed_##count[] = {INPUTS_##count                                     \
                                                "y_scale=f32[]{0.25} y_zero=u8[]{3} axis=-1"};     \
    static const char *const wrong_##count[] = {INPUTS_##count "y_scale=f32[]{-0.5} axis=1"};      \
    TN_REWRITE(                                                                                    \
        concat_##count, "quantized.concat." #count, "Concat of 8-bit integers of one scale",       \
        .pattern = "v = Concat(" FLOATS_##count ", axis=?axis); " TN_MATCH_STORED("y", "v"),       \
        .replacement = "y = Concat(" NAMES_##count ", axis=?axis)", .guard = are_joined_##count,   \
        TN_REWRITE_CASES(same_##count), TN_REWRITE_MISSES(mixed_##count));                         \
    TN_REWRITE(                                                                                    \
        concat_tables_##count, "quantized.concat.tables." #count,                                  \
        "Concat of 8-bit integers of other scales than the output's",                              \
        .pattern = "v = Concat(" FLOATS_##count ", axis=?axis); " TN_MATCH_STORED("y", "v"),       \
        .replacement = "y = Concat(" TABLES_##count ", axis=?axis)", .guard = are_mixed_##count,   \
        TN_REWRITE_CASES(mixed_##count), TN_REWRITE_MISSES(wrong_##count))
CONCAT(2);
CONCAT(3);
CONCAT(4);
CONCAT(5);

static tn_status are_parts(const tn_match *match, uint32_t count) {
    tn_match_scale x, part;
    tn_status status = tn_match_scale_read(match, "x", &x);
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        const char name[2] = {(char)('a' + i), 0};
        status = tn_match_scale_read(match, name, &part);
        if (status == TN_OK && !is_same_scale(&x, &part)) return refuse_scales(match);
    }
    return status;
}

static tn_status are_2_parts(const tn_match *match) {
    return are_parts(match, 2);
}
static tn_status are_3_parts(const tn_match *match) {
    return are_parts(match, 3);
}

#define WHOLE                                                                                      \
    "x=u8[2,6] x_scale=f32[]{0.5} x_zero=u8[]{3} axis=1 a_scale=f32[]{0.5} a_zero=u8[]{3} "
#define PART(of) of "_scale=f32[]{0.5} " of "_zero=u8[]{3} "
static const char *const split_2_cases[] = {WHOLE PART("b") "sizes=i64[2]{1,5}"};
static const char *const split_2_misses[] = {
    WHOLE "b_scale=f32[]{0.25} b_zero=u8[]{3} sizes=i64[2]{1,5}"};
static const char *const split_3_cases[] = {WHOLE PART("b") PART("c") "sizes=i64[3]{1,2,3}"};
static const char *const split_3_misses[] = {
    WHOLE PART("b") "c_scale=f32[]{0.25} c_zero=u8[]{3} sizes=i64[3]{1,2,3}"};
#define SPLIT_FROM(names) names " = Split@13(" TN_MATCH_REAL("x") ", sizes, axis=?axis, ...); "
TN_REWRITE(split_2, "quantized.split.2", "Split of 8-bit integers in two",
           .pattern = SPLIT_FROM("p, q") TN_MATCH_STORED("a", "p") "; " TN_MATCH_STORED("b", "q"),
           .replacement = "a, b = Split@13(x, sizes, axis=?axis)", .guard = are_2_parts,
           TN_REWRITE_CASES(split_2_cases), TN_REWRITE_MISSES(split_2_misses));
TN_REWRITE(split_3, "quantized.split.3", "Split of 8-bit integers in three",
           .pattern = SPLIT_FROM("p, q, r")
               TN_MATCH_STORED("a", "p") "; " TN_MATCH_STORED("b", "q") "; " TN_MATCH_STORED("c",
                                                                                             "r"),
           .replacement = "a, b, c = Split@13(x, sizes, axis=?axis)", .guard = are_3_parts,
           TN_REWRITE_CASES(split_3_cases), TN_REWRITE_MISSES(split_3_misses));
