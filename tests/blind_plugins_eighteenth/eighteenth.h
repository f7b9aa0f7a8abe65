/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef EIGHTEENTH_H
#define EIGHTEENTH_H

#include "../blind_plugins_seventeenth/seventeenth.h"

#undef OPERATOR
#undef KERNEL
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Eighteenth"
#define KERNEL .size = sizeof(tn_kernel), .revision = 1, .domain = "Eighteenth", .device = "cpu"

#endif
