/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the convolution of few places (cuda_deep.cu) have in common: how the work is
 * cut, and the order of packed weights. Private to them.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_DEEP_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_DEEP_CUH

#include "conv/cuda/cuda_direct.h"
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    TILES = 7,          /* of 8 places a warp */
    PLACES = TILES * 8, /* a warp */
    FILTERS = 32,       /* a warp, and a block */
    CHUNK = 64,         /* bytes of a position's channels that are multiplied at once */
    UNIT = FILTERS * CHUNK,
    FOURS = FILTERS / 4,
    PITCH = FILTERS + 4, /* floats from a place's sums to the next one's */
    MOST_SPLITS = 8,     /* blocks of a cluster that every GPU of its kind can have */
    MOST_SHARED = 226 * 1024,
};

/* How a convolution is cut. A patch is the input that a block's places see, with zeros outside of
 * the image; its positions lie `pitch` bytes apart in shared memory. */
struct deep_shape {
    int splits;             /* blocks that share out the chunks of a tile: a cluster */
    int all, chunks;        /* of channels: of a tile, of a block at most */
    int taps;               /* places of the window: a unit is a chunk at one of them */
    int places, tiles;      /* of a block; blocks an image */
    int share;              /* places that each block of a cluster finishes */
    int rows, columns;      /* of a patch */
    int pitch, packs;       /* bytes; 16 bytes of all positions */
    int step_y, step_x;     /* input positions from one of the patch to the next */
    int stride_y, stride_x; /* positions of the patch from one place to the next */
    int offset_y, offset_x; /* bytes of the patch from one place of the window to the next */
    tn_divider by_taps, by_window, by_packs, by_columns, by_width, by_share, by_tiles;
};

/* Elements that 16 bytes have. */
inline int64_t deep_each(tn_type type) {
    return type == TN_F32 ? 4 : 8;
}

/* Chunks of channels; the last one may be filled up. */
inline int64_t deep_chunks(int64_t channels, tn_type type) {
    const int64_t of_chunk = deep_each(type) * 4;
    return (channels + of_chunk - 1) / of_chunk;
}

} // namespace

#endif
