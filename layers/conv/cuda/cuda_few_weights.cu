/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few channels (cuda_few.cu): its weights in the order in which lanes read them.
 * The host's work alone, when the network is prepared.
 */
#include "conv/cuda/cuda_few.cuh"

extern "C" {
#include "kit/math/element.h"
}

uint64_t tn_cuda_few_bytes(const tn_conv_geometry *g, const tn_cuda_direct_config *, tn_type type) {
    const int64_t lines = type == TN_F32 ? 4 : 8, block = g->filters <= 32 ? 32 : 64;
    return (uint64_t)((g->channels * g->kernel_height + lines - 1) / lines *
                      ((g->filters + block - 1) / block) * block *
                      tn_cuda_few_width(g->kernel_width, g->stride_width) * 16);
}

/* The numbers of a launch in the order in which lanes read them: group of lines, pair of places,
 * tiles two by two, lane, and of each tile both places; then the last place, tiles four by four. */
void tn_cuda_few_pack(const tn_conv_geometry *g, const tn_cuda_direct_config *, tn_type type,
                      const float *from, void *to) {
    const int64_t width = tn_cuda_few_width(g->kernel_width, g->stride_width);
    const int64_t each = type == TN_F32 ? 1 : 2, packs = type == TN_F32 ? 2 : 4;
    const int64_t tiles = g->filters <= 32 ? 4 : 8, block = tiles * 8;
    const int64_t lines = g->channels * g->kernel_height;
    const int64_t groups = (lines + 4 * each - 1) / (4 * each);
    for (int64_t f = 0; f < g->filters; f++) {
        const int64_t of = f % block, in = of % (packs * 8); /* of a block, of joined tiles */
        const int64_t tile = of / (packs * 8) * packs + in % (packs * 2) / 2;
        const int64_t column = in / (packs * 2) * 2 + in % 2;
        for (int64_t line = 0; line < lines; line++) {
            const int64_t group = line / (4 * each), k = line / each % 4;
            const int64_t base = (f / block * groups + group) * tiles * 32 * width;
            const float *row = from + ((f * g->channels + line % g->channels) * g->kernel_height +
                                       line / g->channels) *
                                          g->kernel_width;
            for (int64_t s = 0; s < g->kernel_width; s++) {
                const int64_t lane = column * 4 + k;
                const int64_t word =
                    s + 1 < width || width % 2 == 0
                        ? ((s / 2 * tiles + tile) / 2 * 32 + lane) * 4 + tile % 2 * 2 + s % 2
                        : (width / 2 * tiles * 16 + tile / 4 * 32 + lane) * 4 + tile % 4;
                const int64_t at = (base + word) * each + line % each;
                if (type == TN_F32)
                    ((float *)to)[at] = tn_cuda_direct_tf32(row[s]);
                else
                    tn_element_store_f64(to, type, at, (double)row[s]);
            }
        }
    }
}
