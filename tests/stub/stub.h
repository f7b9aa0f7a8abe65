/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device without hardware, as hard to please as real ones: the host cannot read its memory (it is
 * protected but while the device works), and nothing is done before the host waits for the stream.
 * Who reads too early reads old bytes, who touches its memory crashes, who frees too early is told.
 */
#ifndef TN_TESTS_STUB_H
#define TN_TESTS_STUB_H

#include <tenon/plugin.h>

extern const tn_device tn_stub_device, tn_stub_second_device;
extern const tn_kernel *const tn_stub_kernels[];
extern const uint64_t tn_stub_kernel_count;

/* Enqueues an operator's reference for a kernel's call. */
tn_status tn_stub_enqueue(tn_call *call);

#endif
