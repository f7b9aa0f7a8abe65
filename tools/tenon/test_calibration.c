/* SPDX-License-Identifier: Apache-2.0 */
/* Test data as calibration batches; see test_calibration.h. */
#include "test_calibration.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SETS_AT_MOST 1000

typedef struct test_batches {
    const cli_options *options;
    const char *directory;
    uint32_t input_count;
    file_tensor *files;
    tn_tensor *tensors;
    char *why;
    size_t why_bytes;
} test_batches;

static uint64_t count_sets(const char *directory) {
    char path[4200];
    struct stat info;
    uint64_t count = 0;
    for (; count < SETS_AT_MOST; count++) {
        snprintf(path, sizeof(path), "%s/test_data_set_%d", directory, (int)count);
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) break;
    }
    return count;
}

static tn_status read_set(void *user, uint64_t index, const tn_tensor **out_inputs) {
    test_batches *batches = user;
    for (uint32_t i = 0; i < batches->input_count; i++) {
        char path[4200];
        file_tensor *file = &batches->files[i];
        snprintf(path, sizeof(path), "%s/test_data_set_%d/input_%u.pb", batches->directory,
                 (int)index, i);
        file_tensor_free(file);
        if (!tensor_file_read(path, batches->options, -1, NULL, file)) {
            snprintf(batches->why, batches->why_bytes, "cannot read %.600s", path);
            return TN_ERROR_IO;
        }
        batches->tensors[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                          .type = file->type,
                                          .rank = file->rank,
                                          .shape = file->shape,
                                          .data = file->data,
                                          .bytes = file->bytes};
        out_inputs[i] = &batches->tensors[i];
    }
    return TN_OK;
}

bool test_calibrate(tn_runtime *runtime, tn_graph *graph, const char *directory,
                    const cli_options *options, const tn_builder_options *build,
                    tn_calibration **out_calibration, char *why, size_t why_bytes) {
    test_batches sets = {.options = options,
                         .directory = directory,
                         .input_count = tn_graph_input_count(graph),
                         .why = why,
                         .why_bytes = why_bytes};
    const tn_batches batches = {
        .size = sizeof(batches), .count = count_sets(directory), .read = read_set, .user = &sets};
    const tn_calibrate_options calibrate = {.size = sizeof(calibrate),
                                            .calibrator = TN_CALIBRATOR_MIN_MAX,
                                            .build = build,
                                            .batches = &batches};
    if (sets.input_count == 0 || batches.count == 0)
        return tn_calibration_create(runtime, out_calibration) == TN_OK;
    sets.files = calloc(sets.input_count, sizeof(*sets.files));
    sets.tensors = calloc(sets.input_count, sizeof(*sets.tensors));
    if (!sets.files || !sets.tensors) snprintf(why, why_bytes, "no memory for the test data");
    const bool is_good = sets.files && sets.tensors &&
                         tn_calibrate(graph, &calibrate, out_calibration, NULL) == TN_OK;
    for (uint32_t i = 0; sets.files && i < sets.input_count; i++)
        file_tensor_free(&sets.files[i]);
    free(sets.tensors);
    free(sets.files);
    return is_good;
}
