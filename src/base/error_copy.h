/* SPDX-License-Identifier: Apache-2.0 */
/* An error that is kept: a thread's last one (error_store.h), or a copy of it (status.h). */
#ifndef TN_BASE_ERROR_COPY_H
#define TN_BASE_ERROR_COPY_H

#include <tenon/status.h>

typedef struct tn_error_copy {
    tn_status status;
    uint32_t line, column; /* 0: unknown */
    uint64_t offset;       /* UINT64_MAX: unknown */
    char message[2048];
    char where[1024];
    /* What is known of the position, by name; longer ones are cut. */
    char node[256], op[128], library[128], file[512];
    char mend[512];
} tn_error_copy;

#endif
