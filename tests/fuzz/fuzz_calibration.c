/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the text of a calibration table. What is read is printed and read
 * again: the same entries must come back. Needs the inside of the library; replay.c runs it on
 * files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibration_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static tn_runtime *shared_runtime(void) {
    static tn_runtime *runtime; /* made once, for the life of the process */
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    if (!runtime && tn_runtime_create(&options, &runtime) != TN_OK) exit(99);
    return runtime;
}

/* Each usable entry of one table is in the other with the same bits. */
static void compare(const tn_calibration *first, const tn_calibration *second) {
    if (tn_calibration_count(first) != tn_calibration_count(second)) abort();
    for (uint64_t i = 0; i < tn_calibration_count(first); i++) {
        const char *name = NULL;
        float kept = 0, found = 0, again = 0;
        if (!tn_calibration_entry(first, i, &name, &kept)) abort();
        const bool is_there = tn_calibration_find(first, name, &found);
        if (is_there != tn_calibration_find(second, name, &again)) abort();
        if (is_there && memcmp(&found, &again, sizeof(found)) != 0) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tn_calibration *table = NULL, *again = NULL;
    tn_text text;
    if (tn_calibration_file_parse(shared_runtime(), data, bytes, &table) != TN_OK) return 0;
    tn_text_init(&text, tn_allocator_default());
    if (tn_calibration_file_print(table, &text) != TN_OK) abort();
    if (tn_calibration_file_parse(shared_runtime(), text.data, text.length, &again) != TN_OK)
        abort();
    compare(table, again);
    tn_text_deinit(&text);
    tn_calibration_destroy(again);
    tn_calibration_destroy(table);
    return 0;
}
