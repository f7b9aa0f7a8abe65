/* SPDX-License-Identifier: Apache-2.0 */
/* The document of tenon inspect as tables: one line an input, output, library and step. */
#ifndef TENON_INSPECT_TEXT_H
#define TENON_INSPECT_TEXT_H

/* `path` is what the user named. EXIT_DONE, or an exit code after having said why. */
int inspect_text_print(const char *path, const char *document);

#endif
