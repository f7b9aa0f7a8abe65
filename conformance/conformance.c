/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every case of every registered operator: by the reference, then by each kernel (pinned),
 * with the inputs after the first as constants and as network inputs, with one thread and two,
 * twice in a row; outputs lie between guard zones. Then the combinations with narrower types
 * (stored.c). A kernel that does not take a case is passed over. `tenon-conformance [--device
 * KIND[:N]] [--part K/N] [OPERATOR]`; with a device its table and its kernels are checked in place
 * of the processor's (device_suite.h); of the cases in N parts the K-th, from 0, a device's table
 * with the first. Libraries in the folders of TENON_PLUGIN_PATH are loaded first. The last line is
 * "N passed, N failed".
 */
#include "base/status.h"
#include "cases/conformance.h"
#include "device_suite.h"
#include "plugin/devices.h"
#include "plugin/sequences/kinds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct suite {
    tn_runtime *runtime;
    tn_arena *arena; /* of the lists */
    const tn_operator *operators[4096];
    size_t operator_count;
    const tn_kernel *kernels[4096];
    size_t kernel_count;
    size_t passed, failed;
    size_t part, parts; /* of the cases */
} suite;

static void verdict(suite *s, bool is_passed, const tn_operator *op, const char *text,
                    const tn_case_options *w, const char *why) {
    s->passed += is_passed;
    s->failed += !is_passed;
    if (!is_passed)
        printf("FAIL %s version %u, %s, %s, %u threads: case \"%s\": %s\n", op->name,
               op->since_version,
               w->pin            ? w->pin
               : w->is_reference ? "reference"
                                 : "default",
               w->are_constant ? "constants" : "inputs", w->threads, text, why);
}

static void check_run(suite *s, const tn_operator *op, const char *text, const tn_case *c,
                      const tn_case_options *w, const char *wanted_kernel,
                      const tn_outcome *expected) {
    tn_outcome found = {0};
    char why[400] = "";
    const tn_status status = tn_case_run(s->runtime, op, c, w, &found);
    if (status != TN_OK)
        snprintf(why, sizeof(why), "%s: %s", tn_last_error()->where, tn_last_error()->message);
    const bool is_other =
        status == TN_OK && wanted_kernel && strcmp(found.kernel, wanted_kernel) != 0;
    if (!is_other) /* the pinned kernel does not take this case */
        verdict(s, status == TN_OK && tn_results_equal(expected, &found, false, why, sizeof(why)),
                op, text, w, why);
    tn_outcome_free(&found);
}

static void check_case(suite *s, const tn_operator *op, const char *text) {
    tn_arena *arena = NULL;
    tn_case c;
    tn_outcome expected = {0};
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_status status = tn_arena_create(tn_allocator_default(), &arena);
    if (status == TN_OK) status = tn_case_read(arena, op, text, &c);
    if (status == TN_OK) status = tn_case_run(s->runtime, op, &c, &reference, &expected);
    if (status != TN_OK) {
        verdict(s, false, op, text, &reference, tn_last_error()->message);
    } else {
        char why[400] = "";
        verdict(s, tn_case_agrees(op, &c, &expected, why, sizeof(why)), op, text, &reference, why);
        for (int constant = 0; constant < 2; constant++) {
            const tn_case_options plain = {.are_constant = constant, .threads = 1};
            check_run(s, op, text, &c, &plain, NULL, &expected);
            for (size_t k = 0; k < s->kernel_count; k++) {
                char pin[256];
                if (!tn_kernel_serves(s->kernels[k], op)) continue;
                snprintf(pin, sizeof(pin), "%s=%s", op->name, s->kernels[k]->name);
                for (uint32_t threads = 1; threads <= 2; threads++) {
                    const tn_case_options w = {
                        .pin = pin, .are_constant = constant, .threads = threads};
                    check_run(s, op, text, &c, &w, s->kernels[k]->name, &expected);
                }
            }
        }
    }
    tn_outcome_free(&expected);
    tn_arena_destroy(arena);
    if (!tn_operator_has_kinds(op)) tn_stored_check(s->runtime, op, text, &s->passed, &s->failed);
}

/* ----------------------------------------------------------------------------------------------
 * all */

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    suite *s = user;
    (void)library;
    s->operators[s->operator_count++] = op;
    return s->operator_count < 4096;
}

static bool note_kernel_table(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    suite *s = user;
    (void)library;
    if (strcmp(kernel->device, "cpu") == 0 &&
        (!kernel->requires_features ||
         tn_runtime_has_features(s->runtime, kernel->requires_features)))
        s->kernels[s->kernel_count++] = kernel;
    return s->kernel_count < 4096;
}

/* Each operator for which the device has kernels, a line each. */
static void check_on_device(suite *s, const tn_device *device, void *stream, const char *wanted) {
    size_t passed = 0, failed = 0, number = 0;
    if (!wanted && s->part == 0) {
        tn_device_suite(device, &passed, &failed);
        printf("%-24s %6zu passed %6zu failed\n", "(the device's table)", passed, failed);
        s->passed += passed;
        s->failed += failed;
    }
    for (size_t i = 0; i < s->operator_count; i++) {
        const tn_operator *op = s->operators[i];
        if ((wanted && strcmp(op->name, wanted) != 0) || tn_operator_has_kinds(op)) continue;
        passed = failed = 0;
        for (uint64_t k = 0; k < op->case_count; k++)
            if (number++ % s->parts == s->part)
                tn_stored_check_on(s->runtime, op, op->cases[k], device, stream, &passed, &failed);
        if (passed + failed > 0)
            printf("%-20s %3u %6zu passed %6zu failed\n", op->name, op->since_version, passed,
                   failed);
        s->passed += passed;
        s->failed += failed;
    }
}

/* Without such a device there is nothing to check, and that is no failure. */
static int run_on_device(suite *s, const char *name, const char *wanted) {
    tn_used_device used = {0};
    void *stream = NULL;
    tn_device_libraries_load(s->runtime);
    if (tn_device_take(s->runtime, name, &used) != TN_OK) {
        printf("skipped: %s\n0 passed, 0 failed\n", tn_last_error()->message);
        return 0;
    }
    const tn_device *device = used.device;
    printf("%s\n", device->fingerprint(device));
    tn_status status = device->stream_create(device, &stream);
    if (status != TN_OK) printf("FAIL a stream: %s\n", device->last_error(device));
    tn_runtime_visit_operators(s->runtime, note_operator, s);
    if (status == TN_OK) check_on_device(s, device, stream, wanted);
    device->stream_destroy(device, stream);
    tn_device_give_back(&used);
    printf("%zu passed, %zu failed\n", s->passed, s->failed);
    return status != TN_OK || s->failed != 0;
}

/* The libraries of each folder in a list with ':'. */
static tn_status load_folders(tn_runtime *runtime, const char *folders) {
    tn_status status = TN_OK;
    for (const char *at = folders; at && *at && status == TN_OK;) {
        const size_t length = strcspn(at, ":");
        char folder[4096];
        snprintf(folder, sizeof(folder), "%.*s", (int)length, at);
        if (length) status = tn_runtime_load_directory(runtime, folder);
        at += length + (at[length] == ':');
    }
    return status;
}

static int run_on_processor(suite *s, const char *wanted) {
    size_t without = 0, number = 0;
    tn_runtime_visit_operators(s->runtime, note_operator, s);
    tn_runtime_visit_kernels(s->runtime, note_kernel_table, s);
    for (size_t i = 0; i < s->operator_count; i++) {
        const tn_operator *op = s->operators[i];
        if (wanted && strcmp(op->name, wanted) != 0) continue;
        without += op->case_count == 0;
        for (uint64_t k = 0; k < op->case_count; k++)
            if (number++ % s->parts == s->part) check_case(s, op, op->cases[k]);
    }
    printf("%zu operators, %zu kernels; %zu operators without cases\n", s->operator_count,
           s->kernel_count, without);
    printf("%zu passed, %zu failed\n", s->passed, s->failed);
    return s->failed != 0;
}

int main(int argc, char **argv) {
    static suite s = {.parts = 1};
    const char *device = NULL;
    if (argc > 2 && strcmp(argv[1], "--device") == 0) {
        device = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc > 2 && strcmp(argv[1], "--part") == 0) {
        if (sscanf(argv[2], "%zu/%zu", &s.part, &s.parts) != 2 || s.part >= s.parts) {
            fprintf(stderr, "conformance: '%s' is no part, like 0/4\n", argv[2]);
            return 2;
        }
        argc -= 2;
        argv += 2;
    }
    if (tn_runtime_create(NULL, &s.runtime) != TN_OK ||
        tn_runtime_load_companions(s.runtime, NULL, NULL) != TN_OK) {
        fprintf(stderr, "conformance: %s\n", tn_last_error()->message);
        return 1;
    }
    if (load_folders(s.runtime, getenv("TENON_PLUGIN_PATH")) != TN_OK) {
        fprintf(stderr, "conformance: %s\n", tn_last_error()->message);
        return 1;
    }
    const char *wanted = argc > 1 ? argv[1] : NULL;
    const int code = device ? run_on_device(&s, device, wanted) : run_on_processor(&s, wanted);
    tn_runtime_release(s.runtime);
    return code;
}
