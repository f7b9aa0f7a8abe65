/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DepthToSpace, channels become blocks of pixels: [n, c, h, w] becomes [n, c / b^2, h b, w b]; and
 * SpaceToDepth, its inverse. In mode DCR the position in the block is the slower part of the
 * channel's number, in mode CRD the faster one; each operator had no mode at first. Rewrites find
 * both in what exporters write.
 */
#include "blocks/blocks.h"
#include "kit/operator/moves.h"

typedef struct blocks_params {
    uint64_t present;
    int64_t blocksize;
    uint32_t mode;
} blocks_params;

enum { BLOCKS_DCR = 0, BLOCKS_CRD = 1 };

#define FIELD_BLOCKSIZE                                                                            \
    TN_FIELD_RANGE(blocks_params, blocksize, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 65536,            \
                   "extent of a block, both ways")
#define FIELD_MODE(words)                                                                          \
    TN_FIELD_CHOICE(blocks_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "DCR", "DCR|CRD", words)
static const tn_field blocksize_fields[] = {FIELD_BLOCKSIZE};
static const tn_field depth_to_space_11_fields[] = {
    FIELD_BLOCKSIZE, FIELD_MODE("which part of a channel's number is the position in the block")};
static const tn_field space_to_depth_28_fields[] = {
    FIELD_BLOCKSIZE,
    FIELD_MODE("which part of the new channel's number is the position in the block")};

static bool is_crd(const tn_call *call, uint32_t version_of_mode) {
    const blocks_params *params = call->params;
    return call->op->since_version >= version_of_mode && params->mode == BLOCKS_CRD;
}

/* The output, in its own order, as six axes with these strides in the input. */
static tn_status move_axes(tn_call *call, tn_region_mover mover, const int64_t *extents,
                           const int64_t *from_strides) {
    tn_region region;
    tn_region_init(&region, 6, extents, call->inputs[0]->type);
    memcpy(region.from_strides, from_strides, 6 * sizeof(*from_strides));
    return mover(call, &region, call->outputs[0]->data, call->inputs[0]->data);
}

/* ----------------------------------------------------------------------------------------------
 * DepthToSpace */

static tn_status depth_to_space_infer(tn_call *call) {
    const blocks_params *params = call->params;
    const int64_t block = params->blocksize;
    TN_TRY(tn_infer_require_rank(call, 0, 4, 4));
    const int64_t *x = call->inputs[0]->shape;
    int64_t shape[4] = {x[0], x[1] / (block * block), 0, 0};
    if (x[1] % (block * block) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld channels are no multiple of %lld",
                                (long long)x[1], (long long)(block * block));
    if (!tn_infer_multiply(x[2], block, &shape[2]) || !tn_infer_multiply(x[3], block, &shape[3]))
        return call->host->fail(call, TN_ERROR_SHAPE, "the output becomes too large");
    return tn_infer_set_shape(call, 0, 4, shape);
}

/* The axes are image, channel, row, row in block, column, column in block. */
tn_status tn_depth_to_space_move(tn_call *call, tn_region_mover mover) {
    const blocks_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t block = params->blocksize, positions = block * block;
    const int64_t channels = call->outputs[0]->shape[1], height = x->shape[2], width = x->shape[3];
    const int64_t plane = height * width, position = is_crd(call, 11) ? plane : channels * plane;
    const int64_t channel = is_crd(call, 11) ? positions * plane : plane;
    const int64_t extents[] = {x->shape[0], channels, height, block, width, block};
    const int64_t from[] = {x->shape[1] * plane, channel, width, block * position, 1, position};
    return move_axes(call, mover, extents, from);
}
TN_MOVES(depth_to_space, tn_depth_to_space_move)

/* ----------------------------------------------------------------------------------------------
 * SpaceToDepth */

static tn_status space_to_depth_infer(tn_call *call) {
    const blocks_params *params = call->params;
    const int64_t block = params->blocksize;
    TN_TRY(tn_infer_require_rank(call, 0, 4, 4));
    const int64_t *x = call->inputs[0]->shape;
    int64_t shape[4] = {x[0], 0, x[2] / block, x[3] / block};
    if (x[2] % block != 0 || x[3] % block != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld x %lld pixels are no blocks of %lld",
                                (long long)x[2], (long long)x[3], (long long)block);
    if (!tn_infer_multiply(x[1], block * block, &shape[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "the output becomes too large");
    return tn_infer_set_shape(call, 0, 4, shape);
}

/* The axes are image, row in block, column in block, channel, row, column; in mode CRD the channel
 * stands before the block. */
tn_status tn_space_to_depth_move(tn_call *call, tn_region_mover mover) {
    const blocks_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t block = params->blocksize, channels = x->shape[1], width = x->shape[3];
    const int64_t plane = x->shape[2] * width;
    const bool crd = is_crd(call, 28);
    const int64_t extents[] = {x->shape[0], crd ? channels : block,
                               block,       crd ? block : channels,
                               y->shape[2], y->shape[3]};
    const int64_t from[] = {channels * plane, crd ? plane : width, crd ? width : 1,
                            crd ? 1 : plane,  block * width,       block};
    return move_axes(call, mover, extents, from);
}
TN_MOVES(space_to_depth, tn_space_to_depth_move)

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port inputs[] = {TN_PORT("input", "T:any", 0, "batch, channels, height, width")};
static const tn_port depth_to_space_outputs[] = {
    TN_PORT("output", "T", 0, "fewer channels, a larger picture")};
static const tn_port space_to_depth_outputs[] = {
    TN_PORT("output", "T", 0, "more channels, a smaller picture")};
#define DEPTH_TO_SPACE_CASES                                                                       \
    "blocksize=2 | input=f32[1,8,2,3]", "blocksize=3 | input=f16[2,9,1,2]",                        \
        "blocksize=1 | input=i8[1,3,2,2]", "blocksize=2 | input=i64[0,4,2,2]",                     \
        "blocksize=2 | input=f32[1,64,28,28]"
static const char *const depth_to_space_1_cases[] = {DEPTH_TO_SPACE_CASES};
static const char *const depth_to_space_11_cases[] = {
    DEPTH_TO_SPACE_CASES,
    "blocksize=2 mode=CRD | input=f32[1,8,2,3]",
    "blocksize=3 mode=CRD | input=u8[2,18,1,2]",
};

#define SPACE_TO_DEPTH_CASES                                                                       \
    "blocksize=2 | input=f32[1,2,4,6]", "blocksize=3 | input=f16[2,1,3,6]",                        \
        "blocksize=1 | input=i8[1,3,2,2]", "blocksize=2 | input=i64[0,4,2,2]",                     \
        "blocksize=2 | input=f32[1,64,28,28]"
static const char *const space_to_depth_1_cases[] = {SPACE_TO_DEPTH_CASES};
static const char *const space_to_depth_28_cases[] = {
    SPACE_TO_DEPTH_CASES,
    "blocksize=2 mode=CRD | input=f32[1,2,4,6]",
    "blocksize=3 mode=CRD | input=u8[2,2,3,6]",
};

#define BLOCKS(prefix, name, version, words, field_table)                                          \
    TN_OPERATOR_VERSION(prefix, "", name, version, words, TN_FIELDS(blocks_params, field_table),   \
                        TN_INPUTS(inputs), TN_OUTPUTS(prefix##_outputs),                           \
                        TN_CASES(prefix##_##version##_cases), .traits = TN_OPERATOR_SELECTS)
BLOCKS(depth_to_space, "DepthToSpace", 1, "Channels as blocks of pixels.", blocksize_fields);
BLOCKS(depth_to_space, "DepthToSpace", 11, "Channels as blocks of pixels.",
       depth_to_space_11_fields);
BLOCKS(space_to_depth, "SpaceToDepth", 1, "Blocks of pixels as channels.", blocksize_fields);
BLOCKS(space_to_depth, "SpaceToDepth", 28, "Blocks of pixels as channels.",
       space_to_depth_28_fields);

static const tn_kernel depth_to_space_runs = TN_REGION_KERNEL("DepthToSpace", depth_to_space_run);
static const tn_kernel space_to_depth_runs = TN_REGION_KERNEL("SpaceToDepth", space_to_depth_run);

/* ----------------------------------------------------------------------------------------------
 * rewrites of Reshape, Transpose and Reshape: r has the blocks as axes of their own */

#define SPLIT         "r = Reshape(x, ?in_blocks[], ...);"
#define JOINED(order) "y = Reshape(Transpose(r, perm=[" order "]), ?shape[], ...)"
#define BLOCKS_REWRITE(prefix, rewrite_name, words, text, result, is_it, ...)                      \
    TN_REWRITE(prefix, rewrite_name, words, .pattern = text, .replacement = result,                \
               .guard = is_it, __VA_ARGS__)

/* The channel is split into what stays a channel, row in block and column in block. */
static tn_status are_blocks_of_channels(const tn_match *match, int32_t row, int32_t column) {
    const int64_t block = tn_match_extent(match, "r", row);
    if (tn_match_rank(match, "x") != 4 || tn_match_rank(match, "r") != 6 || block < 1 ||
        block != tn_match_extent(match, "r", column) ||
        !match->is_equal_extent(match, "x", 0, "r", 0) ||
        !match->is_equal_extent(match, "x", 2, "r", 4) ||
        !match->is_equal_extent(match, "x", 3, "r", 5))
        return match->refuse(match, "the channels are not split into blocks");
    return tn_match_set_integer(match, "block", block);
}

static tn_status are_blocks_after_channels(const tn_match *match) {
    return are_blocks_of_channels(match, 2, 3);
}

static tn_status are_blocks_before_channels(const tn_match *match) {
    return are_blocks_of_channels(match, 1, 2);
}

static const char *const channels_cases[] = {
    "x=f32[2,12,2,3] in_blocks=[2,3,2,2,2,3] shape=[2,3,4,6]"};
static const char *const channels_misses[] = {
    "x=f32[2,12,2,3] in_blocks=[2,2,3,2,2,3] shape=[2,2,6,6]",
    "x=f32[2,12,2,3] in_blocks=[2,3,2,2,3,2] shape=[2,3,6,4]"};
BLOCKS_REWRITE(to_space_by_channels, "depth-to-space.channels",
               "the channel is the slower part, as in PyTorch's pixel_shuffle",
               SPLIT JOINED("0, 1, 4, 2, 5, 3"),
               "y = DepthToSpace@11(x, blocksize=$block, mode=CRD)", are_blocks_after_channels,
               TN_REWRITE_CASES(channels_cases), TN_REWRITE_MISSES(channels_misses));
static const char *const positions_cases[] = {
    "x=f32[2,12,2,3] in_blocks=[2,2,2,3,2,3] shape=[2,3,4,6]"};
BLOCKS_REWRITE(to_space_by_positions, "depth-to-space",
               "the position in the block is the slower part, as in TensorFlow",
               SPLIT JOINED("0, 3, 4, 1, 5, 2"), "y = DepthToSpace@11(x, blocksize=$block)",
               are_blocks_before_channels, TN_REWRITE_CASES(positions_cases));

/* The axes are n, c, row, row in block, column, column in block. */
static tn_status are_blocks_of_positions(const tn_match *match) {
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
BLOCKS_REWRITE(to_depth_by_positions, "space-to-depth",
               "the position in the block is the slower part of the channel, as in TensorFlow",
               SPLIT " " JOINED("0, 3, 5, 1, 2, 4"), "y = SpaceToDepth@1(x, blocksize=$block)",
               are_blocks_of_positions, TN_REWRITE_CASES(blocks_cases),
               TN_REWRITE_MISSES(blocks_misses));
BLOCKS_REWRITE(to_depth_by_channels, "space-to-depth.channels",
               "the channel is the slower part, as in PyTorch's pixel_unshuffle",
               SPLIT " " JOINED("0, 1, 3, 5, 2, 4"),
               "y = SpaceToDepth@28(x, blocksize=$block, mode=CRD)", are_blocks_of_positions,
               TN_REWRITE_CASES(blocks_cases), TN_REWRITE_MISSES(blocks_misses));

static const tn_rewrite *const blocks_rewrites[] = {&to_space_by_channels, &to_space_by_positions,
                                                    &to_depth_by_positions, &to_depth_by_channels};
TN_LAYER_WITH_REWRITES(blocks,
                       TN_OPERATORS(&depth_to_space_1, &depth_to_space_11, &space_to_depth_1,
                                    &space_to_depth_28),
                       TN_KERNELS(&depth_to_space_runs, &space_to_depth_runs), blocks_rewrites);
