/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times on a device that is not the processor, and the most that it can do with bytes: a copy from
 * its memory to its memory. Runs are enqueued many at a time; see ../device_timing.h and bench.h.
 */
#include "base/status.h"
#include "bench.h"
#include "cases/device_timing.h"

enum { REPEATS_AT_MOST = 200 };

#define SAMPLE_NS     400e3 /* of the runs between two events */
#define LIMIT_SECONDS 0.2

static tn_status sample(void *user, double *out_ns) {
    return tn_device_timer_sample(user, out_ns);
}

/* How many runs are worth two events, from a few of them. */
static tn_status choose_repeats(tn_device_timer *timer) {
    double ns = 0;
    timer->repeats = 4;
    tn_status status = tn_device_timer_open(timer, false);
    for (int i = 0; i < 2 && status == TN_OK; i++)
        status = tn_device_timer_sample(timer, &ns);
    tn_device_timer_close(timer);
    const double repeats = ns > 0 ? SAMPLE_NS / ns : REPEATS_AT_MOST;
    timer->repeats = repeats < 1                 ? 1
                     : repeats > REPEATS_AT_MOST ? REPEATS_AT_MOST
                                                 : (uint32_t)repeats;
    return status;
}

tn_status tn_bench_on_device(tn_stopwatch *watch, const tn_bench_target *target, bool is_capturable,
                             tn_status (*enqueue)(void *user), void *user) {
    tn_device_timer timer = {.device = target->device.device,
                             .stream = target->stream,
                             .enqueue = enqueue,
                             .user = user};
    double first = 0;
    TN_TRY(choose_repeats(&timer));
    tn_status status = tn_device_timer_open(&timer, is_capturable);
    if (status == TN_OK) status = tn_device_timer_sample(&timer, &first); /* not yet warm */
    if (status == TN_OK) status = tn_stopwatch_sample(watch, sample, &timer, timer.repeats);
    tn_device_timer_close(&timer);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * copies */

typedef struct device_copy {
    const tn_bench_target *target;
    void *from, *to;
    uint64_t bytes;
} device_copy;

static tn_status copy_once(void *user) {
    const device_copy *c = user;
    const tn_device *device = c->target->device.device;
    return device->copy(device, c->to, c->from, c->bytes, TN_COPY_ON_DEVICE, c->target->stream);
}

tn_status tn_limits_copy_on_device(const tn_bench_target *target, size_t bytes,
                                   double *out_bytes_a_second) {
    const tn_device *device = target->device.device;
    device_copy c = {.target = target, .bytes = (bytes / 2 + 4096) / 256 * 256};
    tn_stopwatch watch = {.seconds = LIMIT_SECONDS};
    tn_status status = device->allocate(device, c.bytes, target->stream, &c.from);
    if (status == TN_OK) status = device->allocate(device, c.bytes, target->stream, &c.to);
    if (status == TN_OK) status = device->fill(device, c.from, 1, c.bytes, target->stream);
    if (status != TN_OK) status = tn_fail(status, "%s", device->last_error(device));
    if (status == TN_OK) status = tn_bench_on_device(&watch, target, true, copy_once, &c);
    if (status == TN_OK) *out_bytes_a_second = 2.0 * (double)c.bytes / (watch.best_ns * 1e-9);
    if (c.from) device->deallocate(device, c.from, target->stream);
    if (c.to) device->deallocate(device, c.to, target->stream);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * the device */

tn_status tn_bench_target_open(tn_bench_target *target, tn_runtime *runtime, const char *name) {
    *target = (tn_bench_target){0};
    TN_TRY(tn_device_take(runtime, name, &target->device));
    const tn_device *device = target->device.device;
    if (tn_device_is_remote(device)) {
        const tn_status status = device->stream_create(device, &target->stream);
        return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a stream");
    }
    tn_device_give_back(&target->device); /* the processor: timed as always */
    return TN_OK;
}
