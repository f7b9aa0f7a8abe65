/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of models: the samples of a library's importers are read, and copies of them that are cut
 * off or have flipped bits. The model lies before a page that may not be touched; files beside it
 * are on disk.
 */
#include "graph/graph.h"
#include "rules/rules.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"

#include <tenon/import.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CUTS = 64, FLIPS = 192, PROBED = 64, ROUNDS = 12, OPTIONS = 64 };

/* A sample that is being read. */
typedef struct reading {
    const tn_test *test;
    const tn_importer *importer;
    const tn_import_sample *sample;
    uint64_t index; /* of the sample */
    char folder[64];
    unsigned char *pages; /* the model's copies end where they end */
    size_t page_bytes;
    tn_attribute options[OPTIONS];
    const tn_attribute *pointers[OPTIONS];
    char names[OPTIONS][64], values[OPTIONS][400];
} reading;

/* ----------------------------------------------------------------------------------------------
 * files */

static bool write_file(const reading *r, const tn_import_sample_file *file, const void *data,
                       size_t bytes) {
    char path[400];
    snprintf(path, sizeof(path), "%s/%.200s", r->folder, file->name);
    FILE *stream = fopen(path, "wb");
    if (!stream) return false;
    const bool is_written = bytes == 0 || fwrite(data, bytes, 1, stream) == 1;
    return fclose(stream) == 0 && is_written;
}

static bool write_files(const reading *r) {
    bool is_written = true;
    for (uint32_t f = 0; f < r->sample->file_count; f++)
        is_written &= write_file(r, r->sample->files[f], r->sample->files[f]->data,
                                 (size_t)r->sample->files[f]->bytes);
    return is_written;
}

static void remove_files(const reading *r) {
    char path[400];
    for (uint32_t f = 0; f < r->sample->file_count; f++) {
        snprintf(path, sizeof(path), "%s/%.200s", r->folder, r->sample->files[f]->name);
        unlink(path);
    }
    rmdir(r->folder);
}

/* "name=value", in which "{}" is the files' folder. */
static void set_options(reading *r) {
    for (uint32_t i = 0; i < r->sample->option_count && i < OPTIONS; i++) {
        const char *text = r->sample->options[i], *equals = strchr(text, '=');
        const char *folder = strstr(equals + 1, "{}");
        snprintf(r->names[i], sizeof(r->names[i]), "%.*s", (int)(equals - text), text);
        if (folder)
            snprintf(r->values[i], sizeof(r->values[i]), "%.*s%s%s", (int)(folder - equals - 1),
                     equals + 1, r->folder, folder + 2);
        else
            snprintf(r->values[i], sizeof(r->values[i]), "%s", equals + 1);
        r->options[i] = (tn_attribute){.size = sizeof(tn_attribute),
                                       .type = TN_FIELD_STRING,
                                       .name = r->names[i],
                                       .s = r->values[i]};
        r->pointers[i] = &r->options[i];
    }
}

static bool reading_init(reading *r, tn_verdict *verdict) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = (size_t)r->sample->files[0]->bytes;
    snprintf(r->folder, sizeof(r->folder), "/tmp/tenon-check-XXXXXX");
    r->page_bytes = (bytes + page) / page * page;
    r->pages = mmap(NULL, r->page_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
    if (r->pages == MAP_FAILED || mprotect(r->pages + r->page_bytes, page, PROT_NONE) != 0 ||
        !mkdtemp(r->folder) || !write_files(r)) {
        tn_verdict_skip(verdict, "there is no room for the sample's files");
        return false;
    }
    set_options(r);
    return true;
}

static void reading_deinit(reading *r) {
    remove_files(r);
    munmap(r->pages, r->page_bytes + (size_t)sysconf(_SC_PAGESIZE));
}

/* ----------------------------------------------------------------------------------------------
 * one reading */

static unsigned char *place_at_end(const reading *r, const void *data, size_t bytes) {
    unsigned char *at = r->pages + r->page_bytes - bytes;
    if (bytes > 0) memcpy(at, data, bytes);
    return at;
}

static tn_status parse(const reading *r, const void *data, size_t bytes, tn_graph **out_graph) {
    const tn_import_options options = {.size = sizeof(options),
                                       .format = r->importer->name,
                                       .folder = r->folder,
                                       .option_count = r->sample->option_count,
                                       .options = r->pointers};
    const char *before = tn_trace_enter("read");
    const tn_status status = tn_graph_parse(r->test->runtime, data, bytes, &options, out_graph);
    tn_trace_leave(before);
    return status;
}

static void fail(const reading *r, tn_verdict *verdict, const char *what, const char *why) {
    tn_verdict_fail(verdict, "importer '%s', sample %llu, %s: %s", r->importer->name,
                    (unsigned long long)r->index, what, why);
}

/* A graph or an error with a reason; nothing is left of either. */
static bool read_damaged(const reading *r, const char *what, const void *data, size_t bytes,
                         tn_verdict *verdict) {
    tn_graph *graph = NULL;
    const uint64_t live = r->test->counter->live;
    const tn_status status = parse(r, data, bytes, &graph);
    const bool has_reason =
        status == TN_OK ||
        (tn_last_error()->message[0] && !strstr(tn_last_error()->message, "without a reason"));
    tn_graph_destroy(graph);
    if (!has_reason) {
        fail(r, verdict, what, tn_last_error()->message);
        snprintf(verdict->rule, sizeof(verdict->rule), "fails-honestly");
    } else if (status == TN_ERROR_INTERNAL) {
        fail(r, verdict, what, "it takes the file's mistake for one of Tenon's own");
    } else if (r->test->counter->live != live) {
        fail(r, verdict, what, "memory of the host is left behind");
    }
    return verdict->outcome == TN_PASSED;
}

/* Whether two graphs are the same as far as a reader decides. */
static bool are_equal(const tn_graph *a, const tn_graph *b) {
    if (a->node_count != b->node_count || a->tensor_count != b->tensor_count ||
        a->input_count != b->input_count || a->output_count != b->output_count)
        return false;
    for (size_t i = 0; i < a->tensor_count; i++) {
        const tn_graph_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->bytes != y->bytes ||
            (x->bytes > 0 && memcmp(x->data, y->data, x->bytes) != 0))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * rules */

static size_t used_bytes(void) {
    return tn_heap_live_bytes();
}

static void check_sample(const reading *r, tn_verdict *verdict) {
    const tn_import_sample_file *model = r->sample->files[0];
    const unsigned char *data = place_at_end(r, model->data, (size_t)model->bytes);
    tn_graph *first = NULL;
    size_t last = 0, growing = 0;
    if (parse(r, data, (size_t)model->bytes, &first) != TN_OK) {
        fail(r, verdict, "which is sound", tn_last_error()->message);
        return;
    }
    for (size_t round = 0; round < ROUNDS && verdict->outcome == TN_PASSED; round++) {
        tn_graph *again = NULL;
        if (parse(r, data, (size_t)model->bytes, &again) != TN_OK)
            fail(r, verdict, "read again", tn_last_error()->message);
        else if (!are_equal(first, again))
            fail(r, verdict, "read again", "the graph is another one");
        tn_graph_destroy(again);
        growing = round > 0 && used_bytes() > last ? growing + 1 : 0;
        last = used_bytes();
    }
    if (verdict->outcome == TN_PASSED && growing + 2 >= ROUNDS)
        fail(r, verdict, "read again", "it leaves memory of malloc behind each time");
    tn_graph_destroy(first);
}

static void check_probe(const reading *r) {
    const tn_import_sample_file *model = r->sample->files[0];
    const size_t most = model->bytes < PROBED ? (size_t)model->bytes : PROBED;
    const char *before = tn_trace_enter("probe");
    for (size_t bytes = 0; r->importer->probe && bytes <= most; bytes++)
        (void)r->importer->probe(r->importer->user, place_at_end(r, model->data, bytes), bytes);
    tn_trace_leave(before);
}

static uint32_t draw(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The model's copies are in guarded memory, those of other files on disk. */
static bool try_copy(const reading *r, uint32_t file, const char *what, const void *data,
                     size_t bytes, tn_verdict *verdict) {
    const tn_import_sample_file *model = r->sample->files[0];
    if (file == 0) return read_damaged(r, what, place_at_end(r, data, bytes), bytes, verdict);
    if (!write_file(r, r->sample->files[file], data, bytes)) return true;
    return read_damaged(r, what, place_at_end(r, model->data, (size_t)model->bytes),
                        (size_t)model->bytes, verdict);
}

static void damage_file(const reading *r, uint32_t f, uint32_t *state, tn_verdict *verdict) {
    const tn_import_sample_file *file = r->sample->files[f];
    const size_t bytes = (size_t)file->bytes, effort = r->test->effort;
    unsigned char *copy = malloc(bytes + 1);
    char what[300];
    if (!copy) return;
    for (size_t i = 0; i < CUTS * effort && i < bytes && verdict->outcome == TN_PASSED; i++) {
        const size_t cut = bytes <= CUTS * effort ? i : i * bytes / (CUTS * effort);
        snprintf(what, sizeof(what), "'%.100s' cut off at byte %zu", file->name, cut);
        (void)try_copy(r, f, what, file->data, cut, verdict);
    }
    for (size_t i = 0; i < FLIPS * effort && bytes > 0 && verdict->outcome == TN_PASSED; i++) {
        const size_t at = draw(state) % bytes;
        const uint32_t mask = 1u << draw(state) % 8;
        memcpy(copy, file->data, bytes);
        copy[at] = (unsigned char)(copy[at] ^ mask);
        snprintf(what, sizeof(what), "'%.100s' with byte %zu changed by %u", file->name, at, mask);
        (void)try_copy(r, f, what, copy, bytes, verdict);
    }
    (void)write_file(r, file, file->data, bytes);
    free(copy);
}

static void check_damage(const reading *r, tn_verdict *verdict) {
    uint32_t state = r->test->seed * 2654435761u | 1u;
    check_probe(r);
    for (uint32_t f = 0; f < r->sample->file_count; f++)
        damage_file(r, f, &state, verdict);
}

/* ----------------------------------------------------------------------------------------------
 * samples */

typedef struct visit {
    const tn_test *test;
    tn_verdict *verdict;
    void (*check)(const reading *r, tn_verdict *verdict);
    size_t importers, samples;
} visit;

static bool visit_importer(void *user, const tn_importer *importer,
                           const tn_library_info *library) {
    visit *v = user;
    if (strcmp(library->path, v->test->whole->path) != 0 &&
        strcmp(library->name, v->test->library) != 0)
        return true;
    v->importers++;
    for (uint64_t i = 0; i < importer->sample_count && v->verdict->outcome == TN_PASSED; i++) {
        reading r = {
            .test = v->test, .importer = importer, .sample = importer->samples[i], .index = i};
        v->samples++;
        if (!reading_init(&r, v->verdict)) break;
        v->check(&r, v->verdict);
        reading_deinit(&r);
    }
    return v->verdict->outcome == TN_PASSED;
}

static void check_samples(const tn_test *test, tn_verdict *verdict,
                          void (*check)(const reading *r, tn_verdict *verdict)) {
    visit v = {.test = test, .verdict = verdict, .check = check};
    tn_runtime_visit_importers(test->runtime, visit_importer, &v);
    if (verdict->outcome != TN_PASSED) return;
    if (v.importers == 0)
        tn_verdict_skip(verdict, "the library reads no models");
    else if (v.samples == 0)
        tn_verdict_skip(verdict, "its importers have no samples");
}

void tn_rule_reads_samples(const tn_test *test, tn_verdict *verdict) {
    check_samples(test, verdict, check_sample);
}

void tn_rule_reads_damage(const tn_test *test, tn_verdict *verdict) {
    check_samples(test, verdict, check_damage);
}
