/* SPDX-License-Identifier: Apache-2.0 */
/* Expand: a tensor broadcast with a shape; extents of one on either side follow the other. */
#include "expand/expand.h"
#include "kit/operator/moves.h"

static tn_status expand_infer(tn_call *call) {
    int64_t wanted[TN_MAX_RANK], shape[TN_MAX_RANK];
    uint32_t count = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_integers(call, 1, TN_MAX_RANK, wanted, &count));
    const tn_tensor *input = call->inputs[0];
    const uint32_t rank = count > input->rank ? count : input->rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t have = i < rank - input->rank ? 1 : input->shape[i - (rank - input->rank)];
        int64_t want = i < rank - count ? 1 : wanted[i - (rank - count)];
        if (have != want && have != 1 && want != 1) {
            char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
            return call->host->fail(
                call, TN_ERROR_SHAPE, "the shape %s does not broadcast with %s",
                tn_infer_shape_text(input->rank, input->shape, text, sizeof(text)),
                tn_infer_shape_text(count, wanted, other, sizeof(other)));
        }
        shape[i] = have == 1 ? want : have;
    }
    return tn_infer_set_shape(call, 0, rank, shape);
}

tn_status tn_expand_move(tn_call *call, tn_region_mover mover) {
    const tn_tensor *input = call->inputs[0], *output = call->outputs[0];
    int64_t strides[TN_MAX_RANK];
    tn_region region;
    if (tn_element_count(output) == 0) return TN_OK;
    tn_region_init(&region, output->rank, output->shape, output->type);
    tn_region_strides(input->rank, input->shape, strides);
    for (uint32_t i = 0; i < output->rank; i++) {
        const uint32_t more = output->rank - input->rank;
        const bool is_repeated = i < more || input->shape[i - more] == 1;
        region.from_strides[i] = is_repeated ? 0 : strides[i - more];
    }
    return mover(call, &region, output->data, input->data);
}

TN_MOVES(expand, tn_expand_move)

static const tn_port expand_inputs[] = {
    TN_PORT("input", "T:any|string", 0, "any tensor"),
    TN_PORT("shape", "i64", TN_PORT_VALUE_NEEDED, "what it is broadcast with"),
};
static const tn_port expand_outputs[] = {TN_PORT("output", "T", 0, "the tensor, repeated")};
static const char *const expand_cases[] = {
    "| input=f32[3,1] shape=i64[3]{2,1,6}",
    "| input=f32[3,1] shape=i64[2]{3,4}",
    "| input=i64[] shape=i64[2]{2,3}",
    "| input=f16[2,1,5] shape=i64[1]{1}",
    "| input=bool[1] shape=i64[2]{0,4}",
    "| input=string[2,1]{a,b} shape=i64[2]{1,2} | output=string[2,2]{a,a,b,b}",
    "| input=u8[4,1,3] shape=i64[3]{1,5,3}",
    "| input=f32[1,12,1,64] shape=i64[4]{1,12,64,64}",
};

TN_OPERATOR(expand, "", "Expand", 8, "Repeats a tensor along axes of one element.", TN_NO_FIELDS,
            .traits = TN_OPERATOR_SELECTS);

TN_MOVE_KERNELS(expand, "Expand");

TN_LAYER(expand, TN_OPERATORS(&expand_8), TN_KERNELS(&expand_runs, &expand_bytes));
