/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a plugin from the parts of a layer: the tables around the author's code. */
#ifndef TN_COMPILE_LAYER_SOURCE_H
#define TN_COMPILE_LAYER_SOURCE_H

#include "base/text.h"

#include <tenon/compile.h>

/* Writes the source, in the common part of C11 and C++17. `layer` is a whole struct, not one of an
 * older header; the fields and ports may be. The author's pieces keep their own line numbers, under
 * the names "NAME.support", "NAME.infer", "NAME.run" and "NAME.reference", NAME being
 * `source_name`. TN_ERROR_ARGUMENT names what is missing or no identifier; TN_ERROR_MEMORY. */
tn_status tn_layer_source_write(const tn_compile_layer *layer, const char *source_name,
                                tn_text *out_source);
/* As a string literal of C, in quotes. Null: "NULL". */
void tn_layer_source_add_literal(tn_text *source, const char *text);

#endif
