/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tn_runtime, for the other objects. Public side: tenon/runtime.h. */
#ifndef TN_PLUGIN_RUNTIME_H
#define TN_PLUGIN_RUNTIME_H

#include "base/memory.h"
#include "plugin/call.h"
#include "plugin/library.h"
#include "plugin/registry.h"
#include "plugin/runtime_parts.h"

/* Loads the kernel libraries that come with Tenon (the folder tenon/kernels beside the core
 * library), each once; the builder does it before it chooses. One with a text file beside it,
 * LIBRARY.so.kernels, that lists operators, a name a line, waits until `has` knows one of them;
 * null: it knows all. A broken one is a warning in the log. */
tn_status tn_runtime_load_companions(tn_runtime *runtime,
                                     bool (*has)(const void *user, const char *name),
                                     const void *user);

/* As tn_registry_find_operator; where there is none, the libraries of operators that come with
 * Tenon (the folder tenon/operators) and list this domain are loaded first. */
tn_status tn_runtime_find_operator(tn_runtime *runtime, const char *domain, const char *name,
                                   uint32_t version, const tn_operator_entry **out_entry);

/* One entry, in layers/builtin/builtin.c; the linker adds it, the core includes nothing of layers/.
 */
tn_library *tn_builtin_entry(const tn_host *host);

#endif
