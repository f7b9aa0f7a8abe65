/* SPDX-License-Identifier: Apache-2.0 */
/* The importers that are linked into the core's library. */
#ifndef TN_IMPORTERS_COMMON_LINKED_H
#define TN_IMPORTERS_COMMON_LINKED_H

#include <tenon/plugin/importer.h>

extern const tn_importer *const tn_linked_importers[]; /* ends in null */
extern const tn_importer tn_onnx_importer;             /* importers/onnx/reader.c */

#endif
