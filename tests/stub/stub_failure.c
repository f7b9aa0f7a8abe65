/* SPDX-License-Identifier: Apache-2.0 */
/* What fails on the stub, by itself or because a test asked for it, and what is said of it. */
#include "stub_private.h"

#include <stdio.h>

static _Thread_local char last_error[256];

tn_stub_state *stub_state(const tn_device *device) {
    return device->user;
}

tn_status stub_fail(tn_status status, const char *why) {
    snprintf(last_error, sizeof(last_error), "%s", why);
    return status;
}

bool stub_is_to_fail(uint64_t *count, uint64_t at) {
    return ++*count == at;
}

tn_status stub_fail_as_asked(tn_stub_state *state, tn_status status, const char *why) {
    if (state->is_lasting) {
        snprintf(state->lost, sizeof(state->lost), "%s; the device is lost to this process", why);
        state->is_lost = true;
    }
    return stub_fail(status, state->is_lasting ? state->lost : why);
}

tn_status stub_fail_lost(const tn_stub_state *state) {
    return stub_fail(TN_ERROR_DEVICE, state->lost);
}

const char *stub_last_error(const tn_device *device) {
    (void)device;
    return last_error;
}
