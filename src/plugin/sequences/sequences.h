/* SPDX-License-Identifier: Apache-2.0 */
/* The service by which kernels read and write sequences and optionals (tenon/plugin/sequence.h). */
#ifndef TN_PLUGIN_SEQUENCES_SEQUENCES_H
#define TN_PLUGIN_SEQUENCES_SEQUENCES_H

#include <tenon/plugin/sequence.h>

/* The table of "tn.sequence/1". */
const tn_sequence_service *tn_sequence_service_table(void);

#endif
