/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of boxes: elements joined to wider ones where both sides allow it; see region.h. */
#include "kit/cuda/region/region.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/region/region_job.h"
#include "kit/cuda/iteration.h"
#include "kit/math/byte_table.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

enum { WIDEST = 16 }; /* bytes that a thread moves at once */

const char *const tn_cuda_region_combinations[4] = {"* -> *", "f16 -> f16", "bf16 -> bf16",
                                                    "qi8 -> qi8"};
const char *const tn_cuda_region_placed_combinations[4] = {
    "*, *?... -> *", "f16, *?... -> f16", "bf16, *?... -> bf16", "qi8, *?... -> qi8"};

tn_status tn_cuda_region_accepts(tn_call *call) {
    const float scale = tn_byte_scale(call->inputs[0]);
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *y = call->outputs[i];
        if (!y) continue;
        if (!tn_cuda_iteration_knows(y) || tn_element_count(y) > TN_CUDA_MOST_ELEMENTS ||
            tn_byte_scale(y) != scale)
            return TN_ERROR_UNSUPPORTED;
    }
    return tn_cuda_iteration_knows(call->inputs[0]) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* Whether pairs of elements can be moved as one. */
static bool can_widen(const tn_region *region, uintptr_t to, uintptr_t from) {
    const uint32_t last = region->rank - 1;
    if (region->element_bytes >= WIDEST || region->extents[last] % 2 != 0 ||
        region->to_strides[last] != 1 || region->from_strides[last] != 1 ||
        (to | from) % (2 * region->element_bytes) != 0)
        return false;
    for (uint32_t i = 0; i < last; i++)
        if (region->to_strides[i] % 2 != 0 || region->from_strides[i] % 2 != 0) return false;
    return true;
}

/* Up to elements of `most` bytes. */
static void widen(tn_region *region, uintptr_t to, uintptr_t from, size_t most) {
    const uint32_t last = region->rank - 1;
    while (region->element_bytes < most && can_widen(region, to, from)) {
        region->element_bytes *= 2;
        region->extents[last] /= 2;
        for (uint32_t i = 0; i < last; i++) {
            region->to_strides[i] /= 2;
            region->from_strides[i] /= 2;
        }
    }
}

tn_status tn_cuda_region_copy(tn_call *call, const tn_region *region, void *to, const void *from) {
    tn_region own = *region;
    if (!tn_region_simplify(&own)) return TN_OK;
    widen(&own, (uintptr_t)to, (uintptr_t)from, WIDEST);
    if (tn_infer_product(own.extents, 0, own.rank) > TN_CUDA_MOST_ELEMENTS)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "an output of more than 2^31 - 1 elements");
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_region_launch(&own, to, from, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a copy");
}

/* ----------------------------------------------------------------------------------------------
 * several at once */

static bool is_strip(const tn_region *region) {
    const uint32_t last = region->rank - 1;
    return region->rank <= 2 && region->to_strides[last] == 1 && region->from_strides[last] == 1;
}

static tn_cuda_strip strip_of(const tn_region *region, void *to, const void *from) {
    const uint32_t last = region->rank - 1;
    tn_cuda_strip strip = {.from = from, .to = to, .rows = 1, .columns = region->extents[last]};
    if (last == 0) return strip;
    strip.rows = region->extents[0];
    strip.from_pitch = region->from_strides[0];
    strip.to_pitch = region->to_strides[0];
    return strip;
}

/* The widest elements that all of them can be moved by. */
static size_t find_width(const tn_region *regions, void *const *to, const void *const *from,
                         uint32_t count) {
    size_t width = WIDEST;
    for (uint32_t i = 0; i < count; i++) {
        tn_region wide = regions[i];
        widen(&wide, (uintptr_t)to[i], (uintptr_t)from[i], width);
        width = wide.element_bytes;
    }
    return width;
}

tn_status tn_cuda_region_copy_all(tn_call *call, uint32_t count, const tn_region *regions,
                                  void *const *to, const void *const *from) {
    tn_cuda_strip strips[TN_CUDA_STRIPS];
    int64_t elements = 0;
    bool are_strips = count <= TN_CUDA_STRIPS;
    for (uint32_t i = 0; i < count && are_strips; i++) {
        are_strips = is_strip(&regions[i]);
        elements += tn_infer_product(regions[i].extents, 0, regions[i].rank);
    }
    if (!are_strips || elements > TN_CUDA_MOST_ELEMENTS) {
        for (uint32_t i = 0; i < count; i++)
            TN_TRY(tn_cuda_region_copy(call, &regions[i], to[i], from[i]));
        return TN_OK;
    }
    const size_t width = find_width(regions, to, from, count);
    for (uint32_t i = 0; i < count; i++) {
        tn_region own = regions[i];
        widen(&own, (uintptr_t)to[i], (uintptr_t)from[i], width);
        strips[i] = strip_of(&own, to[i], from[i]);
    }
    if (count == 0) return TN_OK;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_strips_launch(count, strips, width, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a copy");
}
