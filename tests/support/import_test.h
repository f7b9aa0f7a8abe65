/* SPDX-License-Identifier: Apache-2.0 */
/* Reading models from memory by an importer, with options as texts "name=value" (at most 8; null:
 * no more). */
#ifndef TN_TESTS_IMPORT_TEST_H
#define TN_TESTS_IMPORT_TEST_H

#include <tenon/import.h>

#include <stdlib.h>
#include <string.h>

#define IMPORT_OPTIONS 8

static inline tn_status import_parse_with(tn_runtime *runtime, const char *format, const void *data,
                                          size_t bytes, const char *const *texts,
                                          const tn_attribute *more, tn_graph **out_graph) {
    tn_attribute items[IMPORT_OPTIONS + 1];
    const tn_attribute *list[IMPORT_OPTIONS + 1];
    char copies[IMPORT_OPTIONS][200];
    tn_import_options options = {.size = sizeof(options), .format = format, .options = list};
    for (size_t i = 0; texts && i < IMPORT_OPTIONS && texts[i]; i++) {
        const char *equals = strchr(texts[i], '=');
        const size_t length = (size_t)(equals - texts[i]);
        memcpy(copies[i], texts[i], length);
        copies[i][length] = '\0';
        items[options.option_count] = (tn_attribute){.size = sizeof(tn_attribute),
                                                     .type = TN_FIELD_STRING,
                                                     .name = copies[i],
                                                     .s = equals + 1};
        list[options.option_count] = &items[options.option_count];
        options.option_count++;
    }
    if (more) list[options.option_count++] = more;
    return tn_graph_parse(runtime, data, bytes, &options, out_graph);
}

static inline tn_status import_uff(tn_runtime *runtime, const void *data, size_t bytes,
                                   const char *const *options, tn_graph **out_graph) {
    return import_parse_with(runtime, "uff", data, bytes, options, NULL, out_graph);
}

/* `weights` null: there are none. */
static inline tn_status import_caffe(tn_runtime *runtime, const void *network, size_t network_bytes,
                                     const void *weights, size_t weights_bytes,
                                     const char *const *options, tn_graph **out_graph) {
    const tn_attribute data = {.size = sizeof(data),
                               .type = TN_FIELD_BYTES,
                               .name = "weights_data",
                               .count = weights_bytes,
                               .items = weights};
    return import_parse_with(runtime, "caffe", network, network_bytes, options,
                             weights ? &data : NULL, out_graph);
}

static inline tn_status import_mean(tn_runtime *runtime, tn_graph *graph, const char *input,
                                    const void *data, size_t bytes, double scale) {
    tn_graph *mean = NULL;
    tn_status status = import_parse_with(runtime, "caffe_mean", data, bytes, NULL, NULL, &mean);
    if (status == TN_OK) status = tn_graph_subtract_mean(graph, input, mean, scale);
    tn_graph_destroy(mean);
    return status;
}

#endif
