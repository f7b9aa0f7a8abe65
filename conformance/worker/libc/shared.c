/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with a state of the process; see shared.h. */
#include "worker/libc/shared.h"
#include "worker/watch/heap.h"
#include "worker/watch/next.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Atomic(const char *) seeded_by, drawn_by, kept_by; /* the function that was called */

void tn_shared_begin(void) {
    seeded_by = drawn_by = kept_by = NULL;
}

bool tn_shared_called(const char **out_rule, char *what, size_t bytes) {
    const char *name = atomic_exchange(&seeded_by, NULL);
    *out_rule = "environment";
    if (name) {
        snprintf(what, bytes,
                 "seeds the random numbers of the C library, which are the process' "
                 "(by %s)",
                 name);
        return true;
    }
    name = atomic_exchange(&drawn_by, NULL);
    if (name) {
        snprintf(what, bytes,
                 "draws random numbers of the C library, which are the process': the program and "
                 "other threads draw from the same ones (by %s)",
                 name);
        return true;
    }
    name = atomic_exchange(&kept_by, NULL);
    if (!name) return false;
    *out_rule = "contexts";
    snprintf(what, bytes,
             "calls %s, which keeps its state for all threads: two contexts disturb each other "
             "(%s_r does not)",
             name, name);
    return true;
}

#if !TN_IS_SANITIZED

/* ----------------------------------------------------------------------------------------------
 * the functions, seen by the libraries that are loaded */

/* Who calls is asked for once between two looks: that takes long. */
static void note(_Atomic(const char *) *by, const char *name, const void *caller) {
    if (!atomic_load_explicit(by, memory_order_relaxed) && tn_heap_is_of_library(caller))
        *by = name;
}

/* Before a library is initialised, or in its own initialisation, there is one thread. */
static void note_within(_Atomic(const char *) *by, const char *name, const void *caller) {
    if (tn_heap_is_within()) note(by, name, caller);
}

#pragma GCC visibility push(default)
#define SEEDS(name, type)                                                                          \
    void name(type seed) {                                                                         \
        void (*next)(type);                                                                        \
        TN_NEXT(next, #name);                                                                      \
        note(&seeded_by, #name, TN_CALLER);                                                        \
        next(seed);                                                                                \
    }
SEEDS(srand, unsigned)
SEEDS(srandom, unsigned)
SEEDS(srand48, long)

#define DRAWS(name, type)                                                                          \
    type name(void) {                                                                              \
        type (*next)(void);                                                                        \
        TN_NEXT(next, #name);                                                                      \
        note(&drawn_by, #name, TN_CALLER);                                                         \
        return next();                                                                             \
    }
DRAWS(rand, int)
DRAWS(random, long)
DRAWS(drand48, double)
DRAWS(lrand48, long)
DRAWS(mrand48, long)

#define KEEPS(name, type, parameters, arguments)                                                   \
    type name parameters {                                                                         \
        type(*next) parameters;                                                                    \
        TN_NEXT(next, #name);                                                                      \
        note_within(&kept_by, #name, TN_CALLER);                                                   \
        return next arguments;                                                                     \
    }
KEEPS(strtok, char *, (char *restrict text, const char *restrict between), (text, between))
KEEPS(localtime, struct tm *, (const time_t *time), (time))
KEEPS(gmtime, struct tm *, (const time_t *time), (time))
KEEPS(asctime, char *, (const struct tm *time), (time))
KEEPS(ctime, char *, (const time_t *time), (time))
#pragma GCC visibility pop

#endif
