/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that breaks the contract: what the engine says of it, and that everything else goes on:
 * the processor always, the device unless it is lost; a lost one gives the same reason in every
 * later call. Declared in device_run.h.
 */
#include "device_run.h"

#include "engine/engine_private.h"
#include "plugin/devices.h"

#include <stdio.h>
#include <string.h>

static void keep_error(char *text, size_t bytes) {
    snprintf(text, bytes, "%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* A network without the bad kernel, in a context that may stay open. */
static tn_status open_good(const network_options *bad, const char *device, network *n) {
    const tn_engine_options e = {.size = sizeof(e), .device = device};
    network_options good = *bad;
    uint64_t bytes = 0;
    good.kernel = NULL;
    good.engine_flags = 0;
    good.build_flags = TN_BUILD_NO_TIMING;
    good.model = "op:Relu";
    network_load(n, &good, "cpu", NULL);
    const void *data = tn_plan_bytes(n->plan, &bytes);
    tn_engine_release(n->engine);
    n->engine = NULL;
    tn_status status = tn_engine_load_bytes(n->runtime, data, bytes, &e, &n->engine);
    if (status == TN_OK) status = tn_context_create(n->engine, &n->context);
    if (status == TN_OK)
        status =
            tn_context_bind_input(n->context, 0, n->inputs[0], n->input_counts[0] * sizeof(float));
    return status;
}

static tn_status run_some(const network *n) {
    tn_status status = TN_OK;
    for (int i = 0; i < 3 && status == TN_OK; i++)
        status = tn_context_run(n->context);
    return status;
}

static tn_status run_good(const network_options *bad, const char *device) {
    network n;
    tn_status status = open_good(bad, device, &n);
    if (status == TN_OK) status = run_some(&n);
    network_close(&n);
    return status;
}

static bool check_after(const network_options *o, network *n, const char *device,
                        const char *error) {
    char again[3100];
    const bool is_lost = tn_device_alive(n->engine->device) != TN_OK;
    if (run_good(o, "cpu") != TN_OK) {
        printf("FAIL the processor does not go on: %s\n", tn_last_error()->message);
        return false;
    }
    if (!is_lost && run_good(o, device) != TN_OK) {
        printf("FAIL the device does not go on: %s\n", tn_last_error()->message);
        return false;
    }
    if (!is_lost) return true;
    for (int i = 0; i < 2; i++) {
        const tn_status status = i ? tn_context_reshape(n->context) : tn_context_run(n->context);
        keep_error(again, sizeof(again));
        if (status != TN_OK && strcmp(again, error) == 0) continue;
        printf("FAIL a later call says: %s\n", status == TN_OK ? "nothing" : again);
        return false;
    }
    if (run_good(o, device) == TN_OK) {
        printf("FAIL a new engine runs on a lost device\n");
        return false;
    }
    return true;
}

/* Another device, in use before, beside one that may be lost: what is open goes on, and what is
 * new. Where its own interface loses it too it may refuse, with an error of the device. */
static bool check_other(const network_options *o, const char *device, const network *open,
                        bool may_refuse) {
    const tn_status first = run_some(open), second = first == TN_OK ? run_good(o, device) : first;
    if (second == TN_OK) return true;
    const bool is_fine = may_refuse && second == TN_ERROR_DEVICE;
    printf("%s %s does not go on: %s\n", is_fine ? "note:" : "FAIL", device,
           tn_last_error()->message);
    return is_fine;
}

int device_run_bad(network_options *o, const char *device, int argc, char **argv) {
    network n, other = {0};
    char error[3100];
    const char *other_device = argc > 2 ? argv[2] : NULL;
    if (argc < 1) network_die("bad needs OP=KERNEL");
    if (other_device) network_must(open_good(o, other_device, &other), other_device);
    if (other_device) network_must(run_some(&other), other_device);
    o->kernel = argv[0];
    o->build_flags = TN_BUILD_NO_TIMING | TN_BUILD_NO_FUSION;
    if (argc > 1 && strcmp(argv[1], "checked") == 0) o->engine_flags = TN_ENGINE_CHECKED;
    network_load(&n, o, device, NULL);
    network_open(&n);
    const tn_status status = tn_context_run(n.context);
    keep_error(error, sizeof(error));
    if (status == TN_OK) printf("FAIL %s is not found out\n", argv[0]);
    const bool is_fine = status != TN_OK && check_after(o, &n, device, error) &&
                         (!other_device || check_other(o, other_device, &other, argc > 3));
    if (is_fine)
        printf("ok %s%s\n", tn_device_alive(n.engine->device) == TN_OK ? "" : "(device lost) ",
               error);
    network_close(&other);
    network_close(&n);
    return is_fine ? 0 : 1;
}
