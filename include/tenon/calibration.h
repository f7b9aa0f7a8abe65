/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration: the table of scales, by tensor name, that a build with 8-bit precision stores
 * tensors with. It is symmetric and per tensor: real = stored * scale, stored in -128..127, so that
 * a tensor whose largest magnitude is `m` has the scale m / 127. Weights are not in it.
 */
#ifndef TENON_CALIBRATION_H
#define TENON_CALIBRATION_H

#include <tenon/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_calibration tn_calibration;

/* Makes an empty table; the caller destroys it. It holds a reference to the runtime.
 * TN_ERROR_ARGUMENT, TN_ERROR_MEMORY. [thread: one at a time for one table in calls that change it;
 * any number may read] */
TN_EXPORT tn_status tn_calibration_create(tn_runtime *runtime, tn_calibration **out_calibration);
TN_EXPORT void tn_calibration_destroy(tn_calibration *calibration); /* null is fine */

/* Sets the scale of a tensor, replacing an older one; the name is copied. A scale that is not a
 * finite number above zero is kept (tables of other programs have such) and means: no range.
 * TN_ERROR_ARGUMENT, TN_ERROR_MEMORY. */
TN_EXPORT tn_status tn_calibration_set(tn_calibration *calibration, const char *tensor,
                                       float scale);
/* The scale of a tensor; false, and *out_scale untouched, when the table has none that can be used:
 * no entry, or one that is no finite number above zero. */
TN_EXPORT bool tn_calibration_find(const tn_calibration *calibration, const char *tensor,
                                   float *out_scale);
/* The number of entries, and one of them as it was set, in the order in which names were first set;
 * the name has the lifetime of the table. False past the end. */
TN_EXPORT uint64_t tn_calibration_count(const tn_calibration *calibration);
TN_EXPORT bool tn_calibration_entry(const tn_calibration *calibration, uint64_t index,
                                    const char **out_tensor, float *out_scale);

/* Reads a table in the text that TensorRT's calibrators write ("calibration cache"): a header, then
 * a line "NAME: HEX" a tensor, HEX being the bits of the scale as a 32-bit float. Any header is
 * taken, whatever version and algorithm it names; a name that comes twice has its last scale.
 * TN_ERROR_NOT_FOUND, TN_ERROR_IO, TN_ERROR_FORMAT (with the line's number), TN_ERROR_MEMORY. The
 * caller destroys it. [thread: any] */
TN_EXPORT tn_status tn_calibration_read(tn_runtime *runtime, const char *path,
                                        tn_calibration **out_calibration);
/* Writes a table as that text, entries in the order of their names, under the header that it was
 * read with, or one that names the algorithm that made it. It is written beside `path` and renamed
 * into place: on failure an old file stays. TN_ERROR_IO, TN_ERROR_NOT_FOUND (its folder),
 * TN_ERROR_MEMORY, TN_ERROR_ARGUMENT (a name that a line cannot hold). [thread: as reading the
 * table] */
TN_EXPORT tn_status tn_calibration_write(const tn_calibration *calibration, const char *path);

#ifdef __cplusplus
}
#endif
#endif
