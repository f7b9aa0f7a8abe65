/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of templates/, which the build puts into the program; `tenon plugin new` fills them. */
#ifndef TENON_NEW_TEMPLATE_H
#define TENON_NEW_TEMPLATE_H

typedef struct new_template {
    const char *name, *text;
} new_template;

/* Ends with a row of nulls. */
extern const new_template new_templates[];

#endif
