/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that a device takes for what is enqueued on a stream of it, between two events: for
 * kernels that are called directly (stored.h). Many runs are enqueued and waited for once; where
 * they can be captured, a graph of them is launched, so that the host's work is not timed.
 */
#ifndef TN_CONFORMANCE_CASES_DEVICE_TIMING_H
#define TN_CONFORMANCE_CASES_DEVICE_TIMING_H

#include "plugin/runtime.h"

typedef struct tn_device_timer {
    const tn_device *device;
    void *stream;
    tn_status (*enqueue)(void *user); /* one run */
    void *user;
    uint32_t repeats;        /* runs between the events */
    void *from, *to, *graph; /* graph: null where it cannot be captured */
} tn_device_timer;

/* The members above `from` are set by the caller. What is enqueued has run once before. Closed by
 * tn_device_timer_close, also after a failure. */
tn_status tn_device_timer_open(tn_device_timer *timer, bool is_capturable);
/* Nanoseconds of one run. */
tn_status tn_device_timer_sample(tn_device_timer *timer, double *out_ns);
void tn_device_timer_close(tn_device_timer *timer);

#endif
