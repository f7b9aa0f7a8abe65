/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the outputs of a network with those of its twin in 32-bit floats, batch by batch. */
#include "base/status.h"
#include "calibrate/accuracy_private.h"

#include <string.h>

static tn_status compare_outputs(const tn_accuracy_state *state, const tn_batch_run *tested,
                                 tn_output_loss *losses) {
    for (uint32_t i = 0; i < state->output_count; i++) {
        const tn_tensor *expected, *found;
        TN_TRY(tn_context_output(state->reference.context, i, &expected));
        TN_TRY(tn_context_output(tested->context, i, &found));
        tn_output_loss_add(&losses[i], expected, found);
    }
    return TN_OK;
}

tn_status tn_accuracy_measure(tn_accuracy_state *state, tn_batch_run *tested, const char *stage,
                              uint64_t count, tn_output_loss *losses, double *out_loss) {
    const tn_batches *batches = state->options->batches;
    double worst = 0;
    if (count > batches->count) count = batches->count;
    memset(losses, 0, state->output_count * sizeof(*losses));
    for (uint64_t i = 0; i < count; i++) {
        /* i * batches / count, without overflow */
        const uint64_t index = batches->count / count * i + batches->count % count * i / count;
        TN_TRY(tn_batches_progress(batches, stage, i, count));
        TN_TRY(tn_batch_run_batch(&state->reference, batches, index));
        TN_TRY(tn_batch_run_again(tested, &state->reference, index));
        TN_TRY(compare_outputs(state, tested, losses));
    }
    for (uint32_t i = 0; i < state->output_count; i++) {
        const double loss = tn_output_loss_value(&losses[i]);
        if (loss > worst) worst = loss;
    }
    *out_loss = worst;
    return TN_OK;
}
