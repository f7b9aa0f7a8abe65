/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of sample inputs as batches, for calibration and for measuring what a precision costs.
 */
#ifndef TENON_SAMPLES_H
#define TENON_SAMPLES_H

#include "tensor_file.h"

/* One batch: a file for each input, or a part of one along its first axis. */
typedef struct sample {
    char **paths;  /* one an input */
    uint64_t part; /* of the file's parts */
} sample;

/* What the network takes at an input. */
typedef struct sample_input {
    char *name;
    tn_type type;
    uint32_t rank;              /* UINT32_MAX: any */
    int64_t shape[TN_MAX_RANK]; /* -1: any */
    file_tensor file;           /* read last */
    char *file_path;            /* of it */
    tn_tensor tensor;
    int64_t tensor_shape[TN_MAX_RANK];
} sample_input;

typedef struct sample_folder {
    const cli_options *options;
    uint32_t input_count;
    sample_input *inputs;
    sample *samples;
    size_t count, capacity;
    uint64_t last_read;
    bool has_said_why; /* a batch could not be given, and the reason is on stderr */
    tn_batches batches;
} sample_folder;

/* Looks through a folder. With one input every file of a kind that can be read (.npy, .pb, images,
 * .bin and .raw of 32-bit floats) is a batch; with several, or where there are sub-folders named
 * after the inputs, files of one name in those are one batch. A file that holds more samples than
 * the network's fixed first extent gives several. False after having said why (*out_exit). */
bool sample_folder_open(sample_folder *out_folder, const char *path, const cli_options *options,
                        const tn_graph *graph, int *out_exit);
/* Prints the error of a calibration that failed (cli_fail), and which files it was about, unless it
 * was said before. */
int sample_folder_fail(const sample_folder *folder, const char *what);
void sample_folder_close(sample_folder *folder); /* a zeroed one is fine */

#endif
