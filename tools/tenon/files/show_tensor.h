/* SPDX-License-Identifier: Apache-2.0 */
/* Results on the screen: a tensor's values, and the largest of each row. */
#ifndef TENON_SHOW_TENSOR_H
#define TENON_SHOW_TENSOR_H

#include <stdbool.h>
#include <tenon/tenon.h>

/* Prints the values in nested brackets; of more than 1,000 elements the first and last three along
 * each axis. */
void show_tensor_values(const tn_tensor *tensor);
/* Prints, for each row along the last axis, the indices and values of the `count` largest elements,
 * the largest first, equal ones by index; NaN counts as the least. As text a line each (of more
 * than 100 rows the first ones), or as JSON [{"row": [...], "indices": [...], "values": [...]}] (of
 * all). False: no memory. */
bool show_tensor_top(const tn_tensor *tensor, uint32_t count, bool is_json);

#endif
