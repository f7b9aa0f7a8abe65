/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv of 8-bit tensors that stand for floating-point values on tiles (tiles_run.h): weights are
 * quantised a filter when they are packed; bias, residual, activation and the output's scale are
 * what tenon/kit/dot_end.h says.
 */
#include "conv/integer/tiles_run.h"
#include "conv/kernels.h"
#include "kit/int8/tiles/tile_scaled.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/dot_end.h>

#include <stdio.h>

#if defined(__x86_64__)

typedef struct scaled_state {
    const void *blob; /* the packed weights, then the filters' scales */
} scaled_state;

static bool read_run(tn_call *call, tn_float_epilogue *out_epilogue, tn_conv_tiles *run) {
    tn_window window;
    return tn_dot_call_read(call, 1, out_epilogue) && tn_conv_window(call, &window) == TN_OK &&
           tn_conv_tiles_read(call, &window, call->inputs[TN_CONV_W], 0, run);
}

static tn_status scaled_accepts(tn_call *call) {
    tn_float_epilogue epilogue;
    tn_conv_tiles run;
    return read_run(call, &epilogue, &run) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "this node does not read as a convolution on tiles");
}

/* ----------------------------------------------------------------------------------------------
 * prepare, reshape */

static float *scales_of(const tn_conv_tiles *run, const void *blob) {
    return (float *)(uintptr_t)((const char *)blob + tn_tile_layout_bytes(&run->layout));
}

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tn_conv_tiles *run = user;
    const tn_host *host = run->call->host;
    const float *w = run->call->inputs[TN_CONV_W]->data;
    const int64_t depth = run->channels * run->window.kernel[0] * run->window.kernel[1];
    int8_t *steps = host->allocate(host, (uint64_t)(run->filters * depth), 64);
    (void)bytes;
    if (!steps)
        return host->fail(run->call, TN_ERROR_MEMORY, "no memory to pack %lld weights",
                          (long long)(run->filters * depth));
    for (int64_t f = 0; f < run->filters; f++)
        tn_tile_quantise(w + f * depth, 1, depth, steps + f * depth, scales_of(run, data) + f);
    const tn_status status = tn_conv_tiles_pack(run, steps, data);
    host->deallocate(host, steps);
    return status;
}

static tn_status scaled_prepare(tn_call *call) {
    tn_float_epilogue epilogue;
    tn_conv_tiles run;
    char key[64];
    if (!read_run(call, &epilogue, &run)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(scaled_state)));
    scaled_state *state = call->state;
    snprintf(key, sizeof(key), "scaled tiles, chunks of %lld", (long long)run.layout.chunk);
    const uint64_t bytes = tn_tile_layout_bytes(&run.layout) + (uint64_t)run.filters * 4;
    return tn_kernel_state_finish(
        call, call->host->packed(call, TN_CONV_W, key, bytes, pack, &run, &state->blob));
}

static tn_status scaled_reshape(tn_call *call) {
    tn_float_epilogue epilogue;
    tn_conv_tiles run;
    if (!read_run(call, &epilogue, &run)) return refuse(call);
    call->workspace_bytes =
        tn_tile_scaled_bytes(&run.layout) + tn_conv_tiles_unit_bytes(&run) * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status scaled_run(tn_call *call) {
    const scaled_state *state = call->state;
    const tn_tensor *own = tn_infer_input(call, TN_CONV_B);
    const tn_tile_bias bias = {.values = own ? own->data : NULL, .stride = 1, .factor = 1.0f};
    tn_float_epilogue epilogue;
    tn_tile_scaled scaled;
    tn_conv_tiles run;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!read_run(call, &epilogue, &run)) return refuse(call);
    tn_tile_scaled_make(call, &epilogue, &run.layout, scales_of(&run, state->blob), 1.0f, &bias,
                        call->workspace, &scaled);
    run.end = scaled.end;
    return tn_conv_tiles_run(&run, state->blob,
                             (char *)call->workspace + tn_tile_scaled_bytes(&run.layout));
}

static const char *const combinations[] = {"qi8:nhwc, f32, f32? -> qi8:nhwc",
                                           "qi8:nhwc, f32, f32? -> f32:nhwc"};
TN_LEVEL_KERNELS_OF(, tn_conv_scaled_tiles, TN_LEVELS_TILES(tn_tile), "", 1, "Conv", "tiles",
                    "8-bit products on tiles, exact sums; weights quantised a filter.",
                    .traits = TN_KERNEL_DETERMINISTIC,
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    TN_COMBINATIONS(combinations), .accepts = scaled_accepts,
                    .prepare = scaled_prepare, .release = tn_kernel_state_destroy,
                    .reshape = scaled_reshape, .run = scaled_run);

#endif
