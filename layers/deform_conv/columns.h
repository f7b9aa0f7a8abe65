/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of windows' elements reads in a channel; compiled once a processor level. */
#ifndef TN_LAYERS_DEFORM_CONV_COLUMNS_H
#define TN_LAYERS_DEFORM_CONV_COLUMNS_H

#include <stdint.h>

enum { TN_DEFORM_COLUMNS = 64 /* the most of a block */ };

/* Of each column the corners that it reads between (deform_conv.h), and its mask. */
typedef struct tn_deform_columns {
    int64_t count;
    uint32_t corners;
    int32_t at[8][TN_DEFORM_COLUMNS];
    float weight[8][TN_DEFORM_COLUMNS], mask[TN_DEFORM_COLUMNS];
} tn_deform_columns;

/* to[j] = mask[j] * sum over the corners i of weight[i][j] * plane[at[i][j]]; what weighs 0 counts
 * nothing, though it be infinite. */
typedef void (*tn_deform_columns_function)(const tn_deform_columns *columns, const float *plane,
                                           float *to);
void tn_deform_columns_read_baseline(const tn_deform_columns *columns, const float *plane,
                                     float *to);
void tn_deform_columns_read_avx2(const tn_deform_columns *columns, const float *plane, float *to);
void tn_deform_columns_read_avx512(const tn_deform_columns *columns, const float *plane, float *to);

#endif
