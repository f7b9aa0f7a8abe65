/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that nobody uses; see handles.h. */
#include "kit/cuda/handles.h"

#include <pthread.h>
#include <stddef.h>

enum { MOST_KEPT = 64 };

typedef struct kept_handle {
    uint32_t library, device;
    void *handle;
} kept_handle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept_handle kept[MOST_KEPT];
static uint32_t kept_count;

void *tn_cuda_handle_take(uint32_t library, uint32_t device) {
    void *found = NULL;
    pthread_mutex_lock(&lock);
    for (uint32_t i = kept_count; i-- > 0 && !found;) {
        if (kept[i].library != library || kept[i].device != device) continue;
        found = kept[i].handle;
        kept[i] = kept[--kept_count];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool tn_cuda_handle_keep(uint32_t library, uint32_t device, void *handle) {
    pthread_mutex_lock(&lock);
    const bool is_kept = kept_count < MOST_KEPT;
    if (is_kept) kept[kept_count++] = (kept_handle){library, device, handle};
    pthread_mutex_unlock(&lock);
    return is_kept;
}
