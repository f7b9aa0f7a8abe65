/* SPDX-License-Identifier: Apache-2.0 */
/* What each kernel had of the time for measuring, for the log: getting ready, which for a library
 * may be compiling, and running. See timing_private.h. */
#include "builder/timing/timing_private.h"

void tn_timing_shares_add(struct tn_timing_scratch *timing, const tn_kernel *kernel, uint32_t count,
                          double prepare_ns, double run_ns) {
    uint32_t i = 0;
    while (i < timing->share_count && timing->shares[i].kernel != kernel)
        i++;
    if (i == TN_TIMING_SHARES) return;
    if (i == timing->share_count) timing->shares[timing->share_count++].kernel = kernel;
    timing->shares[i].count += count;
    timing->shares[i].prepare_ns += prepare_ns;
    timing->shares[i].run_ns += run_ns;
}

double tn_timing_prepare_ns(const tn_lowering *lowering, const tn_kernel *kernel) {
    const struct tn_timing_scratch *timing = lowering->timing;
    for (uint32_t i = 0; i < timing->share_count; i++)
        if (timing->shares[i].kernel == kernel)
            return timing->shares[i].prepare_ns / timing->shares[i].count;
    return 0;
}

void tn_timing_shares_log(const tn_lowering *lowering) {
    const struct tn_timing_scratch *timing = lowering->timing;
    for (uint32_t i = 0; i < timing->share_count; i++)
        tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                       "measured: %s %s %u times, %.2f s getting ready, %.2f s running",
                       timing->shares[i].kernel->op, timing->shares[i].kernel->name,
                       timing->shares[i].count, timing->shares[i].prepare_ns * 1e-9,
                       timing->shares[i].run_ns * 1e-9);
}
