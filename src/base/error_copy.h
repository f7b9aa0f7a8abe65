/* SPDX-License-Identifier: Apache-2.0 */
/* An error that is kept: a thread's last one (error_store.h), or a copy of it (status.h). */
#ifndef TN_BASE_ERROR_COPY_H
#define TN_BASE_ERROR_COPY_H

#include <tenon/status.h>

typedef struct tn_error_copy {
    tn_status status;
    char message[2048];
    char where[1024];
} tn_error_copy;

#endif
