/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules and references of rows whose second input is broadcast in another manner than the
 * host's, for operator.c alone: before opset 7 along given axes, and PRelu's slopes. `user` of
 * these versions, which are not elementwise to the builder, is the row with their expression. */
static tn_status compute_as(tn_call *call, uint32_t rank, const int64_t *shape) {
    const tn_operator *row = call->user;
    const tn_elementwise_view view = {row->expression, rank, shape};
    return tn_elementwise_compute(call, &view);
}

static tn_status legacy_reference(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    return compute_as(call, rank, shape);
}

/* The slopes as X sees them: before opset 7 they are one number, or one for each channel. */
static tn_status slope_shape(tn_call *call, uint32_t *out_rank, int64_t *out_shape) {
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, 1, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0], *slope = call->inputs[1];
    const bool is_old = call->op->since_version < 7;
    const int64_t count = is_old ? tn_element_count(slope) : 1;
    bool fits = is_old ? count == 1 || x->rank >= 2 : slope->rank <= x->rank;
    *out_rank = is_old ? x->rank : slope->rank;
    for (uint32_t i = 0; fits && i < *out_rank; i++) {
        out_shape[i] = is_old ? (i == 1 ? count : 1) : slope->shape[i];
        fits = out_shape[i] == 1 || out_shape[i] == x->shape[x->rank - *out_rank + i];
    }
    if (fits) return TN_OK;
    char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input 'slope' has the shape %s, which does not broadcast to X's %s",
                            tn_infer_shape_text(slope->rank, slope->shape, text, sizeof(text)),
                            tn_infer_shape_text(x->rank, x->shape, other, sizeof(other)));
}
static tn_status slope_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    TN_TRY(slope_shape(call, &rank, shape));
    return tn_infer_copy_shape(call, 0, 0);
}
static tn_status slope_reference(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    TN_TRY(slope_shape(call, &rank, shape));
    return compute_as(call, rank, shape);
}
