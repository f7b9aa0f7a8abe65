/* SPDX-License-Identifier: Apache-2.0 */
/* What a context has of the engine's device: its stream (execution_device.c), the event behind the
 * last run (device/completion.c), and the error that the device was lost with (context_run.c). */
#ifndef TN_RUN_STATE_DEVICE_H
#define TN_RUN_STATE_DEVICE_H

#include "base/error_copy.h"

#include <stdbool.h>

typedef struct tn_context_device {
    void *own_stream, *stream; /* null: the processor */
    bool is_pending;           /* the stream has work that nobody waited for */
    void *done_event;          /* for tn_context_is_done; null until it is needed */
    bool is_done_marked;       /* it is recorded behind the last run */
    bool is_lost;              /* every call answers `lost` */
    tn_error_copy lost;
} tn_context_device;

#endif
