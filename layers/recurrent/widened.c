/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of 16-bit floats: run.c computes them in 32 bits, from copies in the workspace. Weights are
 * widened where they are packed (pack.c). */
#include "kit/math/element.h"
#include "kit/math/round_up.h"
#include "recurrent/kernels.h"
#include <tenon/kit/infer.h>

enum { INPUTS = 5 };

/* The tensors that are copied: inputs, then outputs. */
static void list_tensors(tn_recurrent *node, const tn_tensor **inputs[INPUTS],
                         tn_tensor **outputs[TN_RECURRENT_OUTPUTS]) {
    const tn_tensor **const read[INPUTS] = {&node->x, &node->bias, &node->peepholes, &node->h_0,
                                            &node->c_0};
    tn_tensor **const written[TN_RECURRENT_OUTPUTS] = {&node->y, &node->h_last, &node->c_last};
    memcpy(inputs, read, sizeof(read));
    memcpy(outputs, written, sizeof(written));
}

static bool add_tensor(const tn_tensor *tensor, int64_t *floats) {
    return !tensor || tn_infer_add(*floats, tn_whole_vectors(tn_element_count(tensor)), floats);
}

bool tn_recurrent_widened_floats(const tn_recurrent *node, int64_t *out_floats) {
    const tn_tensor **inputs[INPUTS];
    tn_tensor **outputs[TN_RECURRENT_OUTPUTS];
    tn_recurrent copy = *node;
    bool fits = true;
    *out_floats = 0;
    if (node->x->type == TN_F32) return true;
    list_tensors(&copy, inputs, outputs);
    for (int i = 0; i < INPUTS; i++)
        fits = fits && add_tensor(*inputs[i], out_floats);
    for (int i = 0; i < TN_RECURRENT_OUTPUTS; i++)
        fits = fits && add_tensor(*outputs[i], out_floats);
    return fits;
}

void tn_recurrent_widen(const tn_recurrent_level *level, float *memory, tn_recurrent *node,
                        tn_recurrent_widened *out_widened) {
    const tn_tensor **inputs[INPUTS];
    tn_tensor **outputs[TN_RECURRENT_OUTPUTS];
    tn_tensor *wide = out_widened->tensors;
    list_tensors(node, inputs, outputs);
    for (int i = 0; i < INPUTS; i++) {
        const tn_tensor *from = *inputs[i];
        if (!from) continue;
        *wide = *from;
        wide->type = TN_F32;
        wide->data = memory;
        level->cells->load(TN_CELL_F32, from->type, tn_element_count(from), from->data, memory);
        memory += tn_whole_vectors(tn_element_count(from));
        *inputs[i] = wide++;
    }
    for (int i = 0; i < TN_RECURRENT_OUTPUTS; i++) {
        tn_tensor *to = out_widened->outputs[i] = *outputs[i];
        if (!to) continue;
        *wide = *to;
        wide->type = TN_F32;
        wide->data = memory;
        memory += tn_whole_vectors(tn_element_count(to));
        *outputs[i] = wide++;
    }
}

void tn_recurrent_narrow(const tn_recurrent_level *level, const tn_recurrent *node,
                         const tn_recurrent_widened *widened) {
    const tn_tensor *const wide[TN_RECURRENT_OUTPUTS] = {node->y, node->h_last, node->c_last};
    for (int i = 0; i < TN_RECURRENT_OUTPUTS; i++) {
        const tn_tensor *to = widened->outputs[i];
        if (to)
            level->cells->store(TN_CELL_F32, to->type, tn_element_count(to), wide[i]->data,
                                to->data);
    }
}
