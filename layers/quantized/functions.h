/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one element; included by rewrites.c alone. */

static tn_status is_function(const tn_match *match) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    return status == TN_OK ? set_all(match, x.type) : status;
}

static const char *const function_cases[] = {
    "x=u8[2,3,5] x_scale=f32[]{0.03} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9}",
    "x=i8[19] x_scale=f32[]{0.03} y_scale=f32[]{0.02} y_zero=i8[]{-4}"};
static const char *const function_misses[] = {
    "x=u8[2,3,5] x_scale=f32[]{0} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9}"};
#define FUNCTION_OF(symbol, of_name, before, after, then, of_cases, of_misses)                     \
    TN_REWRITE(symbol, "quantized." of_name, "a function of 8-bit integers as a table",            \
               .pattern = "v = " before TN_MATCH_REAL("x") after "; " TN_MATCH_STORED("y", "v"),   \
               .replacement =                                                                      \
                   "y = Tenon::LookUp(x, QuantizeLinear(" before                                   \
                   "DequantizeLinear($all, x_scale, x_zero)" then ", y_scale, y_zero))",           \
               .guard = is_function, TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))
#define FUNCTION(symbol, of_name, before, after)                                                   \
    FUNCTION_OF(symbol, of_name, before, after, after, function_cases, function_misses)
FUNCTION(relu, "relu", "Relu(", ")");
FUNCTION(leaky_relu, "leaky_relu", "LeakyRelu(", ", alpha=?alpha)");
FUNCTION(elu, "elu", "Elu(", ", alpha=?alpha)");
FUNCTION(celu, "celu", "Celu(", ", alpha=?alpha)");
FUNCTION(selu, "selu", "Selu(", ", alpha=?alpha, gamma=?gamma)");
FUNCTION(sigmoid, "sigmoid", "Sigmoid(", ")");
FUNCTION(tanh_table, "tanh", "Tanh(", ")");
FUNCTION(hard_swish, "hard_swish", "HardSwish(", ")");
FUNCTION(hard_sigmoid, "hard_sigmoid", "HardSigmoid(", ", alpha=?alpha, beta=?beta)");
FUNCTION(gelu, "gelu", "Gelu(", ", approximate=?approximate)");
FUNCTION(mish, "mish", "Mish(", ")");
FUNCTION(swish, "swish", "Swish(", ", alpha=?alpha)");
FUNCTION(softplus, "softplus", "Softplus(", ")");
FUNCTION(softsign, "softsign", "Softsign(", ")");
FUNCTION(erf_table, "erf", "Erf(", ")");

#define BOUNDED "low=f32[]{0} high=f32[]{1}"
#define FIRST   "x=u8[2,3,5] x_scale=f32[]{0.03} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9} "
static const char *const clip_cases[] = {FIRST BOUNDED, FIRST "low=f32[]{-0.25}",
                                         FIRST "high=f32[]{0.25}"};
static const char *const clip_misses[] = {
    "x=u8[7] x_scale=f32[]{-1} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9} " BOUNDED};
FUNCTION_OF(relu6, "clip", "Clip@11(", ", low?:const, high?:const)", ", low, high)", clip_cases,
            clip_misses);
static const char *const clip_6_cases[] = {FIRST "low=0.0 high=1.0"};
static const char *const clip_6_misses[] = {
    "x=u8[7] x_scale=f32[]{-1} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9} low=0.0 "
    "high=1.0"};
TN_REWRITE(relu6_fields, "quantized.clip.fields",
           "Clip before opset 11 of 8-bit integers as a table",
           .pattern = "v = Clip@6-10(" TN_MATCH_REAL(
               "x") ", min=?low, max=?high); " TN_MATCH_STORED("y", "v"),
           .replacement = "y = Tenon::LookUp(x, QuantizeLinear(Clip@6(DequantizeLinear($all, "
                          "x_scale, x_zero), min=?low, max=?high), y_scale, y_zero))",
           .guard = is_function, TN_REWRITE_CASES(clip_6_cases), TN_REWRITE_MISSES(clip_6_misses));

/* x * f(x), of which f was a table already: SiLU, whose sigmoid is stored in 8 bits itself. */
static tn_status is_product_of_table(const tn_match *match) {
    const tn_tensor *x = match->tensor(match, "x");
    if (x->type != TN_I8 && x->type != TN_U8) return match->refuse(match, "'x' is not of 8 bits");
    return set_all(match, x->type);
}

static const char *const silu_cases[] = {
    FIRST "f=u8[256] f_scale=f32[]{0.00390625} f_zero=u8[]{0}",
    "x=i8[19] x_scale=f32[]{0.03} y_scale=f32[]{0.02} y_zero=i8[]{-4} f=i8[256] "
    "f_scale=f32[]{0.0078125}"};
TN_REWRITE(silu, "quantized.silu", "8-bit integers times a table of themselves as a table",
           .pattern = "y = com.microsoft::QLinearMul(x, x_scale:const, x_zero?:const, "
                      "Tenon::LookUp(x, f:const), f_scale:const, f_zero?:const, y_scale:const, "
                      "y_zero?:const)",
           .replacement = "y = Tenon::LookUp(x, com.microsoft::QLinearMul($all, x_scale, x_zero, "
                          "Tenon::LookUp($all, f), f_scale, f_zero, y_scale, y_zero))",
           .guard = is_product_of_table, TN_REWRITE_CASES(silu_cases));
