/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a loop, cut into pieces that threads take one after another. Declared in parallel_job.h.
 */
#include "device/cpu/parallel_job.h"

#include <stdbool.h>

/* Pieces of a part: so many times a thread can notice a failure, or another one take over what is
 * left. More of them cost kernels their set-up of a range more often. */
#define MOST_PIECES 4

/* Where piece `index` of `pieces` begins; the first ones are longer by one item. */
static int64_t piece_begin(int64_t count, int64_t pieces, int64_t index) {
    const int64_t longer = count % pieces;
    return count / pieces * index + (index < longer ? index : longer);
}

void tn_parallel_job_init(tn_parallel_job *job, const tn_parallel_loop *loop) {
    job->loop = loop;
    atomic_init(&job->failed, TN_OK);
    atomic_init(&job->threads, 1);
    atomic_init(&job->attending, 0);
    for (uint32_t i = 0; i < loop->parts; i++)
        atomic_init(&job->parts[i].next, 0);
}

/* False: the loop has failed. */
static bool work_on_part(tn_parallel_job *job, uint32_t part, uint32_t thread) {
    const tn_parallel_loop *loop = job->loop;
    const int64_t begin = piece_begin(loop->count, loop->parts, part);
    const int64_t count = piece_begin(loop->count, loop->parts, (int64_t)part + 1) - begin;
    const int64_t most = count / loop->grain, pieces = most < MOST_PIECES ? most : MOST_PIECES;
    for (;;) {
        const int64_t i =
            atomic_fetch_add_explicit(&job->parts[part].next, 1, memory_order_relaxed);
        if (i >= pieces) return true;
        if (atomic_load_explicit(&job->failed, memory_order_relaxed) != TN_OK) return false;
        const tn_status status = loop->body(loop->user, begin + piece_begin(count, pieces, i),
                                            begin + piece_begin(count, pieces, i + 1), thread);
        int expected = TN_OK;
        if (status == TN_OK) continue;
        atomic_compare_exchange_strong(&job->failed, &expected, status);
        return false;
    }
}

void tn_parallel_job_work(tn_parallel_job *job, uint32_t thread) {
    const uint32_t parts = job->loop->parts;
    for (uint32_t i = 0; i < parts; i++)
        if (!work_on_part(job, (thread + i) % parts, thread)) return;
}
