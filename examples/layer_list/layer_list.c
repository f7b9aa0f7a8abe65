/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of a small format of its own: a text that lists layers (.layers), and a file of 32-bit
 * floats beside it for their constants, which stay where they are mapped.
 *
 *     values NAME                  the file of constants, in the order in which they are used
 *     input NAME N                 [batch, N]
 *     dense NAME FROM IN OUT       FROM * transposed([OUT, IN]) + [OUT]
 *     relu NAME FROM
 *     output NAME
 */
#include <tenon/plugin/importer.h>

#include <stdlib.h>
#include <string.h>

enum { WORDS = 5, TEXT = 200 };
typedef struct list_reader {
    tn_import *import;
    const tn_import_services *host;
    tn_import_file values;
    uint64_t used; /* bytes of them */
    char text[TEXT];
    const char *words[WORDS]; /* of a line */
    uint32_t count;
} list_reader;

static tn_status fail(list_reader *r, const char *what, const char *name) {
    return r->host->fail(r->import, TN_ERROR_FORMAT, what, name);
}

/* The next constant, in the file where it is mapped. */
static tn_status take(list_reader *r, const char *part, uint32_t rank, const int64_t *extents,
                      tn_import_tensor *out_tensor) {
    char name[TEXT + 16];
    uint64_t bytes = sizeof(float);
    for (uint32_t i = 0; i < rank; i++)
        bytes *= (uint64_t)extents[i];
    if (bytes > r->values.bytes - r->used) return fail(r, "too few values for '%s'", r->words[1]);
    const char *data = (const char *)r->values.data + r->used;
    r->used += bytes;
    strcat(strcpy(name, r->words[1]), part);
    return r->host->add_constant(r->import->graph, name, TN_F32, rank, extents, data, bytes,
                                 out_tensor);
}

static tn_status find(list_reader *r, const char *name, tn_import_tensor *out_tensor) {
    return r->host->find_tensor(r->import->graph, name, out_tensor)
               ? TN_OK
               : fail(r, "no line before this one makes '%s'", name);
}

static tn_status number(list_reader *r, const char *word, int64_t *out_number) {
    char *end;
    *out_number = strtoll(word, &end, 10);
    return end != word && !*end && *out_number > 0 && *out_number < 1 << 20
               ? TN_OK
               : fail(r, "'%s' is no number from 1 to 1048575", word);
}

static tn_status add(list_reader *r, const char *op, uint32_t count, const tn_import_tensor *inputs,
                     const tn_attribute *attribute) {
    tn_import_node node = {.size = sizeof(node), .version = 13, .domain = "", .op_name = op};
    node.name = r->words[1];
    node.input_count = count;
    node.inputs = inputs;
    node.output_count = 1;
    node.output_names = &r->words[1];
    node.attribute_count = attribute ? 1 : 0;
    node.attributes = &attribute;
    return r->host->add_node(r->import->graph, &node);
}

static tn_status read_dense(list_reader *r, const tn_import_tensor *from) {
    static const tn_attribute transposed = {
        .size = sizeof(tn_attribute), .type = TN_FIELD_I64, .name = "transB", .i = 1};
    tn_import_tensor inputs[3] = {*from};
    int64_t extents[2];
    tn_status status = number(r, r->words[3], &extents[1]);
    if (status == TN_OK) status = number(r, r->words[4], &extents[0]);
    if (status == TN_OK) status = take(r, "/weights", 2, extents, &inputs[1]);
    if (status == TN_OK) status = take(r, "/bias", 1, extents, &inputs[2]);
    return status == TN_OK ? add(r, "Gemm", 3, inputs, &transposed) : status;
}

static tn_status read_line(list_reader *r) {
    const char *word = r->words[0];
    int64_t extents[2] = {-1, 0};
    tn_import_tensor from;
    tn_status status = TN_OK;
    if (r->count == 2 && strcmp(word, "values") == 0)
        return r->host->open(r->import, r->words[1], TN_IMPORT_KEEP, &r->values);
    if (r->count == 3 && strcmp(word, "input") == 0) {
        status = number(r, r->words[2], &extents[1]);
        return status == TN_OK ? r->host->add_input(r->import->graph, r->words[1], TN_F32, 2,
                                                    extents, NULL, NULL)
                               : status;
    }
    if (r->count >= 2) status = find(r, r->words[r->count == 2 ? 1 : 2], &from);
    if (status != TN_OK) return status;
    if (r->count == 5 && strcmp(word, "dense") == 0) return read_dense(r, &from);
    if (r->count == 3 && strcmp(word, "relu") == 0) return add(r, "Relu", 1, &from, NULL);
    if (r->count == 2 && strcmp(word, "output") == 0)
        return r->host->add_output(r->import->graph, from, NULL);
    return fail(r, "'%s' is no layer of this format, or takes other words behind it", word);
}

static tn_status read_list(tn_import *import) {
    list_reader r = {.import = import, .host = import->services, .values.size = sizeof(r.values)};
    const char *at = import->data, *end = at + import->bytes;
    tn_status status = TN_OK;
    for (size_t length; at < end && status == TN_OK; at += length + 1) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char *rest = NULL;
        length = (size_t)((newline ? newline : end) - at);
        const uint64_t offset = (uint64_t)(at - (const char *)import->data);
        r.host->place(import, offset, NULL);
        if (length >= TEXT) return fail(&r, "the line is %s", "too long");
        memcpy(r.text, at, length);
        r.text[length] = 0;
        for (r.count = 0; r.count < WORDS; r.count++)
            if (!(r.words[r.count] = strtok_r(r.count ? NULL : r.text, " \t\r", &rest))) break;
        if (r.count > 1) r.host->place(import, offset, r.words[1]);
        if (r.count > 0 && r.words[0][0] != '#') status = read_line(&r);
    }
    return status;
}

static const float values[] = {1, 2, 3, 4, -1, 1, 0.5f, -0.5f};
static const char text[] = "# y = relu(W x + b)\nvalues two.values\ninput x 3\ndense h x 3 2\n"
                           "relu y h\noutput y\n";
static const tn_import_sample_file sample_files[] = {
    {sizeof(tn_import_sample_file), 0, "two.layers", text, sizeof(text) - 1},
    {sizeof(tn_import_sample_file), 0, "two.values", values, sizeof(values)}};
static const tn_import_sample_file *const files[] = {&sample_files[0], &sample_files[1]};
static const tn_import_sample sample = {.size = sizeof(sample), .file_count = 2, .files = files};
static const tn_import_sample *const samples[] = {&sample};

static const tn_importer list = {.size = sizeof(list),
                                 .name = "layer_list",
                                 .what = "a list of layers",
                                 .doc = "layers as a text, with a file of constants",
                                 .endings = ".layers",
                                 TN_NO_FIELDS,
                                 .read = read_list,
                                 .sample_count = 1,
                                 .samples = samples};
static const tn_importer *const importers[] = {&list};
TN_IMPORTER_LIBRARY("layer_list", "1.0", importers)
