/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads' states, found by a key of the threads library; see error_store.h. The key's
 * destructor is code of this library, which is linked so that dlclose leaves it mapped (-z
 * nodelete): a thread may end after that. Where the key cannot be had, or cannot hold a value, a
 * slot is found by its owner.
 */
#include "base/error_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct slot {
    atomic_int owner; /* the kernel's number of a thread; 0: free */
    tn_error_state state;
} slot;

static slot slots[TN_ERROR_SLOT_COUNT];
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;
static atomic_uint unkeyed; /* how many slots were claimed that no key holds */

static int self(void) {
    return (int)syscall(SYS_gettid);
}

static slot *find_slot(int owner) {
    for (size_t i = 0; i < TN_ERROR_SLOT_COUNT; i++)
        if (atomic_load(&slots[i].owner) == owner) return &slots[i];
    return NULL;
}

/* One that no key held, or of a thread that a fork did not take along. */
static bool is_ended(int owner) {
    return owner != 0 && syscall(SYS_tgkill, getpid(), owner, 0) != 0 && errno == ESRCH;
}

static tn_error_state *claim_slot(void) {
    for (size_t i = 0; i < (size_t)2 * TN_ERROR_SLOT_COUNT; i++) {
        slot *candidate = &slots[i % TN_ERROR_SLOT_COUNT];
        int owner = i < TN_ERROR_SLOT_COUNT ? 0 : atomic_load(&candidate->owner);
        if ((i >= TN_ERROR_SLOT_COUNT && !is_ended(owner)) ||
            !atomic_compare_exchange_strong(&candidate->owner, &owner, self()))
            continue;
        candidate->state = (tn_error_state){.error = {.status = TN_OK, .offset = UINT64_MAX}};
        return &candidate->state;
    }
    return NULL;
}

static bool is_slot(const tn_error_state *state) {
    return (uintptr_t)state >= (uintptr_t)slots &&
           (uintptr_t)state < (uintptr_t)(slots + TN_ERROR_SLOT_COUNT);
}

/* At a thread's end. */
static void give_back(void *value) {
    if (is_slot(value))
        atomic_store(&((slot *)((char *)value - offsetof(slot, state)))->owner, 0);
    else
        free(value);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, give_back) == 0;
}

tn_error_state *tn_error_store_find(void) {
    pthread_once(&key_once, make_key);
    tn_error_state *state = has_key ? pthread_getspecific(key) : NULL;
    if (state || atomic_load(&unkeyed) == 0) return state;
    slot *mine = find_slot(self());
    return mine ? &mine->state : NULL;
}

tn_error_state *tn_error_store_get(void) {
    tn_error_state *state = tn_error_store_find();
    if (state) return state;
    state = claim_slot();
    if (!state) state = calloc(1, sizeof(*state));
    if (!state || (has_key && pthread_setspecific(key, state) == 0)) return state;
    if (is_slot(state)) {
        atomic_fetch_add(&unkeyed, 1);
        return state;
    }
    free(state);
    return NULL;
}
