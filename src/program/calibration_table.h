/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of scales by tensor name (tenon/calibration.h): what the lowering and the calibrator
 * need of it beside the public calls.
 */
#ifndef TN_PROGRAM_CALIBRATION_TABLE_H
#define TN_PROGRAM_CALIBRATION_TABLE_H

#include <tenon/calibration.h>

/* Whether a scale can be used: a finite number above zero. */
bool tn_calibration_table_is_scale(float scale);
/* The runtime that the table was made with. */
tn_runtime *tn_calibration_table_runtime(const tn_calibration *calibration);
/* The first line of the table as a file, without its end: what it was read with or made by; null
 * when nobody said. The text is copied. TN_ERROR_MEMORY. */
tn_status tn_calibration_table_set_header(tn_calibration *calibration, const char *header);
const char *tn_calibration_table_header(const tn_calibration *calibration);

#endif
