/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a library, of any size and age, checked and copied into today's structs; and the arena
 * that a library's copies live in.
 */
#ifndef TN_PLUGIN_REGISTRY_TABLES_H
#define TN_PLUGIN_REGISTRY_TABLES_H

#include "plugin/entries.h"

/* Into the library's arena. TN_ERROR_PLUGIN says what is wrong with the table. */
tn_status tn_registry_copy_operator(tn_loaded_library *library, const tn_operator *op,
                                    tn_operator_entry **out_entry);
/* `like`: another kernel of the library, of which the same parts are taken over; or null. */
tn_status tn_registry_copy_kernel(tn_loaded_library *library, const tn_kernel *kernel,
                                  const tn_kernel_entry *like, tn_kernel_entry **out_entry);
/* Without its pattern, */
tn_status tn_registry_copy_rewrite(tn_loaded_library *library, const tn_rewrite *rewrite,
                                   tn_rewrite_entry **out_entry);
/* which is read of the texts here. */
tn_status tn_registry_parse_rewrite(tn_rewrite_entry *entry);

#endif
