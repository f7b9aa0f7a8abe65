/* SPDX-License-Identifier: Apache-2.0 */
/* --shape NAME=1x3x256x256 or NAME=MIN:OPT:MAX. */
#ifndef TENON_SHAPES_H
#define TENON_SHAPES_H

#include "cli.h"

typedef struct shape_profiles {
    uint32_t count;
    tn_profile_input *items;
    const tn_profile_input **pointers;
} shape_profiles;

/* False after having said why (*out_exit). */
bool shape_profiles_read(shape_profiles *out_profiles, const cli_options *options,
                         const tn_graph *graph, int *out_exit);
void shape_profiles_free(shape_profiles *profiles);
/* The optimum that --shape gives an input; false when it gives none. */
bool shape_option_optimum(const cli_options *options, const char *name, int64_t *shape,
                          uint32_t *out_rank);
/* The same with -1 where minimum and maximum differ. */
bool shape_option_extents(const cli_options *options, const char *name, int64_t *extents,
                          uint32_t *out_rank);

#endif
