/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a linear tensor, for comparing and printing. */
#ifndef TENON_ELEMENT_H
#define TENON_ELEMENT_H

#include <stddef.h>
#include <tenon/tenon.h>

/* As a double; 64-bit integers may round. */
double element_number(const void *data, tn_type type, size_t index);
/* As text: integers exactly, floats with so many significant digits. Answers `text`, which has
 * ELEMENT_TEXT_BYTES. */
enum { ELEMENT_TEXT_BYTES = 40 };
const char *element_print(const void *data, tn_type type, size_t index, int digits, char *text);

#endif
