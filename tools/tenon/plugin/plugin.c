/* SPDX-License-Identifier: Apache-2.0 */
/* tenon plugin: its verbs have files of their own. */
#include "plugin_command.h"
#include "session/option_use.h"
#include "session/session.h"
#include "text/nearest.h"

#include <string.h>

static const char help[] =
    "usage: tenon plugin list [--json] [options]  libraries, operators and kernels\n"
    "       tenon plugin list --missing DEVICE [--json] [options]\n"
    "           operators without a kernel on a device (cpu, cuda), and those that need none\n"
    "       tenon plugin show [DOMAIN::]NAME|LIB.so [--markdown|--json] [options]\n"
    "           an operator, or all of a library: signature, ports, fields, kernels, traits, "
    "cases\n"
    "       tenon plugin new NAME ...      the project of a layer (tenon plugin new -h)\n"
    "       tenon plugin build DIR ...     compiles it (tenon plugin build -h)\n"
    "       tenon plugin check LIB.so ...  checks it (tenon plugin check -h)\n"
    "       tenon plugin bench LIB.so ...  times its kernels (tenon plugin bench -h)\n"
    "options of list and show: -p, --plugin LIB.so  -P, --plugin-dir DIR (and what "
    "TENON_PLUGIN_PATH has)  -v, --verbose\n"
    "example: tenon plugin show Conv\n";

static int refuse_verb(const char *verb) {
    static const char *const verbs[] = {"list", "show", "new", "build", "check", "bench"};
    nearest_word nearest;
    if (strcmp(verb, "list") == 0) return cli_usage("plugin list takes no names");
    if (strcmp(verb, "show") == 0)
        return cli_usage("plugin show takes one operator or library (tenon plugin -h)");
    nearest_init(&nearest, verb);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        nearest_offer(&nearest, verbs[i]);
    return cli_usage("plugin has no verb '%s'%s%s%s; it has list, show, new, build, check, bench",
                     verb, nearest.best ? "; the nearest is '" : "",
                     nearest.best ? nearest.best : "", nearest.best ? "'" : "");
}

int command_plugin(int argc, char **argv) {
    cli_options options;
    if (argc < 2) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    if (argc > 1 && strcmp(argv[1], "new") == 0) return plugin_new(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "build") == 0) return plugin_build(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "check") == 0) return plugin_check(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "bench") == 0) return plugin_bench(argc - 1, argv + 1);
    int code = cli_options_read(argc, argv, "pPvjg4", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
    } else if (code == EXIT_DONE && options.argument_count < 1) {
        code =
            cli_usage("plugin: which verb: list, show, new, build, check or bench? (tenon plugin "
                      "-h)");
    } else if (code == EXIT_DONE) {
        const char *verb = options.arguments[0];
        const bool is_list = strcmp(verb, "list") == 0 && options.argument_count == 1;
        const bool is_show = strcmp(verb, "show") == 0 && options.argument_count == 2;
        tn_runtime *runtime = NULL;
        if (!is_list && !is_show) code = refuse_verb(verb);
        if (code == EXIT_DONE) code = option_use_check(&options);
        if (code == EXIT_DONE && (runtime = cli_runtime(&options, &code)) != NULL)
            code = is_list ? plugin_list(runtime, &options)
                           : plugin_show(runtime, options.arguments[1], &options);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
