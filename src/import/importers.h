/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The importers that libraries registered: what stands behind tn_importers of
 * tenon/plugin/importer.h, and of plugin/library_private.h's functions about importers, which a
 * run-only library has without any.
 */
#ifndef TN_IMPORT_IMPORTERS_H
#define TN_IMPORT_IMPORTERS_H

#include "plugin/registry.h"

#include <tenon/plugin/importer.h>

/* An entry has the lifetime of the runtime. */
typedef struct tn_importer_entry {
    tn_importer importer;       /* normalised copy: today's struct, fields in today's item size */
    tn_operator options;        /* its fields, as the functions of fields.h take them */
    tn_loaded_library *library; /* null: linked in */
    bool is_removed;
} tn_importer_entry;

/* `library` null: linked in. TN_ERROR_PLUGIN, TN_ERROR_MEMORY. */
tn_status tn_importers_add(tn_runtime *runtime, tn_loaded_library *library,
                           const tn_importer *importer);
/* The entry at `index` or after it, *inout_index becoming its index + 1, with a count on its
 * library; null: no more. */
const tn_importer_entry *tn_importers_next(tn_runtime *runtime, size_t *inout_index);
void tn_importers_release(const tn_importer_entry *entry); /* null is fine */

/* Adds those that are linked in, a list that ends in null, once. */
tn_status tn_importers_add_linked(tn_runtime *runtime, const tn_importer *const *importers);
/* Folders with libraries of importers: beside the core library, then those of the search path. Null
 * past the end. */
const char *tn_importers_folder(tn_runtime *runtime, size_t index);

#endif
