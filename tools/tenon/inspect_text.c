/* SPDX-License-Identifier: Apache-2.0 */
/* tenon inspect for people; see inspect_text.h. What is where in the document:
 * src/plan/inspect/inspect.c.
 */
#include "inspect_text.h"
#include "cli/cli.h"
#include "inspect_model.h"
#include "text/json.h"
#include "text/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A text that is written bit by bit; its memory is the caller's. */
typedef struct writer {
    char *text;
    size_t bytes;
    FILE *file;
} writer;

static bool writer_open(writer *w) {
    *w = (writer){0};
    w->file = open_memstream(&w->text, &w->bytes);
    return w->file != NULL;
}

static void writer_end(writer *w, text_table *table) {
    if (fclose(w->file) == 0)
        text_table_cell(table, w->text);
    else
        table->has_failed = true;
    free(w->text);
}

static const json *first_of(const json *object, const char *key) {
    const json *list = json_member(object, key);
    return list ? list->first : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * inputs and outputs */

/* "[batch, 3, ?, ?]": what an extent is called, where it is not fixed. */
static void add_shape(text_table *table, const json *shape, const json *names) {
    writer w;
    if (!json_is_there(shape)) {
        text_table_cell(table, "known when it runs");
        return;
    }
    if (!writer_open(&w)) {
        table->has_failed = true;
        return;
    }
    fputc('[', w.file);
    for (size_t i = 0; i < json_count(shape); i++) {
        const double extent = json_number(json_item(shape, i), -1);
        const char *name = json_text(json_item(names, i), "");
        if (i > 0) fputs(", ", w.file);
        if (extent >= 0)
            fprintf(w.file, "%.0f", extent);
        else
            fputs(name[0] ? name : "?", w.file);
    }
    fputc(']', w.file);
    writer_end(&w, table);
}

static bool is_equal(const json *a, const json *b) {
    if (json_count(a) != json_count(b)) return false;
    for (size_t i = 0; i < json_count(a); i++)
        if (json_number(json_item(a, i), 0) != json_number(json_item(b, i), 0)) return false;
    return true;
}

static void print_shape(FILE *file, const json *shape) {
    for (size_t i = 0; i < json_count(shape); i++)
        fprintf(file, i ? "x%.0f" : "%.0f", json_number(json_item(shape, i), 0));
}

/* "1x3x64x64 (1x3x16x16 to 1x3x128x128)", as --shape has them; nothing for one shape. */
static void add_range(text_table *table, const json *input) {
    const json *low = json_member(input, "min"), *best = json_member(input, "opt"),
               *high = json_member(input, "max");
    writer w;
    if (json_number_of(input, "free") != 0) {
        text_table_cell(table, "any shape");
        return;
    }
    if (is_equal(low, high) && is_equal(best, json_member(input, "shape"))) {
        text_table_cell(table, "");
        return;
    }
    if (!writer_open(&w)) {
        table->has_failed = true;
        return;
    }
    print_shape(w.file, best);
    if (!is_equal(low, high)) {
        fputs(" (", w.file);
        print_shape(w.file, low);
        fputs(" to ", w.file);
        print_shape(w.file, high);
        fputc(')', w.file);
    }
    writer_end(&w, table);
}

static void add_inputs(text_table *table, const json *document) {
    for (const json *it = first_of(document, "inputs"); it; it = it->next) {
        text_table_row(table);
        text_table_cell(table, json_text_of(it, "name"));
        text_table_cell(table, json_text_of(it, "type"));
        if (strchr(json_text_of(it, "type"), '(')) { /* a sequence or a map, which has no shape */
            text_table_cell(table, "");
            text_table_cell(table, "");
            continue;
        }
        add_shape(table, json_member(it, "shape"), json_member(it, "extent_names"));
        add_range(table, it);
    }
}

/* Of plans with several: the ranges of each. */
static void add_profiles(text_table *table, const json *document) {
    size_t number = 0;
    for (const json *profile = first_of(document, "profiles"); profile; profile = profile->next) {
        for (const json *it = profile->first; it; it = it->next) {
            text_table_row(table);
            text_table_format(table, "profile %zu", number);
            text_table_cell(table, json_text_of(it, "name"));
            add_range(table, it);
        }
        number++;
    }
}

/* Of plans that do not say an output's type, the type of the value that was made last. */
static const char *type_of_output(const json *document, const json *output) {
    const char *type = json_text_of(output, "type"), *tensor = json_text_of(output, "tensor");
    const json *program = first_of(document, "programs");
    for (const json *step = first_of(program, "steps"); step && !json_text_of(output, "type")[0];
         step = step->next)
        for (const json *value = first_of(step, "outputs"); value; value = value->next)
            if (strcmp(json_text_of(value, "tensor"), tensor) == 0)
                type = json_text_of(value, "type");
    return type[0] ? type : "?";
}

static void add_outputs(text_table *table, const json *document) {
    for (const json *it = first_of(document, "outputs"); it; it = it->next) {
        const char *name = json_text_of(it, "name"), *tensor = json_text_of(it, "tensor");
        text_table_row(table);
        text_table_cell(table, name);
        text_table_cell(table, type_of_output(document, it));
        if (strchr(type_of_output(document, it), '('))
            text_table_cell(table, "");
        else
            add_shape(table, json_member(it, "shape"), json_member(it, "extent_names"));
        if (strcmp(name, tensor) != 0) text_table_format(table, "tensor %s", tensor);
    }
}

/* ----------------------------------------------------------------------------------------------
 * libraries and operators */

static void add_libraries(text_table *table, const json *document) {
    for (const json *it = first_of(document, "libraries"); it; it = it->next) {
        const bool is_linked_in = json_number_of(it, "linked_in") != 0;
        text_table_row(table);
        text_table_cell(table, json_text_of(it, "name"));
        text_table_cell(table, json_text_of(it, "version"));
        text_table_cell(table, is_linked_in ? "linked in" : json_text_of(it, "file"));
        if (!is_linked_in) text_table_format(table, "content %s", json_text_of(it, "hash"));
        if (json_text_of(it, "sha256")[0])
            text_table_format(table, "embedded: %.0f bytes, SHA-256 %s",
                              json_number_of(it, "embedded_bytes"), json_text_of(it, "sha256"));
    }
}

static void add_operators(text_table *table, const json *document) {
    for (const json *it = first_of(document, "operators"); it; it = it->next) {
        const char *domain = json_text_of(it, "domain");
        text_table_row(table);
        text_table_format(table, "%s%s%s", domain, domain[0] ? "::" : "", json_text_of(it, "name"));
        text_table_format(table, "version %.0f", json_number_of(it, "version"));
        text_table_cell(table, json_text_of(it, "library"));
    }
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static const json *node_named(const json *document, const char *name) {
    for (const json *it = first_of(document, "nodes"); it && name[0]; it = it->next)
        if (strcmp(json_text_of(it, "name"), name) == 0) return it;
    return NULL;
}

static bool is_constant(const json *document, const char *tensor) {
    for (const json *it = first_of(document, "constants"); it; it = it->next)
        if (strcmp(json_text_of(it, "name"), tensor) == 0) return true;
    return false;
}

/* Operators of the step's absorbed nodes: those before an input, or those after the kernel. */
static void print_absorbed(FILE *file, const json *document, const json *step, bool is_before) {
    const size_t before = (size_t)json_number_of(step, "before");
    size_t at = 0;
    for (const json *it = first_of(step, "absorbed"); it; it = it->next, at++)
        if ((at < before) == is_before)
            fprintf(file, "%s%s%s", is_before ? "" : " + ",
                    json_text_of(node_named(document, json_text(it, "")), "op"),
                    is_before ? " + " : "");
}

/* "Cast + Conv + Relu": what is fused into it around its operator. */
static void add_operator(text_table *table, const json *document, const json *step) {
    const json *node = node_named(document, json_text_of(step, "name"));
    writer w;
    if (!writer_open(&w)) {
        table->has_failed = true;
        return;
    }
    print_absorbed(w.file, document, step, true);
    fputs(node ? json_text_of(node, "op") : json_text_of(step, "kind"), w.file);
    print_absorbed(w.file, document, step, false);
    writer_end(&w, table);
}

/* Names with types, of tensors that are no constants: "x f32, y f32:nhwc". */
static void add_values(text_table *table, const json *document, const json *step,
                       const char *const *keys) {
    size_t count = 0;
    writer w;
    if (!writer_open(&w)) {
        table->has_failed = true;
        return;
    }
    for (; *keys; keys++)
        for (const json *it = first_of(step, *keys); it; it = it->next) {
            const char *format = json_text_of(it, "format"), *tensor = json_text_of(it, "tensor");
            if (!json_is_there(it) || is_constant(document, tensor)) continue;
            fprintf(w.file, "%s%s %s", count++ ? ", " : "", tensor, json_text_of(it, "type"));
            if (strcmp(format, "linear") != 0) fprintf(w.file, ":%s", format);
            if (strcmp(json_text_of(it, "space"), "device") == 0) fputs(" (device)", w.file);
        }
    writer_end(&w, table);
}

static void add_kernel(text_table *table, const json *step) {
    const char *kernel = json_text_of(step, "kernel"), *library = json_text_of(step, "library");
    if (!kernel[0])
        text_table_cell(table, json_text_of(step, "kind"));
    else if (library[0] && strcmp(library, kernel) != 0)
        text_table_format(table, "%s/%s", library, kernel);
    else
        text_table_cell(table, kernel);
}

static void add_step(text_table *table, const json *document, const json *step, bool is_timed) {
    static const char *const inputs[] = {"inputs", "operands", NULL};
    static const char *const outputs[] = {"outputs", NULL};
    const double ns = json_number_of(step, "ns");
    text_table_row(table);
    text_table_cell(table, json_text_of(step, "name")[0] ? json_text_of(step, "name") : "-");
    add_operator(table, document, step);
    add_kernel(table, step);
    if (is_timed && ns > 0)
        text_table_format(table, "%.1f", ns / 1e3);
    else if (is_timed)
        text_table_cell(table, "-");
    add_values(table, document, step, inputs);
    add_values(table, document, step, outputs);
    text_table_cell(table, json_text_of(step, "note"));
}

static int print_program(const json *document, const json *program) {
    text_table table = {0};
    const char *device = json_text_of(program, "device");
    bool is_timed = false;
    for (const json *it = first_of(program, "steps"); it; it = it->next)
        is_timed = is_timed || json_number_of(it, "ns") > 0;
    const json *profile = json_member(program, "profile");
    printf("\nsteps, in their order (%.*s, %.0f threads%s", (int)strcspn(device, ";"), device,
           json_number_of(program, "threads"), is_timed ? "" : ", not timed");
    if (profile) printf(", profile %.0f", json_number(profile, 0));
    printf(")\n");
    text_table_row(&table);
    static const char *const titles[] = {"node", "operator", "kernel", "us", "reads", "writes"};
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (i != 3 || is_timed) text_table_cell(&table, titles[i]);
    for (const json *it = first_of(program, "steps"); it; it = it->next)
        add_step(&table, document, it, is_timed);
    const bool is_whole = text_table_print(&table, 2);
    text_table_free(&table);
    return is_whole ? EXIT_DONE : cli_fault("no memory for the tables");
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static int print_table(const char *title, const json *document,
                       void (*add)(text_table *table, const json *document)) {
    text_table table = {0};
    printf("\n%s\n", title);
    add(&table, document);
    const bool is_whole = text_table_print(&table, 2);
    text_table_free(&table);
    return is_whole ? EXIT_DONE : cli_fault("no memory for the tables");
}

/* Constants that tenon refit may put other data in place of. */
static size_t count_refit(const json *constants) {
    size_t count = 0;
    for (const json *it = constants ? constants->first : NULL; it; it = it->next)
        count += json_is_there(json_member(it, "refit"));
    return count;
}

static void print_head(const char *path, const json *document) {
    const json *bytes = json_member(document, "bytes");
    double constant_bytes = 0;
    for (const json *it = first_of(document, "constants"); it; it = it->next)
        constant_bytes += json_number_of(it, "bytes");
    printf("%s: graph '%s', written by Tenon %s, plan of %.0f bytes\n", path,
           json_text_of(document, "graph"), json_text_of(document, "producer"),
           json_number_of(bytes, "file"));
    printf("%zu nodes, %zu constants of %.0f bytes\n", json_count(json_member(document, "nodes")),
           json_count(json_member(document, "constants")), constant_bytes);
    const size_t refit = count_refit(json_member(document, "constants"));
    if (refit > 0) printf("refit: %zu constant%s\n", refit, refit == 1 ? "" : "s");
    if (json_text_of(document, "weights")[0])
        printf("weights: %s\n", json_text_of(document, "weights"));
}

/* "rewrites: silu 3, gelu.erf 2": each once, with the number of nodes that it put in place. */
static void print_rewrites(const json *document) {
    size_t listed = 0;
    for (const json *it = first_of(document, "nodes"); it; it = it->next) {
        const char *name = json_text_of(it, "rewrite");
        size_t count = 0;
        const json *first = NULL;
        for (const json *other = first_of(document, "nodes"); other && name[0]; other = other->next)
            if (strcmp(json_text_of(other, "rewrite"), name) == 0) {
                if (count++ == 0) first = other;
            }
        if (first == it) printf("%s%s %zu", listed++ ? ", " : "rewrites: ", name, count);
    }
    if (listed > 0) printf("\n");
}

static int print(const char *path, const json *document) {
    print_head(path, document);
    print_rewrites(document);
    int code = inspect_model_print(document);
    if (code == EXIT_DONE)
        code = print_table("inputs (name, type, shape, range of shapes)", document, add_inputs);
    if (code == EXIT_DONE && json_is_there(json_member(document, "profiles")))
        code = print_table("profiles (input, optimum and range)", document, add_profiles);
    if (code == EXIT_DONE) code = print_table("outputs", document, add_outputs);
    if (code == EXIT_DONE) code = print_table("libraries", document, add_libraries);
    if (code == EXIT_DONE) code = print_table("operators", document, add_operators);
    for (const json *it = first_of(document, "programs"); it && code == EXIT_DONE; it = it->next)
        code = print_program(document, it);
    return code;
}

int inspect_text_print(const char *path, const char *text) {
    json *document = json_read(text);
    if (!document) return cli_fault("%s: what is in it cannot be shown", path);
    const int code = print(path, document);
    json_free(document);
    return code;
}
