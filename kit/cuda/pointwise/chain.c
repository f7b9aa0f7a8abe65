/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a call's steps; see chain.h. */
#include "kit/cuda/pointwise/chain.h"

bool tn_cuda_chain_read(const tn_call *call, tn_cuda_chain *out_chain) {
    tn_known_steps steps;
    out_chain->count = 0;
    if (call->step_count > TN_CUDA_MOST_STEPS || !tn_known_steps_read(call, &steps)) return false;
    for (uint32_t i = 0; i < steps.count; i++) {
        const tn_known_step *step = &steps.items[i];
        if (step->kind != TN_KNOWN_ACTIVATION || step->activation > TN_ACTIVATION_ELU) return false;
        out_chain->steps[out_chain->count++] =
            (tn_cuda_step){step->activation, step->alpha, step->beta};
    }
    return true;
}
