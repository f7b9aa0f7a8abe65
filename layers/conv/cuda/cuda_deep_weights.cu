/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few places (cuda_deep.cu): its weights in the order in which lanes read them,
 * those of a block beside each other, however
 * many blocks share them out. The host's work alone, when the network is prepared.
 */
#include "conv/cuda/cuda_deep.cuh"

extern "C" {
#include "kit/math/element.h"
}

uint64_t tn_cuda_deep_bytes(const tn_conv_geometry *g, const tn_cuda_direct_config *,
                            tn_type type) {
    const int64_t tiles = (g->filters + FILTERS - 1) / FILTERS;
    return (uint64_t)(tiles * deep_chunks(g->channels, type) * g->kernel_height * g->kernel_width *
                      UNIT);
}

/* By tile of filters, chunk, place of the window, 16 filters, half of the chunk's depth, lane; a
 * lane has of two filters, 8 apart, two words each. */
void tn_cuda_deep_pack(const tn_conv_geometry *g, const tn_cuda_direct_config *, tn_type type,
                       const float *from, void *to) {
    const int64_t each = deep_each(type) / 4, of_chunk = each * 16; /* elements a word, a chunk */
    const int64_t chunks = deep_chunks(g->channels, type);
    const int64_t taps = g->kernel_height * g->kernel_width;
    for (int64_t f = 0; f < g->filters; f++)
        for (int64_t c = 0; c < g->channels; c++) {
            const int64_t first = (f / FILTERS * chunks + c / of_chunk) * taps; /* unit */
            const int64_t word = c % of_chunk / each, lane = f % 8 * 4 + word / 4;
            const int64_t part = f % FILTERS / 16 * 2 + word % 4 / 2;
            for (int64_t unit = first; unit < first + taps; unit++) {
                const int64_t words = ((unit * 4 + part) * 32 + lane) * 4;
                const int64_t at = (words + word % 2 * 2 + f % 16 / 8) * each + c % each;
                if (type == TN_F32)
                    ((float *)to)[at] = tn_cuda_direct_tf32(*from++);
                else
                    tn_element_store_f64(to, type, at, (double)*from++);
            }
        }
}
