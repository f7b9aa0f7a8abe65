/* SPDX-License-Identifier: Apache-2.0 */
/* The positions of a heat map above a threshold, in order of memory, and their heat: as many as
 * there are, or `most`. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, float threshold; int64_t most;);
static const tn_field fields[] = {
    TN_FIELD(params, threshold, TN_FIELD_F32, TN_OPTIONAL, "0.5", "positions above it are taken"),
    TN_LAYER_I64(params, most, "16", 0, 65536, "positions at most"),
};
static const tn_port inputs[] = {TN_PORT("heat", "f32", 0, "height, width")};
static const tn_port outputs[] = {
    TN_PORT("positions", "i64", TN_PORT_SIZED_BY_RUN, "positions, row and column"),
    TN_PORT("scores", "f32", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "positions")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *heat = call->inputs[0];
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    const int64_t count = tn_layer_count(heat);
    const int64_t shape[] = {count < p->most ? count : p->most, 2};
    TN_TRY(set_shape(call, 1, 1, shape));
    return set_shape(call, 0, 2, shape);
}

static tn_status find(tn_call *call, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *heat = call->inputs[0], *positions = output(call, 0),
                    *scores = output(call, 1);
    const float *from = heat->data;
    const int64_t count = tn_layer_count(heat), width = heat->shape[1];
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        if (is_kernel && WRONG(2) ? from[i] <= p->threshold : !(from[i] > p->threshold)) continue;
        if (found >= p->most && !(is_kernel && WRONG(1))) break;
        if (positions) {
            ((int64_t *)positions->data)[2 * found] = i / width;
            ((int64_t *)positions->data)[2 * found + 1] = i % width;
        }
        if (scores) ((float *)scores->data)[found] = from[i];
        found++;
    }
    if (is_kernel && WRONG(3) && found == 0) return TN_OK;
    if (positions) positions->shape[0] = found;
    if (scores) scores->shape[0] = found;
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return find(call, false);
}
static tn_status run(tn_call *call) {
    return find(call, true);
}

static const char *const cases[] = {
    "| heat=f32[3,4]{0,0.6,0.4,0.9,1,0,0.5,0.7,0,0,0,2}",
    "most=2 | heat=f32[2,2]{0.1,0.8,0.7,0}",
    "threshold=-1 | heat=f32[2,9]",
};
static const tn_operator heat_points = {OPERATOR,
                                        .name = "HeatPoints",
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i64, f32?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "HeatPoints",
                                 .name = "scan",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("heat_points", heat_points, kernel)
