/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device without hardware, as hard to please as real ones: the host cannot read its memory (it is
 * protected but while the device works), and nothing is done before the host waits for the stream.
 * Who reads too early reads old bytes, who touches its memory crashes, who frees too early is told.
 */
#ifndef TN_TESTS_STUB_H
#define TN_TESTS_STUB_H

#include <tenon/plugin.h>
#include <tenon/plugin/device.h>

/* What happens to one of the stub's devices, and what it has counted; tn_device.user points here.
 * Counts begin when a test sets them to zero; what fails is the n-th from then on (0: none). The
 * variable TENON_STUB_FAIL sets the first device's: "allocate:3", "launch:1" or "wait:2", with
 * ",lasting" behind it where the device is to be lost. */
typedef struct tn_stub_state {
    uint64_t allocations, launches, waits, deallocations, copies, graphs, pairs; /* counted */
    uint64_t done;                                                         /* pieces of work */
    int entered;                                                           /* enters less leaves */
    uint64_t libraries_made, libraries_freed, handles_made, handles_freed; /* shared resources */
    uint64_t fail_allocation, fail_launch, fail_wait;
    uint64_t most_bytes; /* of an allocation; 0: as much as the stub has */
    bool is_lasting;     /* what fails next loses the device */
    bool is_lost;
    char lost[128];
    char version[32]; /* of its driver, as it were */
    char fingerprint[64], libraries[64];
    /* Enqueues a body for a kernel's call; a body of null is the operator's reference. */
    tn_status (*enqueue)(tn_call *call, tn_callback body);
    /* For kernels that do not look at what their launch answered. */
    void (*refuse_launch)(void);
} tn_stub_state;

extern const tn_device tn_stub_device, tn_stub_second_device;
extern const tn_kernel *const tn_stub_kernels[];
extern const uint64_t tn_stub_kernel_count;

/* Enqueues an operator's reference for a kernel's call. */
tn_status tn_stub_enqueue(tn_call *call);

#endif
