/* SPDX-License-Identifier: Apache-2.0 */
/* Times of steps, and the events by which a device's are measured; execution_profile.c. */
#ifndef TN_RUN_STATE_PROFILE_H
#define TN_RUN_STATE_PROFILE_H

#include <tenon/engine.h>

typedef struct tn_context_times {
    bool is_on;
    tn_profile_entry *entries; /* by step */
    uint32_t *steps;           /* of those that have run, in order */
    uint32_t count;
    void **events;     /* of the device */
    uint64_t *host_ns; /* by item: what the processor took */
    uint32_t event_count, event_capacity;
    double event_ns; /* what an event costs, the least of all runs; 0: not known */
} tn_context_times;

#endif
