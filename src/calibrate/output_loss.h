/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far an output is from what it should be, summed over batches: sum |y - r| / sum |r|, and the
 * share of rows (along the last axis) whose largest element is another one.
 */
#ifndef TN_CALIBRATE_OUTPUT_LOSS_H
#define TN_CALIBRATE_OUTPUT_LOSS_H

#include <stdbool.h>
#include <tenon/plugin.h>

typedef struct tn_output_loss {
    double difference, magnitude; /* sums of |y - r| and |r| */
    uint64_t row_count, changed_count;
    bool is_broken; /* shapes differ, or what is not finite is in one alone */
} tn_output_loss;

/* Adds one batch's output. Linear tensors of one type. */
void tn_output_loss_add(tn_output_loss *loss, const tn_tensor *reference, const tn_tensor *tested);
/* 0 when nothing differs; infinite when it is broken or only the reference is zero. */
double tn_output_loss_value(const tn_output_loss *loss);
double tn_output_loss_changed_share(const tn_output_loss *loss);

#endif
