/* SPDX-License-Identifier: Apache-2.0 */
/* The importers that are linked into the core's library (src/import/find.c). */
#include "importers/common/linked.h"

const tn_importer *const tn_linked_importers[] = {&tn_onnx_importer, NULL};
