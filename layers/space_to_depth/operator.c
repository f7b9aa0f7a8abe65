/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SpaceToDepth: blocks of places become channels: [n, c, h, w] becomes [n, c b^2, h / b, w / b];
 * the place in the block is the slower part of the new channel's number, in mode CRD (opset 28 on)
 * the faster one.
 */
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

typedef struct space_to_depth_params {
    uint64_t present;
    int64_t blocksize;
    uint32_t mode;
} space_to_depth_params;

enum { SPACE_DCR = 0, SPACE_CRD = 1 };

#define FIELD_BLOCKSIZE                                                                            \
    TN_FIELD_RANGE(space_to_depth_params, blocksize, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 65536,    \
                   "extent of a block, both ways")
static const tn_field space_to_depth_1_fields[] = {FIELD_BLOCKSIZE};
static const tn_field space_to_depth_28_fields[] = {
    FIELD_BLOCKSIZE,
    TN_FIELD_CHOICE(space_to_depth_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "DCR", "DCR|CRD",
                    "which part of the new channel's number is the place in the block"),
};

static tn_status space_to_depth_infer(tn_call *call) {
    const space_to_depth_params *params = call->params;
    const int64_t block = params->blocksize;
    TN_TRY(tn_infer_require_rank(call, 0, 4, 4));
    const int64_t *x = call->inputs[0]->shape;
    int64_t shape[4] = {x[0], 0, x[2] / block, x[3] / block};
    if (x[2] % block != 0 || x[3] % block != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld x %lld places are no blocks of %lld",
                                (long long)x[2], (long long)x[3], (long long)block);
    if (!tn_infer_multiply(x[1], block * block, &shape[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "the output becomes too large");
    return tn_infer_set_shape(call, 0, 4, shape);
}

/* As a region of axes image, row in block, column in block, channel, row, column; in mode CRD the
 * channel stands before the block. */
static tn_status move_all(tn_call *call, tn_region_mover mover) {
    const space_to_depth_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t block = params->blocksize, channels = x->shape[1], width = x->shape[3];
    const int64_t plane = x->shape[2] * width;
    const bool is_crd = call->op->since_version >= 28 && params->mode == SPACE_CRD;
    const int64_t extents[] = {x->shape[0], is_crd ? channels : block,
                               block,       is_crd ? block : channels,
                               y->shape[2], y->shape[3]};
    const int64_t from[] = {channels * plane,   is_crd ? plane : width, is_crd ? width : 1,
                            is_crd ? 1 : plane, block * width,          block};
    tn_region region;
    tn_region_init(&region, 6, extents, x->type); /* the output is walked in its own order */
    for (uint32_t i = 0; i < 6; i++)
        region.from_strides[i] = from[i];
    return mover(call, &region, y->data, x->data);
}

static tn_status space_to_depth_reference(tn_call *call) {
    return move_all(call, tn_region_copy);
}

static tn_status space_to_depth_run(tn_call *call) {
    return move_all(call, tn_region_copy_parallel);
}

static const tn_port space_to_depth_inputs[] = {
    TN_PORT("input", "T:any", 0, "batch, channels, height, width")};
static const tn_port space_to_depth_outputs[] = {
    TN_PORT("output", "T", 0, "more channels, a smaller picture")};
#define CASES_1                                                                                    \
    "blocksize=2 | input=f32[1,2,4,6]", "blocksize=3 | input=f16[2,1,3,6]",                        \
        "blocksize=1 | input=i8[1,3,2,2]", "blocksize=2 | input=i64[0,4,2,2]",                     \
        "blocksize=2 | input=f32[1,64,28,28]"
static const char *const space_to_depth_1_cases[] = {CASES_1};
static const char *const space_to_depth_28_cases[] = {
    CASES_1,
    "blocksize=2 mode=CRD | input=f32[1,2,4,6]",
    "blocksize=3 mode=CRD | input=u8[2,2,3,6]",
};

#define SPACE_TO_DEPTH(version)                                                                    \
    TN_OPERATOR_VERSION(space_to_depth, "", "SpaceToDepth", version,                               \
                        "Blocks of places as channels.",                                           \
                        TN_FIELDS(space_to_depth_params, space_to_depth_##version##_fields),       \
                        TN_INPUTS(space_to_depth_inputs), TN_OUTPUTS(space_to_depth_outputs),      \
                        TN_CASES(space_to_depth_##version##_cases), .traits = TN_OPERATOR_SELECTS)
SPACE_TO_DEPTH(1);
SPACE_TO_DEPTH(28);

static const tn_kernel space_to_depth_runs = TN_REGION_KERNEL("SpaceToDepth", space_to_depth_run);

/* Reshape, Transpose and Reshape, as exporters write blocks as channels: r has the axes n, c, row,
 * row in block, column, column in block. */
static tn_status are_blocks(const tn_match *match) {
    const int64_t block = tn_match_extent(match, "r", 3);
    const int64_t height = tn_match_extent(match, "x", 2), width = tn_match_extent(match, "x", 3);
    if (tn_match_rank(match, "x") != 4 || tn_match_rank(match, "r") != 6 || block < 1 ||
        block != tn_match_extent(match, "r", 5) || !match->is_equal_extent(match, "x", 0, "r", 0) ||
        !match->is_equal_extent(match, "x", 1, "r", 1) || height < 0 || width < 0 ||
        tn_match_extent(match, "r", 2) * block != height ||
        tn_match_extent(match, "r", 4) * block != width)
        return match->refuse(match, "the rows and columns are not split into blocks");
    return tn_match_set_integer(match, "block", block);
}

static const char *const blocks_cases[] = {
    "x=f32[2,3,4,6] in_blocks=[2,3,2,2,3,2] shape=[2,12,2,3]",
    "x=f32[1,1,9,3] in_blocks=[1,1,3,3,1,3] shape=[1,9,3,1]",
};
static const char *const blocks_misses[] = {
    "x=f32[2,3,4,6] in_blocks=[2,3,2,2,2,3] shape=[2,18,2,2]",
    "x=f32[2,3,4,6] in_blocks=[2,3,4,2,3,1] shape=[2,6,4,3]",
    "x=f32[4,3,2,6] in_blocks=[2,3,2,2,3,2] shape=[2,12,2,3]",
    "x=f32[2,3,4,6] in_blocks=[2,3,2,2,3,2] shape=[1,24,2,3]",
};
#define BLOCKS(order)                                                                              \
    "r = Reshape(x, ?in_blocks[]); y = Reshape(Transpose(r, perm=[" order "]), ?shape[])"
static const tn_rewrite by_places = {
    .size = sizeof(tn_rewrite),
    .name = "space-to-depth",
    .doc = "the position in the block is the slower part of the channel, as in TensorFlow",
    .pattern = BLOCKS("0, 3, 5, 1, 2, 4"),
    .replacement = "y = SpaceToDepth@1(x, blocksize=$block)",
    .guard = are_blocks,
    TN_REWRITE_CASES(blocks_cases),
    TN_REWRITE_MISSES(blocks_misses),
};
static const tn_rewrite by_channels = {
    .size = sizeof(tn_rewrite),
    .name = "space-to-depth.channels",
    .doc = "the channel is the slower part, as in PyTorch's pixel_unshuffle",
    .pattern = BLOCKS("0, 1, 3, 5, 2, 4"),
    .replacement = "y = SpaceToDepth@28(x, blocksize=$block, mode=CRD)",
    .guard = are_blocks,
    TN_REWRITE_CASES(blocks_cases),
    TN_REWRITE_MISSES(blocks_misses),
};

static const tn_rewrite *const space_to_depth_rewrites[] = {&by_places, &by_channels};
TN_LAYER_WITH_REWRITES(space_to_depth, TN_OPERATORS(&space_to_depth_1, &space_to_depth_28),
                       TN_KERNELS(&space_to_depth_runs), space_to_depth_rewrites);
