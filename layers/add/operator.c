/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Add: C = A + B with broadcasting; before opset 7 B is broadcast only where `broadcast` says so,
 * from `axis` on. Describes itself as a bias or a residual addition, so that the kernels before it
 * can absorb it.
 */
#include "common/broadcast.h"
#include "common/element.h"
#include "common/infer.h"
#include "common/layer.h"

typedef struct add_params {
    uint64_t present;
    int64_t axis;
    bool broadcast;
} add_params;

enum { ADD_AXIS_PRESENT = 1 };

static const tn_field add_fields[] = {
    TN_FIELD(add_params, axis, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "first axis of A that B is aligned with; absent: the last axes"),
    TN_FIELD(add_params, broadcast, TN_FIELD_BOOL, TN_OPTIONAL, "0", "whether B is broadcast"),
};

static double add_real(const void *params, double a, double b) {
    (void)params;
    return a + b;
}

static int64_t add_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    const float *a = inputs[0], *b = inputs[1];
    (void)params;
    if (strides[0] == 1 && strides[1] == 1) {
        for (uint64_t i = 0; i < count; i++)
            output[i] = a[i] + b[i];
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        output[i] = a[i * strides[0]] + b[i * strides[1]];
}

static const tn_broadcast_binary add_function = {
    .real = add_real, .whole = add_whole, .row = add_row};

static tn_status add_reference(tn_call *call) {
    return tn_broadcast_compute(call, &add_function);
}

/* Opset 6: B's shape with ones put after it, so that its first axis meets A's `axis`. */
static tn_status add_6_shape(tn_call *call, uint32_t *out_rank, int64_t *out_shape) {
    const add_params *params = call->params;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    uint32_t begin = a->rank >= b->rank ? a->rank - b->rank : 0;
    if (params->broadcast && (params->present & ADD_AXIS_PRESENT))
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, a->rank ? a->rank : 1, &begin));
    bool fits = b->rank <= a->rank && begin <= a->rank - b->rank;
    for (uint32_t i = 0; fits && i < b->rank; i++)
        fits = b->shape[i] == a->shape[begin + i] || (params->broadcast && b->shape[i] == 1);
    if (fits && !params->broadcast) fits = a->rank == b->rank;
    if (!fits) {
        char left[TN_INFER_SHAPE_TEXT_BYTES], right[TN_INFER_SHAPE_TEXT_BYTES];
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "B has the shape %s, which does not fit A's %s at axis %u%s",
                                tn_infer_shape_text(b->rank, b->shape, right, sizeof(right)),
                                tn_infer_shape_text(a->rank, a->shape, left, sizeof(left)), begin,
                                params->broadcast ? "" : " (field 'broadcast' is 0)");
    }
    *out_rank = a->rank - begin;
    for (uint32_t i = 0; i < *out_rank; i++)
        out_shape[i] = i < b->rank ? b->shape[i] : 1;
    return TN_OK;
}

static tn_status add_6_infer(tn_call *call) {
    uint32_t rank;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, 1, 0, TN_MAX_RANK));
    TN_TRY(add_6_shape(call, &rank, shape));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status add_6_reference(tn_call *call) {
    uint32_t rank;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(add_6_shape(call, &rank, shape));
    return tn_broadcast_compute_shaped(call, &add_function, rank, shape);
}

static bool has_shape_of(const tn_tensor *a, const tn_tensor *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* The one axis of `y` along which a tensor of this shape (aligned at the end) varies. */
static bool find_channel_axis(const tn_tensor *y, uint32_t rank, const int64_t *shape,
                              int32_t *out_axis) {
    bool is_found = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 1) continue;
        if (is_found) return false;
        is_found = true;
        *out_axis = (int32_t)(y->rank - rank + i);
    }
    return is_found && rank <= y->rank;
}

static tn_status describe(const tn_call *call, uint32_t input, uint32_t rank, const int64_t *shape,
                          tn_epilogue *out_epilogue) {
    const tn_tensor *x = tn_infer_input(call, input), *operand = tn_infer_input(call, 1 - input);
    const tn_tensor *y = tn_infer_output(call, 0);
    int32_t axis = 0;
    if (!x || !operand || !y || !has_shape_of(x, y)) return TN_ERROR_UNSUPPORTED;
    if (has_shape_of(operand, y)) {
        out_epilogue->kind = TN_EPILOGUE_ADD;
    } else if (operand->data && find_channel_axis(y, rank, shape, &axis)) {
        out_epilogue->kind = TN_EPILOGUE_BIAS;
        out_epilogue->axis = axis;
    } else {
        return TN_ERROR_UNSUPPORTED;
    }
    out_epilogue->operand = 1 - input;
    out_epilogue->type = y->type;
    return TN_OK;
}

static tn_status add_epilogue(tn_call *call, uint32_t input, tn_epilogue *out_epilogue) {
    const tn_tensor *operand = input < 2 ? tn_infer_input(call, 1 - input) : NULL;
    if (!operand) return TN_ERROR_UNSUPPORTED;
    return describe(call, input, operand->rank, operand->shape, out_epilogue);
}

static tn_status add_6_epilogue(tn_call *call, uint32_t input, tn_epilogue *out_epilogue) {
    uint32_t rank = 0;
    int64_t shape[TN_MAX_RANK];
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    TN_TRY(add_6_shape(call, &rank, shape));
    return describe(call, input, rank, shape, out_epilogue);
}

static const tn_port add_inputs[] = {
    TN_PORT("A", "T:number", 0, "first summand"),
    TN_PORT("B", "T", 0, "second summand"),
};
static const tn_port add_outputs[] = {
    TN_PORT("C", "T", 0, "the sum; integers wrap"),
};
static const char *const add_6_cases[] = {
    "| A=f32[2,3,4] B=f32[2,3,4]",
    "broadcast=1 | A=f32[2,3,4,5] B=f32[5]",
    "broadcast=1 axis=1 | A=f32[2,3,4,5] B=f32[3,4]",
    "broadcast=1 axis=0 | A=f64[4,3] B=f64[4]",
    "broadcast=1 | A=f32[7] B=f32[]",
};
static const char *const add_cases[] = {
    "| A=f32[2,3,5,7] B=f32[2,3,5,7]",
    "| A=f32[2,3,5,7] B=f32[3,1,1]",
    "| A=f32[4,1,7] B=f32[1,5,1]",
    "| A=f32[] B=f32[3]",
    "| A=f32[1] B=f32[]",
    "| A=f32[0,3] B=f32[1,3]",
    "| A=f16[3,33] B=f16[33]",
    "| A=u8[2,9] B=u8[2,1]",
    "| A=i64[5,1,2] B=i64[3,1]",
    "| A=f32[1,64,56,56] B=f32[1,64,56,56]",
};

static const tn_operator add_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .domain = "",
    .name = "Add",
    .doc = "Sum of two tensors; the second may be broadcast along given axes.",
    TN_FIELDS(add_params, add_fields),
    TN_INPUTS(add_inputs),
    TN_OUTPUTS(add_outputs),
    .infer = add_6_infer,
    .reference = add_6_reference,
    .epilogue = add_6_epilogue,
    TN_CASES(add_6_cases),
};
static const tn_operator add_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Add",
    .doc = "Sum of two tensors, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(add_inputs),
    TN_OUTPUTS(add_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = add_reference,
    .epilogue = add_epilogue,
    .expression = "A + B",
    .row = add_row,
    TN_CASES(add_cases),
};

static const tn_operator *const add_operators[] = {&add_6, &add_7};
TN_LAYER_WITHOUT_KERNELS(add, add_operators);
