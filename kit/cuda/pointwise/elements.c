/* SPDX-License-Identifier: Apache-2.0 */
/* Filling jobs; see elements.h. */
#include "kit/cuda/pointwise/elements.h"
#include "kit/math/byte_table.h"
#include "kit/math/element.h"

_Static_assert((int)TN_CUDA_ELEMENTS_RANK == (int)TN_MAX_RANK, "the header has no access to it");
_Static_assert((int)TN_CUDA_ELEMENTS_INPUTS == (int)TN_CUDA_ITERATION_INPUTS,
               "as many as an iteration");

float tn_cuda_inverse_scale(const tn_tensor *tensor) {
    const float scale = tn_byte_scale(tensor);
    return scale != 0 ? 1 / scale : 1;
}

void tn_cuda_elements_fill(const tn_cuda_iteration *iteration, const tn_tensor *const *tensors,
                           const tn_tensor *y, tn_cuda_elements_job *out_job) {
    *out_job = (tn_cuda_elements_job){.to = y->data,
                                      .inverse = tn_cuda_inverse_scale(y),
                                      .count = (uint32_t)tn_element_count(y),
                                      .rank = iteration->rank};
    for (uint32_t i = 0; i < iteration->rank; i++)
        out_job->extents[i] = tn_divider_make((uint32_t)iteration->extents[i]);
    for (uint32_t k = 0; k < iteration->input_count; k++) {
        out_job->from[k] = tensors[k]->data;
        out_job->scales[k] = tn_byte_scale(tensors[k]);
        for (uint32_t i = 0; i < iteration->rank; i++)
            out_job->strides[k][i] = (uint32_t)iteration->strides[k][i];
    }
}

/* Of an output of one axis the last elements may be fewer. */
bool tn_cuda_elements_are_wide(const tn_cuda_iteration *iteration, int64_t each) {
    const uint32_t last = iteration->rank - 1;
    if (iteration->rank > 1 && iteration->extents[last] % each != 0) return false;
    for (uint32_t k = 0; k < iteration->input_count; k++) {
        if (iteration->strides[k][last] != 0 && iteration->strides[k][last] != 1) return false;
        for (uint32_t i = 0; i < last && iteration->strides[k][last] == 1; i++)
            if (iteration->strides[k][i] % each != 0) return false;
    }
    return true;
}
