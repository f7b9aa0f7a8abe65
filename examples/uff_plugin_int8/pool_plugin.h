/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of UFF::MaxPool, which pool_plugin.c and cuda.cu share. */
#ifndef POOL_PLUGIN_H
#define POOL_PLUGIN_H

#include <tenon/plugin.h>

typedef struct params {
    uint64_t present;
    tn_type T;
    uint32_t data_format, padding;
    tn_i64s ksize, strides;
} params;

#endif
