/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of epilogues that a run may end with, and what they make of the reference's numbers:
 * none; residual and ReLU; bias and clip; residual and leaky ReLU.
 */
#include "stored_drawn.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

bool tn_stored_add_chain(tn_drawn *d, tn_stored_run *run, uint32_t chain, float *operand,
                         tn_shape *channels) {
    const bool has_bias = chain == 2, has_residual = chain == 1 || chain == 3;
    const tn_stored_tensor *y = &run->outputs[0];
    const uint32_t activations[] = {0, TN_ACTIVATION_RELU, TN_ACTIVATION_CLIP,
                                    TN_ACTIVATION_LEAKY_RELU};
    const uint32_t wanted = TN_EPILOGUE_BIT(TN_EPILOGUE_ACTIVATION) |
                            (has_bias ? TN_EPILOGUE_BIT(TN_EPILOGUE_BIAS) : 0) |
                            (has_residual ? TN_EPILOGUE_BIT(TN_EPILOGUE_ADD) : 0);
    if (chain == 0) return true;
    if ((run->kernel->epilogues & wanted) != wanted || y->own_type != TN_F32 ||
        y->shape->rank < 2 ||
        (run->kernel->activations && !(run->kernel->activations >> activations[chain] & 1)))
        return false;
    const uint32_t axis =
        y->shape->rank > 2 && strcmp(d->op->name, "MatMul") != 0 ? 1 : y->shape->rank - 1;
    *channels = (tn_shape){.rank = 1, .extents = {y->shape->extents[axis]}};
    const double range = d->largest[0] > 0 ? d->largest[0] : 1;
    run->operand_count = 1;
    run->operands[0] = *y;
    if (has_bias) {
        run->operands[0] = (tn_stored_tensor){
            .type = TN_F32, .own_type = TN_F32, .shape = channels, .is_constant = true};
    } else if (y->scale != 0) {
        run->operands[0].scale = d->draw == TN_DRAW_EXACT ? y->scale / 2 : y->scale * 0.7f;
    }
    run->operands[0].is_given = true;
    run->operands[0].data = operand;
    const size_t count = tn_drawn_count(run->operands[0].shape);
    for (size_t i = 0; i < count; i++) {
        const double value = (tn_drawn_number(d) * 2 - 1) * range * 0.6;
        const float scale = run->operands[0].scale;
        operand[i] = scale == 0 ? (float)value : tn_stored_round(&run->operands[0], (float)value);
        if (run->operands[0].type == TN_F16) operand[i] = tn_f16_to_f32(tn_f32_to_f16(operand[i]));
        if (run->operands[0].type == TN_BF16)
            operand[i] = tn_bf16_to_f32(tn_f32_to_bf16(operand[i]));
    }
    run->epilogue_count = 2;
    run->epilogues[0] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                      .kind = has_bias ? TN_EPILOGUE_BIAS : TN_EPILOGUE_ADD,
                                      .axis = has_bias ? (int32_t)axis : 0,
                                      .type = TN_F32};
    run->epilogues[1] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                      .kind = TN_EPILOGUE_ACTIVATION,
                                      .activation = activations[chain],
                                      .alpha = chain == 2 ? (float)(-0.3 * range) : 0.125f,
                                      .beta = (float)(0.4 * range),
                                      .type = TN_F32};
    return true;
}

double tn_stored_after_chain(const tn_stored_run *run, size_t index, double y) {
    if (run->epilogue_count == 0) return y;
    const tn_epilogue *first = &run->epilogues[0], *second = &run->epilogues[1];
    const float *operand = run->operands[0].data;
    size_t at = index;
    if (first->kind == TN_EPILOGUE_BIAS) {
        const tn_shape *shape = run->outputs[0].shape;
        size_t inner = 1;
        for (uint32_t i = (uint32_t)first->axis + 1; i < shape->rank; i++)
            inner *= (size_t)shape->extents[i];
        at = index / inner % (size_t)shape->extents[first->axis];
    }
    y += (double)operand[at];
    if (second->activation == TN_ACTIVATION_CLIP) { /* NaN stays NaN */
        y = y < (double)second->alpha ? (double)second->alpha : y;
        return y > (double)second->beta ? (double)second->beta : y;
    }
    return y < 0 ? (second->activation == TN_ACTIVATION_RELU ? 0 : y * (double)second->alpha) : y;
}

size_t tn_stored_operand_room(const tn_drawn *d) {
    size_t room = 1;
    if (d->expected.count == 0) return room;
    const tn_shape *shape = &d->expected.shapes[0];
    room += tn_drawn_count(shape);
    for (uint32_t i = 0; i < shape->rank; i++)
        room += (size_t)shape->extents[i];
    return room;
}
