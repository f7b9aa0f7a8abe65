/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP's team of the calling thread, libgomp's, for plans with kernels that use it. */
#ifndef TN_DEVICE_OPENMP_H
#define TN_DEVICE_OPENMP_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is one: the library was built with OpenMP, and libgomp is on this machine. */
bool tn_openmp_is_here(void);
/* Calls `body` once on each of `threads` threads, with the thread's number, and waits for all.
 * Only where tn_openmp_is_here. [thread: any] */
void tn_openmp_run(uint32_t threads, void (*body)(void *user, uint32_t thread), void *user);

#endif
