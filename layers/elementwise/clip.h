/* SPDX-License-Identifier: Apache-2.0 */
/* Clip from opset 11 on, for operator.c alone: its bounds are optional inputs, which an expression
 * cannot have. Its kernels are those of Clip's row in maps.h. */
enum { CLIP_MIN = 1, CLIP_MAX = 2 };

static tn_status clip_11_infer(tn_call *call) {
    for (uint32_t i = CLIP_MIN; i <= CLIP_MAX; i++) {
        const tn_tensor *bound = tn_infer_input(call, i);
        if (bound && tn_element_count(bound) != 1)
            return call->host->fail(
                call, TN_ERROR_SHAPE, "input '%s' must be one number, but has %lld",
                tn_infer_input_name(call, i), (long long)tn_element_count(bound));
    }
    return tn_unary_infer(call);
}

/* The expression of the bounds that are there; NaN is neither below nor above. */
static tn_status clip_11_reference(tn_call *call) {
    static const char *const texts[] = {"input", "input < min ? min : input",
                                        "input > max ? max : input", CLIP_TEXT};
    const int has_low = tn_infer_input(call, CLIP_MIN) != NULL;
    const int has_high = tn_infer_input(call, CLIP_MAX) != NULL;
    const tn_elementwise_view view = {.text = texts[has_low + 2 * has_high]};
    return tn_elementwise_compute(call, &view);
}

/* An activation of numbers, which 8 bits with a scale are, where the bounds are known: always when
 * the node runs. */
static tn_status clip_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const tn_tensor *x = tn_infer_input(call, 0);
    const tn_tensor *low = tn_infer_input(call, CLIP_MIN), *high = tn_infer_input(call, CLIP_MAX);
    if (input != 0 || !x || !(tn_element_is_real(x->type) || x->quantization) ||
        (low && !low->data) || (high && !high->data))
        return TN_ERROR_UNSUPPORTED;
    return tn_unary_facet(call, name, TN_ACTIVATION_CLIP,
                          low ? (float)tn_element_load_f64(low->data, low->type, 0) : -INFINITY,
                          high ? (float)tn_element_load_f64(high->data, high->type, 0) : INFINITY,
                          out_facet);
}

static const tn_port clip_11_inputs[] = {
    TN_PORT("input", "T:number", 0, "any tensor"),
    TN_PORT("min", "T", TN_PORT_OPTIONAL, "lower bound, one number; absent: none"),
    TN_PORT("max", "T", TN_PORT_OPTIONAL, "upper bound, one number; absent: none"),
};
static const tn_port clip_11_outputs[] = {
    TN_PORT("output", "T", 0, "the input held within the bounds")};
static const char *const clip_11_cases[] = {
    "| input=f32[2,3,5]",
    "| input=f32[2,3,5,7] min=f32[]{-1} max=f32[]{1}",
    "| input=f32[9] max=f32[]{0.5}",
    "| input=f32[9] min=f32[1]{2} max=f32[1]{-2}",
    "| input=i8[2,9] min=i8[]{-3} max=i8[]{2}",
    "| input=u64[3]{0,7,18446744073709551615} min=u64[]{3} max=u64[]{9}",
    "| input=i64[4]{-9223372036854775808,0,5,9223372036854775807} max=i64[1]{5}",
    "| input=u32[2,600] min=u32[]{9} max=u32[]{4000000000}",
    "| input=i16[] min=i16[1]{7} max=i16[1]{3}",
    "| input=f16[33] min=f16[]{0}",
    "| input=bf16[33] min=bf16[]{0} max=bf16[]{6}",
    "| input=f32[0,2] min=f32[]{0}",
    "| input=f32[1,64,56,56] min=f32[]{0} max=f32[]{6}",
};
/* NaN among floats is none of a fold's: other kernels take them. */
TN_FOLD_TYPES_KERNELS(clip_types, "Clip", TN_COMBINE_MAX, TN_COMBINE_MIN, false, true);
static const tn_operator clip_11 =
    TN_OPERATOR_TABLE(clip_11, "", "Clip", 11, "Elements held within bounds given by inputs.",
                      TN_NO_FIELDS, .traits = TN_OPERATOR_ELEMENTWISE, .facet = clip_facet);
