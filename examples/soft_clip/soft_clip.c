/* SPDX-License-Identifier: Apache-2.0 */
/* Test::SoftClip: a layer that is one expression. The host computes all the rest from it; what else
 * can be stated is in tenon/plugin/elementwise.h. */
#include <tenon/plugin/elementwise.h>

static const tn_field fields[] = {
    TN_NUMBER(low, F32, "0", "what the smallest elements become"),
    TN_NUMBER(high, F32, "6", "what the largest elements become"),
};

TN_ELEMENTWISE_LIBRARY("soft_clip", "1.0",
                       TN_ELEMENTWISE("Test", "SoftClip", 1, "low + (high - low) * sigmoid(x)",
                                      fields, "A smooth clip between two values."))
