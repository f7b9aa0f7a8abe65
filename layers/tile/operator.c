/* SPDX-License-Identifier: Apache-2.0 */
/* Tile: a tensor repeated along each of its axes. */
#include "kit/operator/moves.h"

enum { TILE_INPUT = 0, TILE_REPEATS = 1 };

static tn_status read_repeats(tn_call *call, int64_t *out_repeats) {
    uint32_t count = 0;
    TN_TRY(tn_infer_require_rank(call, TILE_INPUT, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TILE_INPUT];
    TN_TRY(tn_infer_integers(call, TILE_REPEATS, TN_MAX_RANK, out_repeats, &count));
    if (count != x->rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'repeats' has %u numbers for a tensor of rank %u", count,
                                x->rank);
    for (uint32_t i = 0; i < count; i++)
        if (out_repeats[i] < 0)
            return call->host->fail(call, TN_ERROR_RANGE, "axis %u is repeated %lld times", i,
                                    (long long)out_repeats[i]);
    return TN_OK;
}

static tn_status tile_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    TN_TRY(read_repeats(call, shape));
    const tn_tensor *x = call->inputs[TILE_INPUT];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!tn_infer_multiply(shape[i], x->shape[i], &shape[i]))
            return call->host->fail(call, TN_ERROR_SHAPE, "axis %u becomes too long", i);
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

/* The output as one region with two axes, repeats and elements, for each axis of the tensor. Where
 * they are too many for a region, the first repeats become `loops`, executed outside. */
typedef struct tile_plan {
    tn_region region;
    uint32_t loop_count;
    int64_t loops[TN_MAX_RANK], steps[TN_MAX_RANK];
} tile_plan;

static void add_axis(tn_region *region, int64_t extent, int64_t to_stride, int64_t from_stride) {
    region->extents[region->rank] = extent;
    region->to_strides[region->rank] = to_stride;
    region->from_strides[region->rank++] = from_stride;
}

static void make_plan(const tn_tensor *x, const tn_tensor *y, const int64_t *repeats,
                      tile_plan *plan) {
    int64_t to[TN_MAX_RANK], from[TN_MAX_RANK];
    uint32_t needed = 0;
    memset(plan, 0, sizeof(*plan));
    plan->region.element_bytes = tn_element_bytes(x->type);
    tn_region_strides(y->rank, y->shape, to);
    tn_region_strides(x->rank, x->shape, from);
    for (uint32_t i = 0; i < x->rank; i++)
        needed += (x->shape[i] > 1 ? 1u : 0u) + (repeats[i] > 1 ? 1u : 0u);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (repeats[i] > 1 && needed > TN_MAX_RANK) {
            needed--;
            plan->loops[plan->loop_count] = repeats[i];
            plan->steps[plan->loop_count++] = to[i] * x->shape[i];
        } else if (repeats[i] > 1) {
            add_axis(&plan->region, repeats[i], to[i] * x->shape[i], 0);
        }
        if (x->shape[i] > 1) add_axis(&plan->region, x->shape[i], to[i], from[i]);
    }
}

static tn_status tile(tn_call *call, tn_region_mover mover) {
    const tn_tensor *x = call->inputs[TILE_INPUT], *y = call->outputs[0];
    int64_t repeats[TN_MAX_RANK], total = 1;
    tile_plan plan;
    TN_TRY(read_repeats(call, repeats));
    if (tn_element_count(y) == 0) return TN_OK;
    make_plan(x, y, repeats, &plan);
    for (uint32_t i = 0; i < plan.loop_count; i++)
        total *= plan.loops[i];
    for (int64_t round = 0; round < total; round++) {
        int64_t rest = round, offset = 0;
        for (uint32_t i = 0; i < plan.loop_count; rest /= plan.loops[i++])
            offset += rest % plan.loops[i] * plan.steps[i];
        TN_TRY(mover(call, &plan.region,
                     (char *)y->data + (size_t)offset * plan.region.element_bytes, x->data));
    }
    return TN_OK;
}

TN_MOVES(tile, tile)

static const tn_port tile_inputs[] = {
    TN_PORT("input", "T:any|string", 0, "any tensor"),
    TN_PORT("repeats", "i64", TN_PORT_VALUE_NEEDED, "how often, for each axis"),
};
static const tn_port tile_outputs[] = {TN_PORT("output", "T", 0, "the tensor, repeated")};
static const char *const tile_cases[] = {
    "| input=f32[2,3] repeats=i64[2]{2,2}",
    "| input=f32[2,1,3] repeats=i64[3]{1,5,2}",
    "| input=string[1,2]{a,b} repeats=i64[2]{2,2} | output=string[2,4]{a,b,a,b,a,b,a,b}",
    "| input=f16[3] repeats=i64[1]{4}",
    "| input=u8[2,2] repeats=i64[2]{0,3}",
    "| input=i64[] repeats=i64[0]",
    "| input=bool[0,2] repeats=i64[2]{3,2}",
    "| input=i16[2,2,2,2,2] repeats=i64[5]{2,1,3,2,2}",
    "| input=f32[1,64,14,14] repeats=i64[4]{2,1,2,2}",
};

TN_OPERATOR(tile, "", "Tile", 6, "Repeats a tensor along its axes.", TN_NO_FIELDS,
            .traits = TN_OPERATOR_SELECTS);

TN_MOVE_KERNELS(tile, "Tile");

TN_LAYER(tile, TN_OPERATORS(&tile_6), TN_KERNELS(&tile_runs, &tile_bytes));
