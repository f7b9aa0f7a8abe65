/* SPDX-License-Identifier: Apache-2.0 */
/* tenon build: a plan from a model. */
#include "cli/importers.h"
#include "cli/interrupt.h"
#include "session/option_use.h"
#include "build_summary.h"
#include "report/report_page.h"
#include "session/session.h"
#include <tenon/engine.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: tenon build MODEL -o PLAN [options]        MODEL: .onnx, .uff, .prototxt\n"
    "      --mean [NAME=]FILE.binaryproto, --scale F   the input's mean image: the layers get (x - "
    "mean) * scale\n"
    "  -o PLAN                        where the plan goes\n"
    "      --input NAME, --output NAME   the network's inputs and outputs, where not all of the "
    "model's are wanted\n"
    "  -p, --plugin LIB.so            load a plugin library (repeatable);\n"
    "                                 LIB.so@DOMAIN: its operators in that domain, not their own\n"
    "  -P, --plugin-dir DIR           load all libraries of a folder; so are those of the folders "
    "in "
    "TENON_PLUGIN_PATH\n"
    "  -s, --shape NAME=1x3x64x64     fix an input's shape, or NAME=MIN:OPT:MAX for a range\n"
    "      --next-profile             the shapes that follow are those of another profile, with "
    "kernels of its own\n"
    "  -t, --threads N                threads that the plan is made for (default: the cores there "
    "are)\n"
    "      --device NAME      cpu (default), cuda, cuda:1: what it lacks a kernel for runs on the "
    "processor\n"
    "      --precision fp32|tf32|bf16|fp16|int8   the least exact type that tensors may be stored "
    "in (default fp32);\n"
    "                         int8,fp16 or int8,bf16: in 16 bits, too, where that is faster\n"
    "      --calibration DIR|FILE     int8: sample inputs (.npy, images, or a sub-folder of them "
    "an "
    "input), or a table\n"
    "      --calibrator entropy|minmax|percentile, --percentile P   (default entropy; 99.99)\n"
    "      --range TENSOR=7.2|TENSOR=LO:HI   int8: a tensor's range by hand (repeatable), over "
    "that "
    "of the calibration\n"
    "      --write-calibration FILE   keep the table of scales, in TensorRT's text\n"
    "      --max-accuracy-loss F      take nodes back to fp32 until sum |y - y32| / sum |y32| is "
    "at "
    "most F\n"
    "      --keep NODE                a node that stays in fp32 (repeatable)\n"
    "      --pin NODE=KERNEL[:COMBINATION], --pin NODE=fp32|bf16|fp16|int8   a node's kernel "
    "(tenon "
    "plugin show OPERATOR\n"
    "                         lists them), its type (repeatable)\n"
    "      --keep-half                the model's 16-bit floats are computed in 16 bits on the "
    "processor, not in 32\n"
    "      --border NAME=TYPE[:nhwc]  an input or output in another type (uint8, fp16 ...), or "
    "with "
    "channels last; --shape\n"
    "                                 is then that of the border (repeatable)\n"
    "      --layout nchw|nhwc  --channels rgb|bgr  --scale F  --mean F[,F,F]   of sample images: "
    "value = (x - mean) * scale\n"
    "      --timing-cache FILE        keep timings between builds, those of a build that Ctrl-C "
    "stops too\n"
    "      --timing-seconds S         bound on the time spent measuring (default 20); 0: kernels "
    "are chosen by estimates,\n"
    "                                 and by what --timing-cache has\n"
    "      --no-timing, --no-fusion, --reference   for finding faults\n"
    "      --no-packed-weights        a smaller plan, whose weights each loading packs again\n"
    "      --embed-libraries          the plugin libraries that the plan needs go into it; run "
    "loads "
    "them where it is told\n"
    "                                 to trust them (--trust-embedded)\n"
    "      --without-rewrite NAME     a rewrite that is not applied (tenon plugin show has them; "
    "repeatable)\n"
    "      --refit NAME               a constant that tenon refit may put other data in place of "
    "(repeatable);\n"
    "      --refit-all                all constants of floating-point numbers\n"
    "      --no-kernel-libraries      without the kernels that lie beside the library (oneDNN's): "
    "for "
    "devices without them\n"
    "      --checked, --checked-dump DIR   kernels run in guarded memory first; bad ones are "
    "passed "
    "over, and the plan\n"
    "                                 runs so once on sample values; a bad node's tensors go to "
    "DIR "
    "(default tenon-checked)\n"
    "      --isolate, --isolate-limit MS   the model is read in a process of its own, which may "
    "take MS (default 60000)\n"
    "      --report FILE.json|FILE.html   what was chosen, node by node; --json: on stdout\n"
    "  -v, --verbose                  log all\n"
    "example: tenon build net.onnx --plugin libmy_layer.so --shape "
    "image=1x3x32x32:1x3x256x256:1x3x512x512 -o net.plan\n";

/* -o names the plan, --output a tensor; --output alone may name the plan, too. */
static const char *take_plan_path(cli_options *options) {
    text_list *outputs = &options->outputs;
    const char *path = options->short_output;
    if (!path) return outputs->count == 1 ? outputs->items[--outputs->count] : NULL;
    size_t kept = 0;
    for (size_t i = 0; i < outputs->count; i++)
        if (outputs->items[i] != path) outputs->items[kept++] = outputs->items[i];
    outputs->count = kept;
    return path;
}

static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), bytes = strlen(ending);
    return length > bytes && strcmp(text + length - bytes, ending) == 0;
}

static int write_report(const char *path, const char *report, const char *model) {
    if (ends_with(path, ".html"))
        return report_page_write(path, model, "build", report) ? EXIT_DONE : EXIT_FAULT;
    return whole_file_write(path, NULL, 0, report, strlen(report)) ? EXIT_DONE : EXIT_FAULT;
}

static int save(const cli_options *options, const char *model, const char *path,
                const tn_plan *plan, const precision_reports *reports) {
    struct stat written = {0};
    if (tn_plan_save(plan, path) != TN_OK) return cli_fail(path);
    (void)stat(path, &written);
    char *report = precision_join_reports(tn_plan_report(plan), reports);
    if (!report) return cli_fault("no memory for the report");
    const int code = options->report ? write_report(options->report, report, model) : EXIT_DONE;
    if (code == EXIT_DONE && options->json)
        fputs(report, stdout);
    else if (code == EXIT_DONE) {
        printf("%s: %llu bytes\n", path, (unsigned long long)written.st_size);
        build_summary_print(report);
    }
    free(report);
    return code;
}

/* The plan with its libraries in it, in place of the one without. */
static int embed(const char *path, tn_plan **inout_plan) {
    tn_plan *embedding = NULL;
    if (tn_plan_embed_libraries(*inout_plan, &embedding) != TN_OK) return cli_fail(path);
    tn_plan_destroy(*inout_plan);
    *inout_plan = embedding;
    return EXIT_DONE;
}

static int build(const cli_options *options, const char *model, const char *path) {
    int code = EXIT_FAULT;
    precision_reports reports = {0};
    tn_runtime *runtime = cli_runtime(options, &code);
    if (!runtime) return code;
    cli_interrupt_begin();
    tn_plan *plan = session_build_reported(runtime, model, options, &reports, &code);
    if (cli_interrupt_is_asked() && options->timing_cache)
        fprintf(stderr, "tenon: what was timed is kept in '%s'\n", options->timing_cache);
    cli_interrupt_end();
    if (plan) code = session_check_plan(runtime, plan, options);
    if (plan && code == EXIT_DONE && options->embed_libraries) code = embed(path, &plan);
    if (plan && code == EXIT_DONE) code = save(options, model, path, plan, &reports);
    precision_reports_free(runtime, &reports);
    tn_plan_destroy(plan);
    tn_runtime_release(runtime);
    return code;
}

/* Known before the build, which may take minutes. */
static bool are_folders_there(const cli_options *options) {
    return whole_file_has_folder(options->plan) && whole_file_has_folder(options->report) &&
           whole_file_has_folder(options->write_calibration);
}

int command_build(int argc, char **argv) {
    cli_options options;
    int code = cli_options_read(argc, argv, "pPwsyiodtcTYrjmkNFEKMIJvBGQWUXLCqzZe023158", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
        importers_print_options();
    } else if (code == EXIT_DONE) {
        options.plan = take_plan_path(&options);
        if (options.plan && tensor_file_is_stream(options.plan))
            code = cli_usage("-o -: a plan is a file, which is mapped: name one");
        else if (options.argument_count != 1 || !options.plan)
            code = cli_usage("build takes one model and -o PLAN (tenon build -h)");
        else if (options.report && !ends_with(options.report, ".html") &&
                 !ends_with(options.report, ".json"))
            code = cli_usage("option --report: '%s' ends neither in .html (a page) nor in .json",
                             options.report);
        else if ((code = option_use_check(&options)) == EXIT_DONE)
            code = are_folders_there(&options) ? build(&options, options.arguments[0], options.plan)
                                               : EXIT_FAULT;
    }
    cli_options_free(&options);
    return code;
}
