/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context knows of a step once its shapes are inferred: descriptors of values, and whether
 * the shapes that only now are known fit what was fused when the network was built.
 */
#include "base/status.h"
#include "program/node_call.h"
#include "run/context_private.h"

tn_status tn_context_describe(const tn_context *context, uint32_t value,
                              tn_tensor_storage *out_storage) {
    const tn_program_value *item = &context->engine->program->values[value];
    const tn_inferred_tensor *inferred = &context->inference.tensors[item->tensor];
    const tn_graph_tensor *tensor = &context->engine->graph->tensors[item->tensor];
    const tn_type type = inferred->storage.tensor.type;
    if (!inferred->is_known)
        return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' has no shape", tensor->name);
    const bool is_sound = context->engine->is_lower[value]
                              ? type == TN_F32
                              : item->type == TN_NONE || item->type == type;
    if (!is_sound)
        return tn_fail(TN_ERROR_TYPE,
                       "tensor '%s' has elements of type %s; the plan was built for %s",
                       tensor->name, tn_type_name(type), tn_type_name(item->type));
    TN_TRY(tn_tensor_init(out_storage, item->type == TN_NONE ? type : item->type, item->format,
                          &inferred->storage.shape));
    out_storage->tensor.name = tensor->name;
    out_storage->tensor.quantization =
        item->quantization ? item->quantization : tensor->quantization;
    return TN_OK;
}

void tn_context_hide(const tn_context *context, uint32_t value, tn_tensor *tensor) {
    const tn_tensor_id id = context->engine->program->values[value].tensor;
    tensor->data = NULL;
    tensor->type = context->inference.tensors[id].storage.tensor.type;
    tensor->quantization = context->engine->graph->tensors[id].quantization;
}

static const tn_shape *shape_of(const tn_context *context, tn_tensor_id tensor) {
    return &context->inference.tensors[tensor].storage.shape;
}

/* A whole operand has the output's shape; others have one element for each index of an axis, or
 * are broadcast. */
static bool fits(const tn_context *context, const tn_program_step *step,
                 const tn_epilogue *epilogue, const tn_shape *output) {
    if (!tn_node_call_has_operand(epilogue->kind)) return true;
    const uint32_t value = step->operands[epilogue->operand];
    const tn_shape *operand = shape_of(context, context->engine->program->values[value].tensor);
    if (epilogue->kind == TN_EPILOGUE_ADD) return tn_shape_equal(operand, output);
    if (epilogue->kind == TN_EPILOGUE_COMBINE) return tn_shape_is_broadcast(operand, output);
    const int64_t axis =
        epilogue->axis < 0 ? epilogue->axis + (int64_t)output->rank : epilogue->axis;
    size_t count = 0;
    return axis >= 0 && axis < (int64_t)output->rank && tn_shape_count(operand, &count) == TN_OK &&
           count == (size_t)output->extents[axis];
}

tn_status tn_context_check_fusion(const tn_context *context, uint32_t index) {
    const tn_engine_step *prepared = &context->engine->steps[index];
    const tn_program_step *step = prepared->step;
    const tn_graph_node *nodes = context->engine->graph->nodes;
    if (step->epilogue_count == 0) return TN_OK;
    const tn_shape *made = shape_of(context, nodes[step->node].outputs[0]);
    for (uint32_t i = 0; i < step->epilogue_count; i++) {
        const tn_graph_node *node = &nodes[step->epilogues[i]];
        const tn_epilogue *epilogue = prepared->prepared.call.epilogues[i];
        const tn_shape *next = shape_of(context, node->outputs[0]);
        if (tn_node_call_makes_shape(epilogue, made, next) && fits(context, step, epilogue, made)) {
            made = next;
            continue;
        }
        return tn_error_at(tn_fail(TN_ERROR_SHAPE,
                                   "it was fused into node '%s' for other shapes than these: build "
                                   "the plan with a profile that has them",
                                   nodes[step->node].name),
                           "node '%s'", node->name);
    }
    return TN_OK;
}
