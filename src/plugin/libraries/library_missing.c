/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said when a plan's library cannot be had: what was wanted and by whom, where it was
 * searched and what was found there instead, and what would mend it. The search itself is
 * library_search.c's.
 */
#include "base/code_cache/sha256.h"
#include "base/status.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"

#define SEARCHED_BYTES 1000 /* of an error's text */

static tn_status fail_text(tn_text *text, tn_text *mend, tn_status status) {
    if (text->is_failed || mend->is_failed)
        status = tn_fail_memory("a message");
    else
        tn_error_mend(tn_fail(status, "%s", text->data), "\n  mend: ", "%s", mend->data);
    tn_text_deinit(text);
    tn_text_deinit(mend);
    return status;
}

static void add_wanted(tn_text *text, const tn_library_request *request) {
    tn_text_add_format(text, "%.300s needs library '%.100s' (%.100s, content %016llx)",
                       request->needed_for, request->name, request->file_name,
                       (unsigned long long)request->hash);
    if (!request->embedded_sha256) return;
    char sha256[TN_SHA256_TEXT_BYTES];
    tn_text_add_format(text,
                       " (the plan embeds it, SHA-256 %s, of which nothing is loaded unasked)",
                       tn_sha256_print(request->embedded_sha256, sha256));
}

static void add_searched(tn_text *text, const tn_library_search *search) {
    if (search->searched.length == 0)
        tn_text_add(text, "\n  searched no folder: neither --plugin-dir nor TENON_PLUGIN_PATH "
                          "gives one");
    else
        tn_text_add_format(text, "%.*s%s", SEARCHED_BYTES, search->searched.data,
                           search->searched.length > SEARCHED_BYTES ? "..." : "");
}

/* What was found instead. */
static void add_found(tn_text *text, const tn_library_search *search) {
    if (search->refused)
        tn_text_add_format(text, ": '%.200s' has that content, but is not among the allowed ones",
                           search->refused);
    else if (search->same_name && search->request->is_exact)
        tn_text_add_format(text, ": '%.200s' has content %016llx, which exact loading refuses",
                           search->same_name, (unsigned long long)search->same_name_hash);
    else if (search->same_name)
        tn_text_add_format(text, ": '%.200s' (content %016llx) is not among the allowed ones",
                           search->same_name, (unsigned long long)search->same_name_hash);
    else
        tn_text_add(text, ", which is not loaded: found neither that file nor that content");
}

/* A library inside the plan is code that whoever made the plan put there. */
static void add_trust(tn_text *text, const tn_library_request *request) {
    char sha256[TN_SHA256_TEXT_BYTES];
    if (!request->embedded_sha256) return;
    tn_sha256_print(request->embedded_sha256, sha256);
    tn_text_add_format(text,
                       "if its origin is trusted, load what the plan embeds (--trust-embedded %s; "
                       "tn_runtime_load_embedded; trust= in Python); or ",
                       sha256);
}

static void add_mend(tn_text *text, const tn_library_search *search) {
    const tn_library_request *request = search->request;
    add_trust(text, request);
    if (search->refused || (search->same_name && !request->is_exact))
        tn_text_add_format(
            text, "allow its content (--allow-plugin %016llx) or its folder",
            (unsigned long long)(search->refused ? request->hash : search->same_name_hash));
    else if (search->same_name)
        tn_text_add_format(text,
                           "provide the library that the plan was built with, or build the plan "
                           "again (tenon build MODEL -o PLAN --plugin %.200s)",
                           search->same_name);
    else if (search->named_in)
        tn_text_add_format(text,
                           "--plugin %.200s, which speaks of '%.100s'; or --plugin PATH/%.100s",
                           search->named_in, request->operator_name, request->file_name);
    else
        tn_text_add_format(text,
                           "load it (--plugin PATH/%.100s) or add its folder (--plugin-dir DIR, "
                           "TENON_PLUGIN_PATH); from its source: tenon plugin build PROJECT",
                           request->file_name);
}

tn_status tn_library_fail_search(const tn_library_search *search) {
    tn_text text, mend;
    tn_text_init(&text, tn_runtime_allocator(search->runtime));
    tn_text_init(&mend, tn_runtime_allocator(search->runtime));
    add_wanted(&text, search->request);
    add_found(&text, search);
    add_searched(&text, search);
    add_mend(&mend, search);
    return fail_text(&text, &mend, TN_ERROR_NOT_FOUND);
}

tn_status tn_library_fail_load(const tn_library_search *search, tn_status status,
                               const char *path) {
    tn_text text, mend;
    if (status == TN_ERROR_MEMORY) return status;
    tn_text_init(&text, tn_runtime_allocator(search->runtime));
    tn_text_init(&mend, tn_runtime_allocator(search->runtime));
    add_wanted(&text, search->request);
    tn_text_add_format(&text, ": '%.200s' was found, but does not load: %.500s", path,
                       tn_last_error()->message);
    add_searched(&text, search);
    tn_text_add_format(&mend,
                       "what it lacks; or compile it for this Tenon (tenon plugin build "
                       "PROJECT --rebuild); or give another one (--plugin PATH/%.100s)",
                       search->request->file_name);
    return fail_text(&text, &mend, status);
}

tn_status tn_library_fail_loaded(const tn_library_request *request,
                                 const tn_loaded_library *library, bool is_allowed) {
    const char *path = library->path[0] ? library->path : "linked in";
    tn_text text, mend;
    tn_text_init(&text, tn_runtime_allocator(library->runtime));
    tn_text_init(&mend, tn_runtime_allocator(library->runtime));
    add_wanted(&text, request);
    tn_text_add_format(&text, ": the loaded one (%.200s) has content %016llx, ", path,
                       (unsigned long long)library->hash);
    tn_text_add(&text,
                is_allowed ? "which exact loading refuses" : "and is not among the allowed ones");
    if (is_allowed)
        tn_text_add_format(&mend,
                           "load the one that the plan was "
                           "built with, or build the plan again (tenon build MODEL -o PLAN "
                           "--plugin %.200s)",
                           path);
    else
        tn_text_add_format(&mend, "allow its content (--allow-plugin %016llx) or its folder",
                           (unsigned long long)library->hash);
    return fail_text(&text, &mend, TN_ERROR_NOT_FOUND);
}
