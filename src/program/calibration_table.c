/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of scales by tensor name: an array of entries in the order of their first setting, and
 * a map from names to them. Reading and writing it as a file, and finding the scales by running a
 * network, is done by those above.
 */
#include "program/calibration_table.h"
#include "base/map.h"
#include "base/status.h"
#include "plugin/runtime.h"

#include <math.h>

typedef struct calibration_entry {
    char *tensor;
    float scale;
} calibration_entry;

struct tn_calibration {
    tn_runtime *runtime;
    tn_map *map; /* name to index in `entries` */
    calibration_entry *entries;
    size_t count, capacity;
    char *header; /* of the file; null: none */
};

bool tn_calibration_table_is_scale(float scale) {
    return isfinite(scale) && scale > 0;
}

tn_runtime *tn_calibration_table_runtime(const tn_calibration *calibration) {
    return calibration->runtime;
}

tn_status tn_calibration_create(tn_runtime *runtime, tn_calibration **out_calibration) {
    if (!runtime || !out_calibration)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "a calibration table needs a runtime and a pointer for the result");
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_calibration *calibration = tn_allocate_zero(allocator, 1, sizeof *calibration);
    if (!calibration) return tn_fail_memory("a calibration table");
    tn_status status = tn_map_create(allocator, &calibration->map);
    if (status != TN_OK) {
        tn_deallocate(allocator, calibration);
        return status;
    }
    calibration->runtime = tn_runtime_retain(runtime);
    *out_calibration = calibration;
    return TN_OK;
}

void tn_calibration_destroy(tn_calibration *calibration) {
    if (!calibration) return;
    tn_runtime *runtime = calibration->runtime;
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_map_destroy(calibration->map);
    for (size_t i = 0; i < calibration->count; i++)
        tn_deallocate(allocator, calibration->entries[i].tensor);
    tn_deallocate(allocator, calibration->entries);
    tn_deallocate(allocator, calibration->header);
    tn_deallocate(allocator, calibration);
    tn_runtime_release(runtime);
}

static tn_status add_entry(tn_calibration *calibration, const char *tensor, float scale) {
    const tn_allocator *allocator = tn_runtime_allocator(calibration->runtime);
    TN_TRY(tn_grow(allocator, (void **)&calibration->entries, &calibration->capacity,
                   calibration->count + 1, sizeof *calibration->entries));
    char *name = tn_duplicate_text(allocator, tensor);
    if (!name) return tn_fail_memory("a calibration table");
    tn_status status = tn_map_set(calibration->map, name, calibration->count);
    if (status != TN_OK) {
        tn_deallocate(allocator, name);
        return status;
    }
    calibration->entries[calibration->count++] = (calibration_entry){name, scale};
    return TN_OK;
}

tn_status tn_calibration_set(tn_calibration *calibration, const char *tensor, float scale) {
    uint64_t entry_index = 0;
    if (!calibration || !tensor)
        return tn_fail(TN_ERROR_ARGUMENT, "a scale needs a calibration table and a tensor's name");
    if (!tn_map_get(calibration->map, tensor, &entry_index))
        return add_entry(calibration, tensor, scale);
    calibration->entries[entry_index].scale = scale;
    return TN_OK;
}

bool tn_calibration_find(const tn_calibration *calibration, const char *tensor, float *out_scale) {
    uint64_t entry_index = 0;
    if (!calibration || !tensor || !tn_map_get(calibration->map, tensor, &entry_index))
        return false;
    float scale = calibration->entries[entry_index].scale;
    if (!tn_calibration_table_is_scale(scale)) return false;
    *out_scale = scale;
    return true;
}

uint64_t tn_calibration_count(const tn_calibration *calibration) {
    return calibration ? calibration->count : 0;
}

bool tn_calibration_entry(const tn_calibration *calibration, uint64_t index,
                          const char **out_tensor, float *out_scale) {
    if (index >= tn_calibration_count(calibration)) return false;
    *out_tensor = calibration->entries[index].tensor;
    *out_scale = calibration->entries[index].scale;
    return true;
}

tn_status tn_calibration_table_set_header(tn_calibration *calibration, const char *header) {
    const tn_allocator *allocator = tn_runtime_allocator(calibration->runtime);
    char *copy = tn_duplicate_text(allocator, header);
    if (!copy) return tn_fail_memory("a calibration table");
    tn_deallocate(allocator, calibration->header);
    calibration->header = copy;
    return TN_OK;
}

const char *tn_calibration_table_header(const tn_calibration *calibration) {
    return calibration->header;
}
