/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of a build from Python's lists. */
#ifndef TENON_BINDING_PROFILES_H
#define TENON_BINDING_PROFILES_H

#include "binding.h"

typedef struct profile_list {
    tn_profile *profiles;
    const tn_profile **pointers;
    uint32_t count;
    PyObject *owners; /* what their texts and values belong to */
} profile_list;

/* Of a list of profiles, each a list of (name, minimum, optimum, maximum, values), where `values`
 * is None or three objects with the bytes of an input's values. False with an exception. */
bool profile_list_read(profile_list *list, PyObject *profiles);
void profile_list_free(profile_list *list);

#endif
