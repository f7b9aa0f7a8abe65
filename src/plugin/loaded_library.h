/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded, and its counts; library.h loads and finds them. */
#ifndef TN_PLUGIN_LOADED_LIBRARY_H
#define TN_PLUGIN_LOADED_LIBRARY_H

#include "plugin/entries.h"

struct tn_loaded_library {
    tn_runtime *runtime; /* not counted */
    tn_library *table;
    const char *name, *version, *path; /* copies; path "" when linked in */
    uint64_t hash;                     /* of the file's content; 0 when linked in */
    const char *domain;                /* that its operators are under; "": their own */
    const char *source;                /* see tn_library_load_options */
    uint64_t modified_ns;              /* likewise */
    bool is_wanted;                    /* likewise */
    bool is_constant; /* linked in, with tables that have the lifetime of the process */
    /* A newer one of the same source, which has taken an operator over; null: none. Written by the
     * thread that loads, read by others. */
    const tn_loaded_library *_Atomic replaced_by;
    uint64_t serial; /* 1, 2, ...: in the order of the runtime's list; 0: not in it yet */
    /* private to library.c: counts, list links, the loader's handle */
    struct tn_library_private *private_part;
};

tn_loaded_library *tn_library_retain(tn_loaded_library *library);
void tn_library_release(tn_loaded_library *library);
/* Whether another loaded library has this one's name. */
bool tn_library_has_namesake(const tn_loaded_library *library);
/* That copies of its tables live in. */
tn_arena *tn_library_arena(tn_loaded_library *library);
/* The minor version of the ABI that it was compiled with. */
uint32_t tn_library_minor(const tn_loaded_library *library);

#endif
