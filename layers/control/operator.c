/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If, Loop and Scan: operators that run graphs. Each has a file of its own, and what they share is
 * declared in control.h. Their tables have no cases, which have no text for graphs:
 * tests/cli/check_control.py compares networks of them.
 */
#include "control.h"

TN_LAYER(control,
         TN_OPERATORS(&tn_control_if, &tn_control_loop, &tn_control_scan_8, &tn_control_scan_9,
                      &tn_control_scan_11),
         TN_KERNELS(&tn_control_if_kernel, &tn_control_loop_kernel, &tn_control_scan_8_kernel,
                    &tn_control_scan_kernel));
