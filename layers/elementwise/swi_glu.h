/* SPDX-License-Identifier: Apache-2.0 */
/* SwiGLU: a gate's Swish times a value (Shazeer, "GLU Variants Improve Transformer", 2020), for
 * operator.c alone. Both inputs have one shape: nothing is broadcast. */
typedef struct swi_glu_params {
    uint64_t present;
    float alpha;
} swi_glu_params;

static const tn_field swi_glu_fields[] = {
    TN_FIELD(swi_glu_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1", "slope within the sigmoid")};

static tn_status swi_glu_infer(tn_call *call) {
    char left[TN_INFER_SHAPE_TEXT_BYTES], right[TN_INFER_SHAPE_TEXT_BYTES];
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    bool are_equal = b && a->rank == b->rank;
    for (uint32_t i = 0; are_equal && i < a->rank; i++)
        are_equal = a->shape[i] == b->shape[i];
    if (are_equal) return tn_infer_copy_shape(call, 0, 0);
    TN_TRY(tn_infer_require_rank(call, 1, 0, TN_MAX_RANK));
    return call->host->fail(call, TN_ERROR_SHAPE, "B of shape %s has not the shape of A, %s",
                            tn_infer_shape_text(b->rank, b->shape, right, sizeof(right)),
                            tn_infer_shape_text(a->rank, a->shape, left, sizeof(left)));
}

static const tn_port swi_glu_inputs[] = {TN_PORT("A", "T:float", 0, "the gate"),
                                         TN_PORT("B", "T", 0, "the value, of A's shape")};
static const tn_port swi_glu_outputs[] = {TN_PORT("Y", "T", 0, "the value as far as it is let in")};
static const char *const swi_glu_cases[] = {
    "| A=f32[2,3,5,7] B=f32[2,3,5,7]",
    "| A=f32[] B=f32[]",
    "alpha=2 | A=f32[5]{-80,-1,0,3,50} B=f32[5]",
    "| A=f64[17] B=f64[17]",
    "alpha=0.5 | A=f16[4,33] B=f16[4,33]",
    "| A=bf16[63] B=bf16[63]",
    "| A=f32[3,0,2] B=f32[3,0,2]",
    "alpha=0 | A=f32[2]{3,-4} B=f32[2]{5,7} | Y=f32[2]{7.5,-14}",
    "| A=f32[64,384] B=f32[64,384]"};
static const tn_operator swi_glu_operator = {
    TN_OPERATOR_BEGIN("", "SwiGLU", 28, "A value times the Swish of a gate."),
    .traits = TN_OPERATOR_ELEMENTWISE,
    TN_FIELDS(swi_glu_params, swi_glu_fields),
    TN_INPUTS(swi_glu_inputs),
    TN_OUTPUTS(swi_glu_outputs),
    .infer = swi_glu_infer,
    .expression = "A / (1 + exp(-alpha * A)) * B",
    TN_CASES(swi_glu_cases)};
