/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/try.h: the early return of a function that answers a status.
 *
 * Whoever failed has said why already (host->fail, or the core's tn_fail); a caller hands the
 * status on.
 */
#ifndef TENON_PLUGIN_TRY_H
#define TENON_PLUGIN_TRY_H

#include <tenon/plugin.h>

/* Returns the status of `call` from the function that it stands in, unless it is TN_OK. */
#define TN_TRY(call)                                                                               \
    do {                                                                                           \
        tn_status tn_try_status = (call);                                                          \
        if (tn_try_status != TN_OK) return tn_try_status;                                          \
    } while (0)

#endif
