/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded running on a device: each tensor of the call is copied into a block of the device's
 * memory of its own, between zones with a pattern; when the work is done the blocks come to the
 * host, where they are judged as the processor's are (checked_findings.c). Declared in
 * checked_call.h.
 */
#include "base/status.h"
#include "guard/checked_call.h"
#include "guard/poison.h"
#include "plugin/devices.h"

#include <string.h>

#define ZONE_AT_LEAST 4096 /* bytes on each side of the data */

static size_t zone_of(const tn_device *device) {
    return device->alignment > ZONE_AT_LEAST ? (size_t)device->alignment : ZONE_AT_LEAST;
}

static tn_status failed(const tn_checked *checked, tn_status status, const char *doing) {
    return status == TN_OK ? TN_OK : tn_device_failed(checked->device, status, doing);
}

static tn_status copy_bytes(const tn_checked *checked, void *to, const void *from, uint64_t bytes,
                            uint32_t direction) {
    const tn_device *device = checked->device;
    if (bytes == 0) return TN_OK;
    return failed(checked, device->copy(device, to, from, bytes, direction, checked->stream),
                  "a guarded copy");
}

static tn_status wait_for_stream(const tn_checked *checked) {
    return failed(checked, checked->device->stream_wait(checked->device, checked->stream),
                  "waiting for the kernel");
}

/* The earlier slot of the same memory; null: none. */
static tn_checked_slot *find_same(tn_checked *checked, const tn_checked_slot *slot) {
    for (size_t i = 0; i < checked->slot_count && slot->there->bytes > 0; i++) {
        tn_checked_slot *other = &checked->slots[i];
        if (other != slot && other->there && other->there->data == slot->there->data &&
            other->there->bytes >= slot->there->bytes)
            return other;
    }
    return NULL;
}

/* The slot sees what an earlier one has. */
static void share_slot(tn_checked_slot *slot, const tn_checked_slot *same) {
    slot->guard = same->guard;
    slot->shown = same->shown;
    slot->is_shared = true;
}

/* From here on the slot's original is the host's. */
static void hold_original(tn_checked_slot *slot) {
    slot->there = slot->original;
    slot->held = *slot->original;
    slot->original = &slot->held;
}

/* A block of the device with the data and its zones, as the slot's guard has them. */
static tn_status send(const tn_checked *checked, tn_checked_slot *slot) {
    const tn_device *device = checked->device;
    const size_t zone = zone_of(device), bytes = slot->own.bytes + 2 * zone;
    void *block = NULL;
    TN_TRY(failed(checked, device->allocate(device, bytes, checked->stream, &block),
                  "memory for a guarded run"));
    slot->block = block;
    slot->shown = slot->block + zone;
    slot->guard = &slot->own;
    return copy_bytes(checked, block, slot->own.data - zone, bytes, TN_COPY_TO_DEVICE);
}

tn_status tn_checked_put_input_there(tn_checked *checked, tn_checked_slot *slot) {
    const size_t bytes = (size_t)slot->original->bytes, zone = zone_of(checked->device);
    hold_original(slot);
    const tn_checked_slot *same = find_same(checked, slot);
    if (same && same->there->bytes == slot->there->bytes) {
        slot->held.data = same->held.data;
        share_slot(slot, same);
        return TN_OK;
    }
    TN_TRY(tn_guard_place(&slot->before, bytes, TN_GUARD_AT_END, 0));
    slot->held.data = slot->before.data;
    TN_TRY(copy_bytes(checked, slot->held.data, slot->there->data, bytes, TN_COPY_TO_HOST));
    TN_TRY(wait_for_stream(checked));
    TN_TRY(tn_guard_place_between(&slot->own, bytes, zone, tn_poison_word(slot->held.type)));
    if (bytes > 0) memcpy(slot->own.data, slot->held.data, bytes);
    return send(checked, slot);
}

/* An output on an input's memory stays there. */
tn_status tn_checked_put_output_there(tn_checked *checked, tn_checked_slot *slot) {
    hold_original(slot);
    const tn_checked_slot *same = find_same(checked, slot);
    if (same) {
        for (size_t i = 0; i < checked->slot_count; i++)
            checked->slots[i].is_overwritten |= checked->slots[i].guard == same->guard;
        share_slot(slot, same);
        return TN_OK;
    }
    TN_TRY(tn_guard_place_between(&slot->own, (size_t)slot->held.bytes, zone_of(checked->device),
                                  tn_poison_word(slot->held.type)));
    tn_poison_fill(slot->own.data, slot->own.bytes, slot->held.type);
    return send(checked, slot);
}

tn_status tn_checked_put_workspace_there(tn_checked *checked, tn_checked_slot *slot,
                                         uint64_t bytes) {
    TN_TRY(tn_guard_place_between(&slot->own, (size_t)bytes, zone_of(checked->device),
                                  tn_poison_word(TN_NONE)));
    tn_poison_fill(slot->own.data, slot->own.bytes, TN_NONE);
    return send(checked, slot);
}

tn_status tn_checked_restore(tn_checked *checked) {
    const size_t zone = zone_of(checked->device);
    TN_TRY(wait_for_stream(checked));
    for (size_t i = 0; i < checked->slot_count; i++) {
        tn_checked_slot *slot = &checked->slots[i];
        if (slot->block)
            TN_TRY(copy_bytes(checked, slot->own.data - zone, slot->block,
                              slot->own.bytes + 2 * zone, TN_COPY_TO_HOST));
    }
    return wait_for_stream(checked);
}

tn_status tn_checked_copy_out_there(const tn_checked *checked) {
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        if (slot->kind == TN_CHECKED_OUTPUT && slot->there && slot->guard)
            TN_TRY(copy_bytes(checked, slot->there->data, slot->shown,
                              tn_checked_output_bytes(slot), TN_COPY_ON_DEVICE));
    }
    return wait_for_stream(checked);
}

void tn_checked_free_blocks(tn_checked *checked) {
    for (size_t i = 0; i < checked->slot_count; i++) {
        tn_checked_slot *slot = &checked->slots[i];
        if (slot->block) checked->device->deallocate(checked->device, slot->block, checked->stream);
        slot->block = slot->shown = NULL;
    }
}
