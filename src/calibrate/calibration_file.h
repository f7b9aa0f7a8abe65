/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calibration table as text (public side: tenon/calibration.h): reading from memory
 * and writing into it, for the file and for tests.
 */
#ifndef TN_CALIBRATE_CALIBRATION_FILE_H
#define TN_CALIBRATE_CALIBRATION_FILE_H

#include "base/text.h"
#include <tenon/calibration.h>

/* Reads the text of a table. TN_ERROR_FORMAT with the line's number, TN_ERROR_MEMORY. */
tn_status tn_calibration_file_parse(tn_runtime *runtime, const void *data, size_t bytes,
                                    tn_calibration **out_calibration);
/* The text of a table, initialised by the caller, who frees it. TN_ERROR_ARGUMENT (a name that a
 * line cannot hold), TN_ERROR_MEMORY. */
tn_status tn_calibration_file_print(const tn_calibration *calibration, tn_text *text);

#endif
