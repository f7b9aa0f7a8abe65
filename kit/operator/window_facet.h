/* SPDX-License-Identifier: Apache-2.0 */
/* The facet "tn.view/1" of operators that cut or join along axes; see tenon/plugin/view.h. */
#ifndef TN_KIT_OPERATOR_WINDOW_FACET_H
#define TN_KIT_OPERATOR_WINDOW_FACET_H

#include <tenon/plugin/view.h>

#include <string.h>

/* The description to fill; null when another facet is asked for. */
static inline tn_view *tn_window_facet(const char *name, const tn_facet *facet) {
    const bool is_view = strcmp(name, TN_FACET_VIEW) == 0 && facet->what_bytes >= sizeof(tn_view);
    return is_view ? facet->what : NULL;
}

#endif
