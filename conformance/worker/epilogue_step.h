/* SPDX-License-Identifier: Apache-2.0 */
/* What epilogues compute of values, by which kernels and operators are judged. */
#ifndef TN_CONFORMANCE_WORKER_EPILOGUE_STEP_H
#define TN_CONFORMANCE_WORKER_EPILOGUE_STEP_H

#include "subject.h"

/* A bias, factor, addition or activation on element `index` of a tensor of this shape; `operand` is
 * null for activations. */
double tn_epilogue_step(const tn_chain_step *step, double x, const float *operand,
                        const tn_shape *shape, size_t index);

/* Elements of operand `index` of a bias, factor or addition to the subject's output 0, within 2 *
 * factor; false: it cannot have one. */
bool tn_epilogue_operand(tn_subject *subject, uint32_t index, const tn_chain_step *step,
                         double factor);

/* TN_CHAIN_WINDOW_MAX of x; y has the shape `windows`, of the same rank, at least 2. */
void tn_epilogue_windows(const tn_chain_step *step, const float *x, const tn_shape *shape,
                         const tn_shape *windows, float *y);

/* TN_CHAIN_PLANE_MEAN of x, whose rank is at least 3. */
void tn_epilogue_plane_mean(const float *x, const tn_shape *shape, float *y);

/* TN_CHAIN_SOFTMAX of x, whose shape y has. */
void tn_epilogue_softmax(const float *x, const tn_shape *shape, float *y);

#endif
