/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DepthToSpace: channels become blocks of places: [n, c, h, w] becomes [n, c / b^2, h b, w b]. In
 * mode DCR the place in the block is the slower part of the channel's number, in mode CRD the
 * faster one.
 */
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

typedef struct depth_to_space_params {
    uint64_t present;
    int64_t blocksize;
    uint32_t mode;
} depth_to_space_params;

enum { DEPTH_DCR = 0, DEPTH_CRD = 1 };

#define FIELD_BLOCKSIZE                                                                            \
    TN_FIELD_RANGE(depth_to_space_params, blocksize, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 65536,    \
                   "extent of a block, both ways")
static const tn_field depth_to_space_1_fields[] = {FIELD_BLOCKSIZE};
static const tn_field depth_to_space_11_fields[] = {
    FIELD_BLOCKSIZE,
    TN_FIELD_CHOICE(depth_to_space_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "DCR", "DCR|CRD",
                    "which part of a channel's number is the place in the block"),
};

static tn_status depth_to_space_infer(tn_call *call) {
    const depth_to_space_params *params = call->params;
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

/* As a region of axes image, channel, row, row in block, column, column in block. */
static tn_status move_all(tn_call *call, tn_region_mover mover) {
    const depth_to_space_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const bool is_crd = call->op->since_version >= 11 && params->mode == DEPTH_CRD;
    const int64_t block = params->blocksize, places = block * block, channels = y->shape[1];
    const int64_t height = x->shape[2], width = x->shape[3], plane = height * width;
    const int64_t place = is_crd ? plane : channels * plane;
    const int64_t extents[] = {x->shape[0], channels, height, block, width, block};
    const int64_t from[] = {
        x->shape[1] * plane, is_crd ? places * plane : plane, width, block * place, 1, place};
    tn_region region;
    tn_region_init(&region, 6, extents, x->type); /* the output is walked in its own order */
    for (uint32_t i = 0; i < 6; i++)
        region.from_strides[i] = from[i];
    return mover(call, &region, y->data, x->data);
}

static tn_status depth_to_space_reference(tn_call *call) {
    return move_all(call, tn_region_copy);
}

static tn_status depth_to_space_run(tn_call *call) {
    return move_all(call, tn_region_copy_parallel);
}

static const tn_port depth_to_space_inputs[] = {
    TN_PORT("input", "T:any", 0, "batch, channels, height, width")};
static const tn_port depth_to_space_outputs[] = {
    TN_PORT("output", "T", 0, "fewer channels, a larger picture")};
#define CASES_1                                                                                    \
    "blocksize=2 | input=f32[1,8,2,3]", "blocksize=3 | input=f16[2,9,1,2]",                        \
        "blocksize=1 | input=i8[1,3,2,2]", "blocksize=2 | input=i64[0,4,2,2]",                     \
        "blocksize=2 | input=f32[1,64,28,28]"
static const char *const depth_to_space_1_cases[] = {CASES_1};
static const char *const depth_to_space_11_cases[] = {
    CASES_1,
    "blocksize=2 mode=CRD | input=f32[1,8,2,3]",
    "blocksize=3 mode=CRD | input=u8[2,18,1,2]",
};

#define DEPTH_TO_SPACE(version)                                                                    \
    TN_OPERATOR_VERSION(depth_to_space, "", "DepthToSpace", version,                               \
                        "Channels as blocks of places.",                                           \
                        TN_FIELDS(depth_to_space_params, depth_to_space_##version##_fields),       \
                        TN_INPUTS(depth_to_space_inputs), TN_OUTPUTS(depth_to_space_outputs),      \
                        TN_CASES(depth_to_space_##version##_cases), .traits = TN_OPERATOR_SELECTS)
DEPTH_TO_SPACE(1);
DEPTH_TO_SPACE(11);

static const tn_kernel depth_to_space_runs = TN_REGION_KERNEL("DepthToSpace", depth_to_space_run);

/* Reshape, Transpose and Reshape, as exporters write channels as blocks: r has the channel split
 * into what stays a channel, row in block and column in block. */
static tn_status are_blocks(const tn_match *match, int32_t row, int32_t column) {
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
    return are_blocks(match, 2, 3);
}

static tn_status are_blocks_before_channels(const tn_match *match) {
    return are_blocks(match, 1, 2);
}

static const char *const channels_cases[] = {
    "x=f32[2,12,2,3] in_blocks=[2,3,2,2,2,3] shape=[2,3,4,6]"};
static const char *const channels_misses[] = {
    "x=f32[2,12,2,3] in_blocks=[2,2,3,2,2,3] shape=[2,2,6,6]",
    "x=f32[2,12,2,3] in_blocks=[2,3,2,2,3,2] shape=[2,3,6,4]"};
static const tn_rewrite by_channels = {
    .size = sizeof(tn_rewrite),
    .name = "depth-to-space.channels",
    .doc = "the channel is the slower part, as in PyTorch's pixel_shuffle",
    .pattern = "r = Reshape(x, ?in_blocks[]);"
               "y = Reshape(Transpose(r, perm=[0, 1, 4, 2, 5, 3]), ?shape[])",
    .replacement = "y = DepthToSpace@11(x, blocksize=$block, mode=CRD)",
    .guard = are_blocks_after_channels,
    TN_REWRITE_CASES(channels_cases),
    TN_REWRITE_MISSES(channels_misses),
};
static const char *const places_cases[] = {
    "x=f32[2,12,2,3] in_blocks=[2,2,2,3,2,3] shape=[2,3,4,6]"};
static const tn_rewrite by_places = {
    .size = sizeof(tn_rewrite),
    .name = "depth-to-space",
    .doc = "the position in the block is the slower part, as in TensorFlow",
    .pattern = "r = Reshape(x, ?in_blocks[]);"
               "y = Reshape(Transpose(r, perm=[0, 3, 4, 1, 5, 2]), ?shape[])",
    .replacement = "y = DepthToSpace@11(x, blocksize=$block)",
    .guard = are_blocks_before_channels,
    TN_REWRITE_CASES(places_cases),
};

static const tn_rewrite *const depth_to_space_rewrites[] = {&by_channels, &by_places};
TN_LAYER_WITH_REWRITES(depth_to_space, TN_OPERATORS(&depth_to_space_1, &depth_to_space_11),
                       TN_KERNELS(&depth_to_space_runs), depth_to_space_rewrites);
