/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite on a device: its kernels by stored.c, called directly in the device's
 * memory, and the device's own table (device_suite.c). `tenon-conformance --device cuda[:N]`.
 */
#ifndef TN_CONFORMANCE_DEVICE_SUITE_H
#define TN_CONFORMANCE_DEVICE_SUITE_H

#include "cases/conformance.h"

/* Memory, copies, streams, events, captured graphs, and conversions between all storages, against
 * those of the host. Prints the failures. */
void tn_device_suite(const tn_device *device, size_t *inout_passed, size_t *inout_failed);

#endif
