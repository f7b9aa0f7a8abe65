/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan's model said of itself, for people: a line, and a row for each entry of its metadata.
 */
#ifndef TENON_INSPECT_MODEL_H
#define TENON_INSPECT_MODEL_H

#include "text/json.h"

/* The exit code. `document` is that of tn_plan_inspect. */
int inspect_model_print(const json *document);

#endif
