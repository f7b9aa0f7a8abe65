/* SPDX-License-Identifier: Apache-2.0 */
/* Time between two events; see device_timing.h. */
#include "device_timing.h"
#include "base/status.h"

#include <tenon/plugin/device.h>

static tn_status enqueue_all(tn_device_timer *timer) {
    for (uint32_t i = 0; i < timer->repeats; i++)
        TN_TRY(timer->enqueue(timer->user));
    return TN_OK;
}

static tn_status capture(tn_device_timer *timer) {
    const tn_device *device = timer->device;
    tn_status status = device->capture_begin(device, timer->stream);
    if (status != TN_OK) return tn_fail(status, "%s", device->last_error(device));
    status = enqueue_all(timer);
    const tn_status ended = device->capture_end(device, timer->stream, &timer->graph);
    if (status != TN_OK) return status;
    return ended == TN_OK ? TN_OK : tn_fail(ended, "%s", device->last_error(device));
}

tn_status tn_device_timer_open(tn_device_timer *timer, bool is_capturable) {
    const tn_device *device = timer->device;
    timer->from = timer->to = timer->graph = NULL;
    tn_status status = device->event_create(device, &timer->from);
    if (status == TN_OK) status = device->event_create(device, &timer->to);
    if (status != TN_OK) return tn_fail(status, "%s", device->last_error(device));
    return is_capturable && device->capture_begin ? capture(timer) : TN_OK;
}

tn_status tn_device_timer_sample(tn_device_timer *timer, double *out_ns) {
    const tn_device *device = timer->device;
    double ns = 0;
    tn_status status = device->event_record(device, timer->from, timer->stream);
    if (status == TN_OK)
        status = timer->graph ? device->graph_launch(device, timer->graph, timer->stream)
                              : enqueue_all(timer);
    if (status == TN_OK) status = device->event_record(device, timer->to, timer->stream);
    if (status == TN_OK) status = device->stream_wait(device, timer->stream);
    if (status == TN_OK) status = device->event_elapsed(device, timer->from, timer->to, &ns);
    if (status != TN_OK) return tn_fail(status, "%s", device->last_error(device));
    *out_ns = ns / timer->repeats;
    return TN_OK;
}

void tn_device_timer_close(tn_device_timer *timer) {
    const tn_device *device = timer->device;
    if (timer->graph) device->graph_destroy(device, timer->graph);
    if (timer->from) device->event_destroy(device, timer->from);
    if (timer->to) device->event_destroy(device, timer->to);
    timer->from = timer->to = timer->graph = NULL;
}
