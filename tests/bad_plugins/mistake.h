/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plugins of this folder share. Each source is a sound layer; WITH(name) is 1 in the
 * library that is built with the mistake `name` (CMakeLists.txt defines MISTAKE_name as a comma)
 * and 0 in all others, so that a mistake is the few lines that ask for it. mistakes.txt lists them.
 */
#ifndef BAD_PLUGINS_MISTAKE_H
#define BAD_PLUGINS_MISTAKE_H

#include <tenon/plugin.h>

#define MISTAKE_SECOND(first, second, ...) second
#define MISTAKE_GIVEN(comma_or_name)       MISTAKE_SECOND(comma_or_name 1, 0, 0)
#define WITH(name)                         MISTAKE_GIVEN(MISTAKE_##name)

/* The outputs' shape is that of input 0. */
static inline tn_status infer_same(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}

static inline int64_t count_of(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

#endif
