/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs again and again in one frame, as close together as can be: what goes wrong seldom is found
 * so. For the rules about threads and about contexts.
 */
#ifndef TN_CONFORMANCE_OFTEN_H
#define TN_CONFORMANCE_OFTEN_H

#include "rules/rules.h"

#include <stdatomic.h>

/* Of the thread's own time: two that have one processor between them take turns several times. */
#define TN_OFTEN_SECONDS       0.01
#define TN_OFTEN_OTHER_SECONDS 0.003

typedef struct tn_often {
    bool is_exact;
    double seconds;
    /* How often the work was shared among threads; what never is is run less often. Null: nobody
     * asks. */
    const atomic_uint *shared_count;
} tn_often;

/* The longer time on the first case of each type. */
double tn_often_seconds(const tn_test *test);

/* Whether the memory's outputs are the expected ones. */
bool tn_often_compare(const tn_probe *probe, const tn_probe_memory *memory,
                      const tn_outcome *expected, bool is_exact, const char *during,
                      tn_verdict *verdict);

/* One ordinary run, which is compared; then the same again and again, compared whenever the outputs
 * are not as they were. */
void tn_often_run(tn_probe_context *context, tn_probe *probe, const tn_outcome *expected,
                  const tn_often *how, const char *during, tn_verdict *verdict);

#endif
