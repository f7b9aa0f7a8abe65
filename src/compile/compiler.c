/* SPDX-License-Identifier: Apache-2.0 */
/* Calling the compiler; see compiler.h. It is given arguments, never a line for a shell. */
#include "compile/compiler.h"
#include "base/process/child_process.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "plugin/runtime.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 1 << 20, EXCERPT_BYTES = 1400, OWN_ARGUMENTS = 16 };

typedef struct language {
    const char *variable, *command, *package; /* which compiler */
    const char *standard, *suffix;
} language;
static const language c = {"CC", "cc", "gcc", "-std=gnu11", "c"};
static const language cpp = {"CXX", "c++", "g++", "-std=gnu++17", "cpp"};
/* The tables of a layer have designated initialisers, which the compiler's front end takes in
 * C++20.
 */
static const language cuda = {"NVCC", "nvcc", "nvidia-cuda-toolkit", "-std=c++20", "cu"};

/* What the options ask for; nvcc is known by what it says of itself, too. */
static const language *language_of(const tn_compiler *compiler) {
    const uint32_t flags = compiler->options->flags;
    const bool is_nvcc = compiler->version && strstr(compiler->version, "Cuda compiler driver");
    return is_nvcc || (flags & TN_COMPILE_CUDA) ? &cuda : flags & TN_COMPILE_CPP ? &cpp : &c;
}

/* ----------------------------------------------------------------------------------------------
 * which compiler */

static tn_status split_words(tn_compiler *compiler, const char *command) {
    char *at = tn_arena_text(compiler->arena, command);
    compiler->words =
        tn_arena_allocate(compiler->arena, strlen(command) / 2 + 1, sizeof(*compiler->words));
    if (!at || !compiler->words) return tn_fail_memory("a command");
    for (char *word; (word = strsep(&at, " \t")) != NULL;)
        if (word[0]) compiler->words[compiler->word_count++] = word;
    if (compiler->word_count == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "the compiler's name is empty");
    return TN_OK;
}

static tn_status missing(const tn_compiler *compiler, tn_status status) {
    if (status != TN_ERROR_NOT_FOUND) return status;
    return tn_fail(TN_ERROR_NOT_FOUND,
                   "%s: a layer from source needs a compiler: name one in the options or in %s, or "
                   "install one (apt-get install %s)",
                   tn_last_error()->message, language_of(compiler)->variable,
                   language_of(compiler)->package);
}

static tn_status ask_version(tn_compiler *compiler) {
    tn_text said;
    int exit_code;
    const char **arguments =
        tn_arena_allocate(compiler->arena, compiler->word_count + 2, sizeof(*arguments));
    if (!arguments) return tn_fail_memory("a command");
    memcpy(arguments, compiler->words, compiler->word_count * sizeof(*arguments));
    arguments[compiler->word_count] = "--version";
    const tn_child_process process = {.arguments = (char *const *)(uintptr_t)arguments,
                                      .seconds = compiler->seconds,
                                      .output_limit = 4096};
    tn_text_init(&said, compiler->allocator);
    tn_status status = missing(compiler, tn_child_process_run(&process, &said, &exit_code));
    if (status == TN_OK) {
        compiler->version = tn_arena_text(compiler->arena, said.data ? said.data : "");
        if (!compiler->version) status = tn_fail_memory("a compiler's version");
    }
    tn_text_deinit(&said);
    return status;
}

/* NVIDIA's packages put nvcc where no search path leads. */
static const char *default_command(const tn_compiler *compiler) {
    static const char usual[] = "/usr/local/cuda/bin/nvcc";
    const language *chosen = language_of(compiler);
    const char *path = tn_runtime_reads_environment(compiler->runtime) ? getenv("PATH") : NULL;
    if (chosen != &cuda || access(usual, X_OK) != 0) return chosen->command;
    for (size_t length; path && *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        const char *file = tn_arena_format(compiler->arena, "%.*s/nvcc", (int)length, path);
        if (length && file && access(file, X_OK) == 0) return chosen->command;
    }
    return usual;
}

tn_status tn_compiler_init(tn_runtime *runtime, tn_arena *arena, const tn_compile_options *options,
                           tn_compiler *out_compiler) {
    tn_compiler compiler = {.runtime = runtime,
                            .arena = arena,
                            .allocator = tn_runtime_allocator(runtime),
                            .options = options,
                            .seconds = options->seconds > 0 ? options->seconds : 120};
    const char *command = options->compiler;
    if (!command && tn_runtime_reads_environment(runtime))
        command = getenv(language_of(&compiler)->variable);
    if (!options->compiler && (!command || !command[0])) command = default_command(&compiler);
    TN_TRY(split_words(&compiler, command));
    TN_TRY(ask_version(&compiler));
    *out_compiler = compiler;
    return TN_OK;
}

static uint64_t hash_texts(uint64_t hash, size_t count, const char *const *texts) {
    hash = tn_hash_add_u64(hash, count);
    for (size_t i = 0; i < count; i++)
        hash = tn_hash_add_text(hash, texts[i]);
    return hash;
}

static uint64_t hash_headers(void) {
    uint64_t hash = 0;
    for (const tn_compiler_header *header = tn_compiler_headers; header->name; header++)
        hash = tn_hash_add_text(tn_hash_add_text(hash, header->name), header->text);
    return hash;
}

uint64_t tn_compiler_hash(const tn_compiler *compiler) {
    const tn_compile_options *options = compiler->options;
    uint64_t hash = tn_hash_add_text(hash_headers(), compiler->version);
    hash = tn_hash_add_text(hash, tn_runtime_cpu_features(compiler->runtime)); /* -march=native */
    hash = hash_texts(hash, compiler->word_count, compiler->words);
    hash = hash_texts(hash, options->include_folder_count, options->include_folders);
    hash = hash_texts(hash, options->library_count, options->libraries);
    hash = hash_texts(hash, options->flag_count, options->compiler_flags);
    return tn_hash_add_u64(hash, options->flags & (TN_COMPILE_CPP | TN_COMPILE_CUDA));
}

/* ----------------------------------------------------------------------------------------------
 * compiling */

/* What one call of the compiler reads and writes. */
typedef struct compile_files {
    const char *header_folder, *source, *library, *dependencies;
} compile_files;

/* Writes a file that is not there with this content. */
static tn_status ensure_file(const tn_compiler *compiler, const char *path, const char *text) {
    tn_file file;
    const size_t bytes = strlen(text);
    bool is_there = false;
    if (tn_file_map(compiler->allocator, path, &file) == TN_OK) {
        is_there = file.bytes == bytes && memcmp(file.data, text, bytes) == 0;
        tn_file_unmap(&file);
    } else {
        tn_error_clear();
    }
    return is_there ? TN_OK : tn_file_write(compiler->allocator, path, text, bytes);
}

static tn_status ensure_header(const tn_compiler *compiler, const tn_compile_cache *cache,
                               const char *folder, const tn_compiler_header *header) {
    tn_compile_cache inside;
    const char *path = tn_path_join(cache->arena, folder, header->name);
    char *parent = path ? tn_arena_text(cache->arena, path) : NULL;
    if (!parent) return tn_fail_memory("a path");
    *strrchr(parent, '/') = '\0';
    TN_TRY(tn_compile_cache_open(cache->arena, cache->allocator, parent, false, &inside));
    return ensure_file(compiler, path, header->text);
}

static tn_status ensure_headers(const tn_compiler *compiler, const tn_compile_cache *cache,
                                const char **out_folder) {
    const char *folder =
        tn_arena_format(cache->arena, "%s/include-%016" PRIx64, cache->folder, hash_headers());
    if (!folder) return tn_fail_memory("a path");
    *out_folder = folder;
    for (const tn_compiler_header *header = tn_compiler_headers; header->name; header++)
        TN_TRY(ensure_header(compiler, cache, folder, header));
    return TN_OK;
}

static tn_status name_files(const tn_compiler *compiler, const tn_compile_cache *cache,
                            uint64_t key, compile_files *out_files) {
    static atomic_uint counter;
    tn_arena *arena = cache->arena;
    const unsigned number = atomic_fetch_add(&counter, 1);
    const char *stem = tn_arena_format(arena, "%s/%016" PRIx64, cache->folder, key);
    const char *own =
        stem ? tn_arena_format(arena, "%s.%ld.%u", stem, (long)getpid(), number) : NULL;
    if (!own) return tn_fail_memory("a path");
    TN_TRY(ensure_headers(compiler, cache, &out_files->header_folder));
    out_files->source = tn_arena_format(arena, "%s.%s", stem, language_of(compiler)->suffix);
    out_files->library = tn_arena_format(arena, "%s.so.part", own);
    out_files->dependencies = tn_arena_format(arena, "%s.d.part", own);
    return out_files->source && out_files->library && out_files->dependencies
               ? TN_OK
               : tn_fail_memory("a path");
}

static tn_status make_arguments(const tn_compiler *compiler, const compile_files *files,
                                char *const **out_arguments) {
    const tn_compile_options *options = compiler->options;
    size_t count = compiler->word_count + OWN_ARGUMENTS, n = compiler->word_count;
    count += (size_t)options->include_folder_count * 2 + options->flag_count;
    count += options->library_count;
    const char **arguments = tn_arena_allocate(compiler->arena, count, sizeof(*arguments));
    if (!arguments) return tn_fail_memory("a command");
    memcpy(arguments, compiler->words, n * sizeof(*arguments));
    arguments[n++] = language_of(compiler)->standard;
    arguments[n++] = "-O3";
    if (language_of(compiler) == &cuda) arguments[n++] = "-Xcompiler";
    arguments[n++] = language_of(compiler) == &cuda ? "-fPIC,-fvisibility=hidden" : "-fPIC";
    arguments[n++] = language_of(compiler) == &cuda ? "-cudart=static" : "-fvisibility=hidden";
    arguments[n++] = "-shared";
    arguments[n++] = "-I";
    arguments[n++] = files->header_folder;
    for (uint32_t i = 0; i < options->include_folder_count; i++) {
        arguments[n++] = "-I";
        arguments[n++] = options->include_folders[i];
    }
    arguments[n++] = "-MMD";
    arguments[n++] = "-MF";
    arguments[n++] = files->dependencies;
    for (uint32_t i = 0; i < options->flag_count; i++)
        arguments[n++] = options->compiler_flags[i];
    arguments[n++] = "-o";
    arguments[n++] = files->library;
    arguments[n++] = files->source;
    for (uint32_t i = 0; i < options->library_count; i++) {
        const char *library = options->libraries[i];
        arguments[n] =
            strchr(library, '/') ? library : tn_arena_format(compiler->arena, "-l%s", library);
        if (!arguments[n++]) return tn_fail_memory("a command");
    }
    arguments[n++] = "-lm";
    *out_arguments = (char *const *)(uintptr_t)arguments;
    return TN_OK;
}

static void log_lines(const tn_compiler *compiler, const tn_text *said) {
    for (const char *line = said->data; line && *line;) {
        const size_t length = strcspn(line, "\n");
        tn_runtime_log(compiler->runtime, TN_LOG_WARNING, "%s: %.*s", compiler->words[0],
                       (int)(length < 900 ? length : 900), line);
        line += length + (line[length] == '\n');
    }
}

/* From the first line with an error on, as much as a message holds, in whole lines. */
static tn_status fail_compiler(const tn_compiler *compiler, int exit_code, const tn_text *said) {
    const char *text = said->data ? said->data : "it says nothing";
    const char *found = strstr(text, "error");
    if (!found) found = strstr(text, "undefined reference");
    while (found && found > text && found[-1] != '\n')
        found--;
    if (found) text = found;
    size_t length = strlen(text);
    const bool is_cut = length > EXCERPT_BYTES;
    if (is_cut)
        for (length = EXCERPT_BYTES; length > 1 && text[length - 1] != '\n';)
            length--;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    return tn_fail(TN_ERROR_PLUGIN, "'%s' answers %d:\n%.*s%s", compiler->words[0], exit_code,
                   (int)length, text, is_cut ? "\n(more of it is in the log)" : "");
}

static void log_command(const tn_compiler *compiler, char *const *arguments) {
    tn_text command;
    tn_text_init(&command, compiler->allocator);
    for (int i = 0; arguments[i]; i++)
        tn_text_add_format(&command, "%s%s", i ? " " : "", arguments[i]);
    if (command.data) tn_runtime_log(compiler->runtime, TN_LOG_INFO, "%.900s", command.data);
    tn_text_deinit(&command);
}

static tn_status compile(const tn_compiler *compiler, const compile_files *files) {
    tn_text said;
    int exit_code = 0;
    tn_child_process process = {.seconds = compiler->seconds, .output_limit = OUTPUT_LIMIT};
    TN_TRY(make_arguments(compiler, files, &process.arguments));
    log_command(compiler, process.arguments);
    tn_text_init(&said, compiler->allocator);
    tn_status status = missing(compiler, tn_child_process_run(&process, &said, &exit_code));
    if (status == TN_OK) log_lines(compiler, &said);
    if (status == TN_OK && exit_code != 0) status = fail_compiler(compiler, exit_code, &said);
    tn_text_deinit(&said);
    return status;
}

tn_status tn_compiler_run(const tn_compiler *compiler, const tn_compile_cache *cache, uint64_t key,
                          const char *source, const char **out_path) {
    compile_files files;
    TN_TRY(name_files(compiler, cache, key, &files));
    TN_TRY(ensure_file(compiler, files.source, source));
    tn_status status = compile(compiler, &files);
    if (status == TN_OK) {
        const tn_compile_result result = {.library = files.library,
                                          .dependencies = files.dependencies,
                                          .source = files.source,
                                          .library_count = compiler->options->library_count,
                                          .libraries = compiler->options->libraries};
        status = tn_compile_cache_add(cache, key, &result, out_path);
    }
    unlink(files.library); /* is there after a failure alone */
    unlink(files.dependencies);
    return status;
}
