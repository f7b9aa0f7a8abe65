/* SPDX-License-Identifier: Apache-2.0 */
/* What oneDNN's convolutions say of their time before it is measured: tenon/plugin/cost.h. */
#include "onednn/dnnl.h"
#include <tenon/plugin/cost.h>

enum { X = 0 };

/* Over tiles of 2 x 2 outputs Winograd's algorithm does 16 multiplications where 36 are, and
 * between its parts it writes and reads the tiles. (Tiles of 4 x 4, which oneDNN may take, do fewer
 * multiplications, but took as long.) */
void tn_dnnl_tell_winograd(tn_call *call, const tn_tensor *weights, const tn_window *window,
                           uint32_t tactic) {
    const tn_cost_service *costs = call->host->extension(call->host, TN_COSTS);
    const tn_tensor *x = call->inputs[X], *y = call->outputs[0];
    double outputs = 1, tiled = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        outputs *= (double)window->output[i];
        tiled *= (double)((window->output[i] + 1) / 2 * 2);
    }
    if (!costs || !(outputs > 0)) return;
    const double tiles = (double)x->shape[0] * tiled / 4;
    const double floats = 16 * tiles * (double)(x->shape[1] + y->shape[1]);
    const tn_cost cost = {.size = sizeof(cost),
                          .work = 16.0 / 36 * tiled / outputs,
                          .passed = 2 * sizeof(float) * floats,
                          .grown = (16.0 / 9 - 1) * (double)weights->bytes};
    costs->set(call, tactic, &cost);
}

/* Of a network's stem: weights beyond the first-level cache are read again for each few pixels. */
void tn_dnnl_tell_stem(tn_call *call, const tn_tensor *weights, uint32_t tactic) {
    enum { FIRST_LEVEL_BYTES = 48 * 1024 };
    const tn_cost_service *costs = call->host->extension(call->host, TN_COSTS);
    const tn_cost cost = {.size = sizeof(cost), .work = 1.5};
    const bool is_stem =
        call->inputs[X]->format == TN_LINEAR && call->outputs[0]->format != TN_LINEAR;
    if (costs && is_stem && weights->bytes > FIRST_LEVEL_BYTES) costs->set(call, tactic, &cost);
}
