/* SPDX-License-Identifier: Apache-2.0 */
/* Test::HardStep: a layer of the device's own. This source is a plugin library on the machine that
 * builds the plan, and a part of the program on the device. */
#include <tenon/plugin/elementwise.h>

static const tn_field fields[] = {TN_NUMBER(threshold, F32, "0", "from where on the result is 1")};

TN_ELEMENTWISE_LIBRARY("hard_step", "1.0",
                       TN_ELEMENTWISE("Test", "HardStep", 1, "x >= threshold", fields,
                                      "1 from a threshold on, 0 below."))
