/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a node's epilogues; see chain.h. */
#include "kit/cuda/pointwise/chain.h"

bool tn_cuda_chain_read(const tn_call *call, tn_cuda_chain *out_chain) {
    out_chain->count = 0;
    if (call->epilogue_count > TN_CUDA_MOST_STEPS) return false;
    for (uint32_t i = 0; i < call->epilogue_count; i++) {
        const tn_epilogue *step = call->epilogues[i];
        if (step->kind != TN_EPILOGUE_ACTIVATION || step->activation > TN_ACTIVATION_ELU)
            return false;
        out_chain->steps[out_chain->count++] =
            (tn_cuda_step){step->activation, step->alpha, step->beta};
    }
    return true;
}
