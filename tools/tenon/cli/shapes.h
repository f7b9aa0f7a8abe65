/* SPDX-License-Identifier: Apache-2.0 */
/* --shape NAME=1x3x256x256 or NAME=MIN:OPT:MAX, and --next-profile between those of two profiles.
 */
#ifndef TENON_SHAPES_H
#define TENON_SHAPES_H

#include "cli.h"

typedef struct shape_profiles {
    uint32_t count; /* of inputs, of all profiles */
    tn_profile_input *items;
    const tn_profile_input **pointers;
    uint32_t profile_count; /* 0: --next-profile was not given */
    tn_profile *profiles;
    const tn_profile **profile_pointers;
} shape_profiles;

/* False after having said why (*out_exit). */
bool shape_profiles_read(shape_profiles *out_profiles, const cli_options *options,
                         const tn_graph *graph, int *out_exit);
void shape_profiles_free(shape_profiles *profiles);
/* The optimum that --shape gives an input; false when it gives none. */
bool shape_option_optimum(const cli_options *options, const char *name, int64_t *shape,
                          uint32_t *out_rank);
/* Reads NAME=1x3x8x8 or 1x3x8x8; false when it is no shape, or a range. */
bool shape_option_is_one(const char *text, int64_t *extents, uint32_t *out_rank);
enum { SHAPE_TEXT_BYTES = 32 * TN_MAX_RANK };
/* "[1, 3, any]" into `text`, which has SHAPE_TEXT_BYTES. */
const char *shape_print(uint32_t rank, const int64_t *shape, char *text);
/* The extents that all ranges of an input have alone, -1 for the others. */
bool shape_option_extents(const cli_options *options, const char *name, int64_t *extents,
                          uint32_t *out_rank);

#endif
