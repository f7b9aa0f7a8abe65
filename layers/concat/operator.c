/* SPDX-License-Identifier: Apache-2.0 */
/* Concat: tensors one after the other along an axis; they agree in all other extents. */
#include "concat/concat.h"
#include "kit/operator/axis.h"
#include "kit/operator/moves.h"
#include "kit/operator/physical.h"
#include <tenon/kit/strided.h>
#include "kit/operator/window_facet.h"

static const tn_field concat_fields[] = {
    TN_AXIS_FIELD(TN_REQUIRED, NULL, "axis along which they are joined; negative: from the end"),
};

static tn_status check_input(tn_call *call, uint32_t input, uint32_t axis) {
    const tn_tensor *first = call->inputs[0], *tensor = call->inputs[input];
    bool fits = tensor->rank == first->rank;
    for (uint32_t i = 0; fits && i < first->rank; i++)
        fits = i == axis || tensor->shape[i] == first->shape[i];
    if (fits) return TN_OK;
    char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(
        call, TN_ERROR_SHAPE, "input %u has the shape %s, which does not continue %s along axis %u",
        input, tn_infer_shape_text(tensor->rank, tensor->shape, text, sizeof(text)),
        tn_infer_shape_text(first->rank, first->shape, other, sizeof(other)), axis);
}

static tn_status concat_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK] = {0};
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    const tn_tensor *first = call->inputs[0];
    TN_TRY(tn_axis_read(call, first->rank, &axis));
    for (uint32_t i = 0; i < first->rank; i++)
        shape[i] = first->shape[i];
    for (uint32_t k = 1; k < call->input_count; k++) {
        TN_TRY(tn_infer_require_rank(call, k, 1, TN_MAX_RANK));
        TN_TRY(check_input(call, k, axis));
        if (!tn_infer_add(shape[axis], call->inputs[k]->shape[axis], &shape[axis]))
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "the sum of extents along axis %u is too "
                                    "large",
                                    axis);
    }
    return tn_infer_set_shape(call, 0, first->rank, shape);
}

/* In any format: the tensors are moved in their own layout. */
tn_status tn_concat_next(tn_call *call, tn_concat_iterator *iterator) {
    const tn_tensor *output = call->outputs[0], *input = call->inputs[iterator->input];
    int64_t strides[TN_MAX_RANK + 1];
    uint32_t axis = 0;
    tn_physical physical;
    TN_TRY(tn_axis_read(call, output->rank, &axis));
    tn_strided_physical(output, strides);
    tn_physical_init(&physical, output->format, input->rank, input->shape);
    tn_region_init(&iterator->region, physical.rank, physical.shape, input->type);
    memcpy(iterator->region.to_strides, strides, physical.rank * sizeof(*strides));
    tn_strided_physical(input, iterator->region.from_strides);
    iterator->from = input->data;
    iterator->to = (char *)output->data + (size_t)iterator->offset * tn_element_bytes(output->type);
    iterator->offset +=
        physical.shape[physical.positions[axis]] * strides[physical.positions[axis]];
    iterator->input++;
    return TN_OK;
}

static tn_status concat_move(tn_call *call, tn_region_mover mover) {
    tn_concat_iterator iterator = {0};
    while (iterator.input < call->input_count) {
        const bool is_empty = tn_element_count(call->inputs[iterator.input]) == 0;
        TN_TRY(tn_concat_next(call, &iterator));
        if (!is_empty) TN_TRY(mover(call, &iterator.region, iterator.to, iterator.from));
    }
    return TN_OK;
}

/* Along blocked channels a tensor begins where a block begins. */
static tn_status concat_accepts(tn_call *call) {
    const int64_t block = tn_physical_block(call->outputs[0]->format);
    uint32_t axis = 0;
    TN_TRY(tn_axis_read(call, call->outputs[0]->rank, &axis));
    for (uint32_t k = 0; block && axis == 1 && k + 1 < call->input_count; k++)
        if (call->inputs[k]->shape[1] % block != 0) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

/* Each input is a window of the output, behind those before it. */
static tn_status concat_facet(tn_call *call, uint32_t input, const char *name,
                              tn_facet *out_facet) {
    tn_view *view = tn_window_facet(name, out_facet);
    uint32_t axis = 0;
    if (!view) return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_axis_read(call, call->outputs[0]->rank, &axis));
    view->kind = TN_VIEW_OF_OUTPUT;
    for (uint32_t k = 0; k < input; k++)
        view->offsets[axis] += call->inputs[k]->shape[axis];
    return TN_OK;
}

/* Strings one after the other in the output's order, each with its bytes. */
static tn_status concat_strings(tn_call *call) {
    const tn_tensor *output = call->outputs[0];
    uint32_t axis = 0;
    int64_t to = 0;
    TN_TRY(tn_axis_read(call, output->rank, &axis));
    const int64_t outer = tn_infer_product(output->shape, 0, axis);
    for (int64_t i = 0; i < outer; i++)
        for (uint32_t k = 0; k < call->input_count; k++) {
            const tn_tensor *input = call->inputs[k];
            const int64_t run = tn_infer_product(input->shape, axis, input->rank);
            for (int64_t at = i * run; at < (i + 1) * run; at++)
                TN_TRY(tn_strings_append(call, to++, input, at));
        }
    return TN_OK;
}

static tn_status concat_reference(tn_call *call) {
    return call->outputs[0]->type == TN_STRING ? concat_strings(call)
                                               : concat_move(call, tn_region_copy);
}

static tn_status concat_run(tn_call *call) {
    return concat_move(call, tn_region_copy_parallel);
}

static const tn_port concat_inputs[] = {
    {"inputs", "T:any|string", "tensors of one rank", TN_PORT_VARIADIC, 0, 1, 0},
};
static const tn_port concat_outputs[] = {TN_PORT("concat_result", "T", 0, "the tensors joined")};
static const char *const concat_cases[] = {
    "axis=0 | inputs=f32[2,3] inputs=f32[1,3]",
    "axis=1 | inputs=f32[2,3,4] inputs=f32[2,1,4] inputs=f32[2,5,4]",
    "axis=-1 | inputs=i64[3] inputs=i64[1]",
    "axis=1 | inputs=f16[2,0,3] inputs=f16[2,7,3]",
    "axis=0 | inputs=bool[5]",
    "axis=2 | inputs=u8[1,1,3] inputs=u8[1,1,2]",
    "axis=1 | inputs=f32[1,64,28,28] inputs=f32[1,32,28,28]",
    ("axis=1 | inputs=string[2,2]{a,b,c,d} inputs=string[2,1]{e,} | "
     "concat_result=string[2,3]{a,b,e,c,d,}"),
};

TN_OPERATOR(concat, "", "Concat", 4, "Joins tensors along an axis.",
            TN_FIELDS(tn_axis_params, concat_fields), .traits = TN_OPERATOR_SELECTS,
            .facet = concat_facet);

static const char *const concat_combinations[] = {
    "*:linear|nhwc|c16|c8:strided... -> *:linear|nhwc|c16|c8:strided"};
static const tn_kernel concat_runs = {
    TN_KERNEL_BEGIN("cpu", "", "Concat", "runs", 3, "Runs of elements copied on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
    TN_COMBINATIONS(concat_combinations),
    .accepts = concat_accepts,
    .run = concat_run,
};

static tn_status concat_bytes_accepts(tn_call *call) {
    TN_TRY(tn_region_bytes_accepts(call));
    return concat_accepts(call);
}

static const char *const concat_bytes_combinations[] = {"qi8... -> qi8", "qi8:nhwc... -> qi8:nhwc"};
static const tn_kernel concat_bytes =
    TN_REGION_BYTES_KERNEL("Concat", concat_bytes_combinations, concat_bytes_accepts, concat_run);

TN_LAYER(concat, TN_OPERATORS(&concat_4), TN_KERNELS(&concat_runs, &concat_bytes));
