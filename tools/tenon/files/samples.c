/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of sample inputs: finding the files, reading them batch by batch; see samples.h. */
#include "samples.h"
#include "cli/shapes.h"
#include "sample_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * what the network takes */

static bool describe_input(sample_input *input, const tn_port_info *port,
                           const cli_options *options) {
    uint32_t rank;
    *input = (sample_input){.type = port->type, .rank = port->rank, .name = strdup(port->name)};
    for (uint32_t i = 0; port->rank != UINT32_MAX && i < port->rank; i++)
        input->shape[i] = port->extents[i];
    int64_t given[TN_MAX_RANK];
    if (shape_option_extents(options, port->name, given, &rank)) {
        input->rank = rank;
        memcpy(input->shape, given, rank * sizeof(*given));
    }
    return input->name != NULL;
}

/* The file's shape as the network has it: leading extents of 1 may be missing, and the first may be
 * a multiple of a fixed one (`*out_parts`). */
static bool fit_shape(const sample_input *input, file_tensor *file, uint64_t *out_parts) {
    *out_parts = 1;
    if (input->rank == UINT32_MAX) return true;
    while (file->rank < input->rank) {
        if (input->shape[input->rank - file->rank - 1] > 1) return false;
        memmove(file->shape + 1, file->shape, file->rank * sizeof(*file->shape));
        file->shape[0] = 1;
        file->rank++;
    }
    if (file->rank != input->rank) return false;
    for (uint32_t i = 1; i < file->rank; i++)
        if (input->shape[i] >= 0 && input->shape[i] != file->shape[i]) return false;
    if (file->rank == 0 || input->shape[0] < 0 || input->shape[0] == file->shape[0]) return true;
    if (input->shape[0] == 0 || file->shape[0] % input->shape[0] != 0 || file->shape[0] == 0)
        return false;
    *out_parts = (uint64_t)(file->shape[0] / input->shape[0]);
    return true;
}

static bool read_file(sample_folder *folder, sample_input *input, const char *path,
                      uint64_t *out_parts) {
    char expected[SHAPE_TEXT_BYTES], found[SHAPE_TEXT_BYTES];
    int64_t raw[TN_MAX_RANK];
    const uint32_t rank = input->rank == UINT32_MAX ? 0 : input->rank;
    for (uint32_t i = 0; i < rank; i++)
        raw[i] = input->shape[i] < 0 ? 1 : input->shape[i];
    file_tensor_free(&input->file);
    free(input->file_path);
    input->file_path = NULL;
    if (!tensor_file_read(path, folder->options, input->rank == UINT32_MAX ? -1 : (int)rank, raw,
                          &input->file))
        return false;
    if (input->file.type != input->type)
        return cli_fault("%s: elements are %s, input '%s' takes %s", path,
                         type_name(input->file.type), input->name, type_name(input->type)),
               false;
    shape_print(input->file.rank, input->file.shape, found);
    if (!fit_shape(input, &input->file, out_parts))
        return cli_fault("%s: the shape is %s, input '%s' takes %s%s", path, found, input->name,
                         shape_print(input->rank, input->shape, expected),
                         input->rank == 4 && input->file.rank == 4 ? " (for images see --layout)"
                                                                   : ""),
               false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * the batches */

static sample *new_sample(sample_folder *folder) {
    if (folder->count == folder->capacity) {
        const size_t capacity = folder->capacity ? folder->capacity * 2 : 64;
        sample *larger = realloc(folder->samples, capacity * sizeof(*larger));
        if (!larger) return NULL;
        folder->samples = larger;
        folder->capacity = capacity;
    }
    sample *item = &folder->samples[folder->count];
    *item = (sample){.paths = calloc(folder->input_count + (size_t)1, sizeof(*item->paths))};
    if (!item->paths) return NULL;
    folder->count++;
    return item;
}

/* Files that may hold several samples are read now, which also finds what is wrong with them. */
static bool count_parts(sample_folder *folder, char *const *paths, uint64_t *out_parts) {
    *out_parts = 1;
    for (uint32_t i = 0; i < folder->input_count; i++) {
        uint64_t parts = 1;
        sample_input *input = &folder->inputs[i];
        if (tensor_file_is_image(paths[i])) continue;
        if (!read_file(folder, input, paths[i], &parts)) return false;
        if (i > 0 && parts != *out_parts)
            return cli_fault("%s: holds %" PRIu64 " samples, the file of input '%s' %" PRIu64,
                             paths[i], parts, folder->inputs[0].name, *out_parts),
                   false;
        *out_parts = parts;
    }
    return true;
}

static bool add_samples(sample_folder *folder, char *const *paths, int *out_exit) {
    uint64_t parts;
    *out_exit = EXIT_FAULT;
    if (!count_parts(folder, paths, &parts)) return false;
    for (uint64_t part = 0; part < parts; part++) {
        sample *item = new_sample(folder);
        bool is_complete = item != NULL;
        for (uint32_t i = 0; is_complete && i < folder->input_count; i++)
            is_complete = (item->paths[i] = strdup(paths[i])) != NULL;
        if (!is_complete) return cli_fault("no memory for the sample inputs"), false;
        item->part = part;
    }
    return true;
}

static bool add_twins(sample_folder *folder, char *const *folders, const text_list *names,
                      const char *name, int *out_exit) {
    char **paths = calloc(folder->input_count + (size_t)1, sizeof(*paths));
    bool is_good = paths != NULL;
    for (uint32_t i = 0; is_good && i < folder->input_count; i++) {
        paths[i] = i == 0 ? sample_files_join(folders[0], name)
                          : sample_files_find_twin(folders[i], name, &names[i]);
        if (paths[i]) continue;
        is_good = false;
        *out_exit = cli_fault("'%s' lies in '%s', but no file of that name in '%s'", name,
                              folders[0], folders[i]);
    }
    is_good = is_good && add_samples(folder, paths, out_exit);
    for (uint32_t i = 0; paths && i < folder->input_count; i++)
        free(paths[i]);
    free(paths);
    return is_good;
}

static bool find_in(sample_folder *folder, char *const *folders, text_list *names, int *out_exit) {
    size_t others = 0;
    for (uint32_t i = 0; i < folder->input_count; i++) {
        if (!sample_files_is_directory(folders[i])) {
            *out_exit = cli_fault("there is no directory '%s' with files for input '%s'",
                                  folders[i], folder->inputs[i].name);
            return false;
        }
        if (!sample_files_list(folders[i], &names[i], &others, out_exit)) return false;
    }
    for (size_t i = 0; i < names[0].count; i++)
        if (!add_twins(folder, folders, names, names[0].items[i], out_exit)) return false;
    if (others)
        fprintf(stderr, "tenon: %zu of the files in '%s' are no sample inputs and are left out\n",
                others, folders[0]);
    if (folder->count) return true;
    *out_exit = cli_fault("there are no sample inputs in '%s': expected .npy, .pb, images (.png "
                          ".jpg .pgm .ppm) or raw 32-bit floats (.bin .raw)",
                          folders[0]);
    return false;
}

/* Sub-folders, one an input, where there are several inputs or a sub-folder of that name. */
static bool find_samples(sample_folder *folder, const char *path, int *out_exit) {
    char **folders = calloc(folder->input_count + (size_t)1, sizeof(*folders));
    text_list *names = calloc(folder->input_count + (size_t)1, sizeof(*names));
    bool is_good = folders && names;
    for (uint32_t i = 0; is_good && i < folder->input_count; i++) {
        folders[i] = sample_files_folder_of(path, folder->inputs[i].name);
        if (folders[i] && folder->input_count == 1 && !sample_files_is_directory(folders[i])) {
            free(folders[i]);
            folders[i] = strdup(path);
        }
        is_good = folders[i] != NULL;
    }
    if (!is_good) *out_exit = cli_fault("no memory for the sample inputs");
    is_good = is_good && find_in(folder, folders, names, out_exit);
    for (uint32_t i = 0; i < folder->input_count; i++) {
        if (folders) free(folders[i]);
        if (names) sample_files_free(&names[i]);
    }
    free(folders);
    free(names);
    return is_good;
}

/* ----------------------------------------------------------------------------------------------
 * reading */

/* The part of the file that a batch is, as a tensor. */
static bool show_part(sample_input *input, uint64_t part, uint64_t parts) {
    memcpy(input->tensor_shape, input->file.shape, sizeof(input->tensor_shape));
    if (parts > 1) input->tensor_shape[0] = input->file.shape[0] / (int64_t)parts;
    const size_t bytes = input->file.bytes / parts;
    input->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                                .type = input->file.type,
                                .rank = input->file.rank,
                                .shape = input->tensor_shape,
                                .data = (char *)input->file.data + bytes * part,
                                .bytes = bytes,
                                .name = input->name};
    return part < parts;
}

static bool read_input(sample_folder *folder, sample_input *input, const char *path,
                       uint64_t part) {
    uint64_t parts = 1;
    const bool is_here = input->file_path && strcmp(input->file_path, path) == 0;
    if (!is_here && !read_file(folder, input, path, &parts)) return false;
    if (is_here && !fit_shape(input, &input->file, &parts)) return false;
    if (!is_here) input->file_path = strdup(path); /* null: it is read again */
    if (show_part(input, part, parts)) return true;
    return cli_fault("%s: holds fewer samples than when it was looked at first", path), false;
}

static tn_status read_sample(void *user, uint64_t index, const tn_tensor **out_inputs) {
    sample_folder *folder = user;
    const sample *item = &folder->samples[index];
    folder->last_read = index;
    for (uint32_t i = 0; i < folder->input_count; i++) {
        if (!read_input(folder, &folder->inputs[i], item->paths[i], item->part)) {
            folder->has_said_why = true;
            return TN_ERROR_FORMAT;
        }
        out_inputs[i] = &folder->inputs[i].tensor;
    }
    return TN_OK;
}

bool sample_folder_open(sample_folder *out_folder, const char *path, const cli_options *options,
                        const tn_graph *graph, int *out_exit) {
    *out_folder = (sample_folder){.options = options, .input_count = tn_graph_input_count(graph)};
    out_folder->inputs = calloc(out_folder->input_count + (size_t)1, sizeof(*out_folder->inputs));
    if (!out_folder->inputs) {
        out_folder->input_count = 0;
        *out_exit = cli_fault("no memory for the sample inputs");
        return false;
    }
    for (uint32_t i = 0; i < out_folder->input_count; i++) {
        if (describe_input(&out_folder->inputs[i], tn_graph_input(graph, i), options)) continue;
        *out_exit = cli_fault("no memory for the sample inputs");
        return false;
    }
    if (out_folder->input_count == 0) {
        *out_exit = cli_fault("the network has no inputs: there is nothing to calibrate with");
        return false;
    }
    if (!find_samples(out_folder, path, out_exit)) return false;
    out_folder->batches = (tn_batches){.size = sizeof(tn_batches),
                                       .count = out_folder->count,
                                       .read = read_sample,
                                       .progress = cli_show_progress,
                                       .user = out_folder};
    return true;
}

int sample_folder_fail(const sample_folder *folder, const char *what) {
    static const char words[] = "sample input";
    if (folder->has_said_why) return EXIT_FAULT;
    const tn_error *error = tn_last_error();
    const bool is_of_input = strstr(error->message, words) || strstr(error->where, words);
    const int code = cli_fail(what);
    for (uint32_t i = 0; is_of_input && i < folder->input_count; i++)
        fprintf(stderr, "tenon: sample input %" PRIu64 " is '%s'\n", folder->last_read,
                folder->samples[folder->last_read].paths[i]);
    return code;
}

void sample_folder_close(sample_folder *folder) {
    for (uint32_t i = 0; folder->inputs && i < folder->input_count; i++) {
        file_tensor_free(&folder->inputs[i].file);
        free(folder->inputs[i].file_path);
        free(folder->inputs[i].name);
    }
    for (size_t s = 0; s < folder->count; s++) {
        for (uint32_t i = 0; i < folder->input_count; i++)
            free(folder->samples[s].paths[i]);
        free(folder->samples[s].paths);
    }
    free(folder->samples);
    free(folder->inputs);
    *folder = (sample_folder){0};
}
