/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source while it is printed: text that grows, what failed first, and expressions as lines of
 * CUDA. What is printed is fused_source.c's matter.
 */
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
/* False once anything has failed. A formatted line has at most 299 characters. */
bool tn_fused_text_append(tn_fused_text *source, const char *text);
bool tn_fused_text_add(tn_fused_text *source, const char *format, ...) TN_PRINTF(2, 3);

/* What a name stands for: CUDA text of a float. Empty: nothing. */
typedef struct tn_fused_value {
    char text[40];
} tn_fused_value;

/* By its bits: exact, also where it is not finite. */
void tn_fused_value_number(double number, tn_fused_value *out_value);

/* The names of an expression: the input ports and numeric fields of an operator. */
typedef struct tn_fused_names {
    const tn_operator *op; /* null: the names are x, alpha, beta and b */
    const void *params;
    const tn_fused_value *inputs; /* by port */
    uint32_t input_count;
} tn_fused_names;

/* Lines for the expression `text` (null: fails), which end in `const float r<link> = ...;`. */
bool tn_fused_text_add_expression(tn_fused_text *source, uint32_t link, const char *text,
                                  const tn_fused_names *names);

#endif
