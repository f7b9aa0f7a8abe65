/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of the built-in layers' library, which is linked into the core. */
#ifndef TN_LAYERS_BUILTIN_BUILTIN_H
#define TN_LAYERS_BUILTIN_BUILTIN_H

#include <tenon/plugin.h>

tn_library *tn_builtin_entry(const tn_host *host);

#endif
