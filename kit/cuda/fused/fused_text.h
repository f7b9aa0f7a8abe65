/* SPDX-License-Identifier: Apache-2.0 */
/* A source while it is printed: text that grows, and what failed first. What is printed is
 * fused_source.c's matter. */
#ifndef TN_KIT_CUDA_FUSED_FUSED_TEXT_H
#define TN_KIT_CUDA_FUSED_FUSED_TEXT_H

#include <tenon/plugin.h>

typedef struct tn_fused_text {
    const tn_host *host;
    char *data; /* host->allocate */
    size_t length, capacity;
    tn_status status; /* of the first failure; its reason in `why` */
    char *why;
    size_t why_bytes;
} tn_fused_text;

/* Notes why; answers false. */
bool tn_fused_text_fail(tn_fused_text *source, tn_status status, const char *format, ...)
    TN_PRINTF(3, 4);
/* False once anything has failed. A formatted line has at most 599 characters. */
bool tn_fused_text_append(tn_fused_text *source, const char *text);
bool tn_fused_text_add(tn_fused_text *source, const char *format, ...) TN_PRINTF(2, 3);

#endif
