/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping until a word of this process changes (futex(2)). Any thread. */
#ifndef TN_DEVICE_FUTEX_H
#define TN_DEVICE_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps where the word is still `value`, until it is woken, or for no reason. `ns`: at most so
 * long; UINT64_MAX: without end. */
static inline void tn_futex_wait(atomic_uint *word, unsigned value, uint64_t ns) {
    const struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns == UINT64_MAX ? NULL : &time, NULL,
                  0);
}

/* Only the address is used: the word may be gone once its last sleeper can see that it changed. */
static inline void tn_futex_wake(atomic_uint *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
