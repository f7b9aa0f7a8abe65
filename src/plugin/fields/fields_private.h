/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that implement fields.h share: one field's value at a time. */
#ifndef TN_PLUGIN_FIELDS_FIELDS_PRIVATE_H
#define TN_PLUGIN_FIELDS_FIELDS_PRIVATE_H

#include "plugin/fields/fields.h"

size_t tn_field_member_bytes(uint32_t type); /* of the C member; 0 for an unknown type */
const char *
tn_field_type_name(uint32_t type); /* "a number", "a list of integers", ... for messages */

/* Checks a value and stores it in the parameters. Lists and strings are copied into `arena`. */
tn_status tn_field_set(tn_arena *arena, const tn_field *field, const tn_attribute *attribute,
                       char *params);
/* A member as an attribute, which points into the parameters or `arena`; choices go by name, so
 * that their numbers may differ. */
tn_status tn_field_read(tn_arena *arena, const tn_field *field, const void *params,
                        tn_attribute *out);
/* Stores the default (nothing when there is none: the member stays zero). */
tn_status tn_field_set_default(tn_arena *arena, const tn_field *field, char *params);

/* Reads a text as a field's value, as defaults and test cases write it. TN_ERROR_ARGUMENT. */
tn_status tn_field_read_text(tn_arena *arena, const tn_field *field, const char *text,
                             tn_attribute *out_attribute);

/* The number of a choice, by name; -1 when there is none. The name of a number; null when there is
 * none (in `buffer`). */
int64_t tn_field_choice_number(const char *choices, const char *name);
const char *tn_field_choice_name(const char *choices, int64_t number, char *buffer, size_t bytes);

#endif
