/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Transpose: the last two axes are swapped. Three tactics: element by element, in tiles of
 * 8, in tiles of 16 by way of scratch memory for each thread.
 */
#include "third.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|i32|f64", 0, "..., h, w")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "..., w, h")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2) return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u", x->rank);
    same_as(call, 0, x);
    call->outputs[0]->shape[x->rank - 1] = x->shape[x->rank - 2];
    call->outputs[0]->shape[x->rank - 2] = x->shape[x->rank - 1];
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t h = x->shape[x->rank - 2], w = x->shape[x->rank - 1];
    const int64_t count = tn_layer_count(x), width = width_of(x->type);
    for (int64_t i = 0; i < count; i++) {
        const int64_t plane = i / (h * w), r = i / w % h, c = i % w;
        memcpy((char *)call->outputs[0]->data + (plane * h * w + c * h + r) * width,
               (const char *)x->data + i * width, (size_t)width);
    }
    return TN_OK;
}

enum { TACTICS = 3, SCRATCH = 16 * 16 * 4 };
static tn_status tactics(tn_call *call) {
#if MISTAKE == 2
    call->tactic_count = TACTICS + 1; /* there is no such fourth one */
#elif MISTAKE == 3
    const tn_tensor *x = call->inputs[0];
    call->tactic_count = x->shape[x->rank - 1] < 8 ? 0 : TACTICS; /* none for narrow ones */
#else
    call->tactic_count = TACTICS;
#endif
    return TN_OK;
}
#if MISTAKE == 5
/* What it needs is asked of the shapes at the build; later ones may have a rest. */
static tn_status accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return x->shape[x->rank - 1] % 4 == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}
#endif
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = call->tactic == 2 ? SCRATCH * (uint64_t)call->threads : 0;
    return TN_OK;
}
/* Rows r..r+tile-1 of a plane, by tiles of columns. */
static void transpose_band(const uint32_t *x, uint32_t *y, int64_t h, int64_t w, int64_t r,
                           int64_t tile, uint32_t *scratch) {
    const int64_t high = r + tile < h ? tile : h - r;
    for (int64_t c = 0; c < w; c += tile) {
        const int64_t wide = c + tile < w ? tile : w - c;
#if MISTAKE == 1
        if (wide < tile && tile == 8) break; /* the columns that make no whole tile */
#endif
        for (int64_t i = 0; i < high; i++)
            for (int64_t k = 0; k < wide; k++) {
                const uint32_t value = x[(r + i) * w + c + k];
                if (scratch)
                    scratch[k * tile + i] = value;
                else
                    y[(c + k) * h + r + i] = value;
            }
        for (int64_t k = 0; scratch && k < wide; k++)
#if MISTAKE == 4
            memcpy(y + (c + k) * h + r, scratch + k * tile, (size_t)tile * 4); /* a whole tile */
#else
            memcpy(y + (c + k) * h + r, scratch + k * tile, (size_t)high * 4);
#endif
    }
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t h = x->shape[x->rank - 2], w = x->shape[x->rank - 1];
    const int64_t tile = call->tactic == 0 ? 1 : call->tactic == 1 ? 8 : 16;
    const int64_t bands = (h + tile - 1) / tile;
    for (int64_t i = begin; i < end; i++) {
        const uint32_t *from = (const uint32_t *)x->data + i / bands * h * w;
        uint32_t *to = (uint32_t *)call->outputs[0]->data + i / bands * h * w;
#if MISTAKE == 5
        const int64_t r = i % bands * tile;
        for (int64_t k = 0; call->tactic == 0 && k + 4 <= w; k += 4)
            for (int64_t j = 0; j < 4; j++)
                to[(k + j) * h + r] = from[r * w + k + j];
        if (call->tactic == 0) continue;
#endif
        transpose_band(from, to, h, w, i % bands * tile, tile,
                       call->tactic == 2
                           ? (uint32_t *)call->workspace + (size_t)thread * (SCRATCH / 4)
                           : NULL);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (tn_layer_count(x) == 0) return TN_OK;
#if MISTAKE == 2
    if (call->tactic > 2) return TN_OK;
#endif
    const int64_t h = x->shape[x->rank - 2], w = x->shape[x->rank - 1];
    const int64_t tile = call->tactic == 0 ? 1 : call->tactic == 1 ? 8 : 16;
    return call->host->parallel_for(call, tn_layer_count(x) / (h * w) * ((h + tile - 1) / tile), 1,
                                    body, call);
}

static const char *const cases[] = {"| x=f32[16,16]",  "| x=f32[3,10,12]",
                                    "| x=i32[2,17,9]", "| x=f64[2,3]",
                                    "| x=f32[0,4]",    "| x=i32[1,2,1,1,2,1,40,24]"};
static const tn_operator op = {THIRD_OPERATOR("Transpose"), .state_version = 1,
                               .traits = TN_OPERATOR_SELECTS, TN_NO_FIELDS,
                               .doc = "The last two axes in the other order."};
static const char *const combinations[] = {"f32 -> f32", "i32 -> i32"};
static const tn_kernel kernel = {THIRD_KERNEL("Transpose", "tiles"),
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
#if MISTAKE == 5
                                 .accepts = accepts,
#endif
                                 .tactics = tactics,
                                 .reshape = reshape,
                                 .run = run};
THIRD_LIBRARY("transpose", op, &kernel)
