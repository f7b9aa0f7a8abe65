/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as a caller sees them: every function that can fail returns a tn_status, and the thread's
 * last error says why. The codes are in plugin.h, which callers and layers share.
 */
#ifndef TENON_STATUS_H
#define TENON_STATUS_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why the calling thread's last failed call failed. `message` is one sentence or more that a person
 * can act on; `where` is the chain of locations, outermost first, like "model.onnx: node 'conv1':
 * operator Conv: library vision", or "". Both live until this thread's next failing call.
 * Successful calls leave it as it is. Never null. It needs no memory while fewer than 64 threads
 * have one, and is freed when its thread ends, also behind a dlclose of the library. [thread: any]
 */
typedef struct tn_error {
    uint32_t size;
    tn_status status;
    const char *message;
    const char *where;
    /* What `where` and `message` say, by itself: "" where it is not known. Where bodies are nested,
     * the innermost node; texts are cut at 127 bytes (op, library), 255 (node), 511 (file, mend).
     */
    const char *node, *op, *library; /* op: "Conv", or "DOMAIN::OP" */
    const char *file;                /* as it was given; with external data perhaps another one */
    uint64_t offset;                 /* of the byte in the file; UINT64_MAX: unknown */
    uint32_t line, column;           /* in the file, from 1; 0: unknown */
    const char *mend; /* what would mend it, which the message ends with, like "the nearest is
                         'image'" */
} tn_error;
TN_EXPORT const tn_error *tn_last_error(void);

/* The name of a status, like "TN_ERROR_SHAPE"; "unknown status" for others. Static text. [thread:
 * any] */
TN_EXPORT const char *tn_status_name(tn_status status);

/* The version of this library, like "0.1.0". Static text. [thread: any] */
TN_EXPORT const char *tn_version(void);

#ifdef __cplusplus
}
#endif
#endif
