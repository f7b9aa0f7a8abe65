/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two nodes at the same addresses, one after the other: the parameters, what they point to (lists,
 * texts, bytes, tensors) and constants. A network that is built when another one is gone has them
 * so; what a layer knows by an address alone is the other one's then.
 */
#ifndef TN_CONFORMANCE_WORKER_STEAD_H
#define TN_CONFORMANCE_WORKER_STEAD_H

#include "worker/subject.h"

enum { TN_STEAD_FIELDS = 32 };

typedef struct tn_stead {
    tn_guarded params, kernel_params, fields[TN_STEAD_FIELDS], constants[TN_PROBE_PORTS];
    tn_subject *subject; /* that is there; null: none */
    void *own_params;    /* where it was */
    const void *own_kernel_params, *own_constants[TN_PROBE_PORTS];
} tn_stead;

/* Makes room for each of both. Destroyed by tn_stead_destroy in any case. TN_ERROR_UNSUPPORTED:
 * there is too much of them. */
tn_status tn_stead_create(tn_stead *stead, const tn_subject *first, const tn_subject *second);
/* One of both lies there from now on, the other one, if it does, where it was before. */
tn_status tn_stead_put(tn_stead *stead, tn_subject *subject);
void tn_stead_destroy(tn_stead *stead); /* which lies there is where it was before */

#endif
