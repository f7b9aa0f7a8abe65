/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of models: "RDR1", a number of elements, as many floats; x + these floats. */
#include "mistake.h"

#include <stdlib.h>
#include <string.h>

#include <tenon/plugin/importer.h>

#define MOST 4096u

static tn_status build(tn_import *import, const float *data, uint32_t count) {
    const tn_import_services *s = import->services;
    const int64_t extents[] = {count}, input[] = {-1, count};
    const char *const name = "y";
    const tn_operator *op;
    tn_import_tensor ids[2], y;
    tn_status status =
        s->add_input(import->graph, "x", TN_F32, WITH(rank_of_nine) ? 9 : 2, input, NULL, &ids[0]);
    if (status == TN_OK)
        status = s->add_constant(import->graph, WITH(names_twice) ? "x" : "w", TN_F32, 1, extents,
                                 data, count * 4u + (WITH(lies_about_bytes) ? 4 : 0), &ids[1]);
    if (WITH(tensor_that_is_not_there)) ids[1] = 77;
    if (status == TN_OK) status = s->find_operator(import, "", "Add", 14, &op);
    if (status == TN_OK) status = s->add_tensor(import->graph, name, &y);
    if (WITH(operator_of_its_own)) op = (const tn_operator *)import;
    if (WITH(cycle)) ids[0] = y;
    const tn_attribute unknown = {.size = sizeof(unknown), .type = TN_FIELD_I64, .name = "axis"};
    const tn_attribute *const attributes[] = {&unknown};
    const tn_import_node node = {.size = sizeof(node),
                                 .op = op,
                                 .name = "sum",
                                 .input_count = 2,
                                 .output_count = 1,
                                 .inputs = ids,
                                 .outputs = &y,
                                 .attribute_count = WITH(attribute_of_another) ? 1 : 0,
                                 .attributes = attributes};
    if (status == TN_OK) status = s->add_node(import->graph, &node);
    if (status == TN_OK) status = s->add_output(import->graph, y, NULL);
    return status;
}

static tn_status read_model(tn_import *import) {
    static float offset;
    const char *bytes = import->data;
    uint32_t count;
    if (import->bytes < 8 || memcmp(bytes, "RDR1", 4) != 0)
        return WITH(refuses_a_file_without_reason)
                   ? TN_ERROR_FORMAT
                   : import->services->fail(import, TN_ERROR_FORMAT,
                                            "it does not begin as it should");
    memcpy(&count, bytes + 4, 4);
    if (WITH(waits_for_ever) && count > MOST)
        for (;;)
            *(volatile uint32_t *)&count = count;
    if (!WITH(trusts_the_count) && (count > MOST || import->bytes - 8 < count * 4ull))
        return import->services->fail(import, TN_ERROR_FORMAT, "%u elements are not there", count);
    float *data =
        import->services->room(import, (WITH(trusts_the_count) ? count % MOST : count) * 4ull);
    if (!data) return TN_ERROR_MEMORY;
    memcpy(data, bytes + 8, (WITH(trusts_the_count) ? count % MOST : count) * 4ull);
    if (WITH(trusts_the_count)) count %= MOST;
    if (WITH(remembers_the_last_file) && count > 0) data[0] += offset++;
    static void *volatile left;
    if (WITH(leaves_malloc_behind)) left = malloc(1000);
    if (WITH(leaves_host_memory_behind)) (void)import->host->allocate(import->host, 100, 16);
    return build(import, data, count);
}

static uint32_t probe(void *user, const void *head, uint64_t bytes) {
    if (!WITH(probes_too_far) && bytes < 4) return 0;
    return memcmp(head, "RDR1", 4) == 0 ? 100 : 0;
}

static const struct {
    char magic[4];
    uint32_t count;
    float data[3];
} model = {{'R', 'D', 'R', WITH(refuses_its_sample) ? '2' : '1'}, 3, {1, 2, 3}};
static const tn_import_sample_file file = {sizeof(file), 0, "three.rdr", &model, sizeof(model)};
static const tn_import_sample_file *const files[] = {&file};
static const tn_import_sample sample = {.size = sizeof(sample), .file_count = 1, .files = files};
static const tn_import_sample *const samples[] = {&sample};
static const tn_importer reader = {.size = sizeof(reader),
                                   .name = "bad_reader",
                                   .what = "a test's model",
                                   .doc = "x plus numbers",
                                   .endings = WITH(endings_without_dots) ? "rdr" : ".rdr",
                                   .probe = probe,
                                   TN_NO_FIELDS,
                                   .read = read_model,
                                   .sample_count = 1,
                                   .samples = samples};
static const tn_importer *const importers[] = {&reader};
TN_IMPORTER_LIBRARY("bad_reader", "1", importers)
