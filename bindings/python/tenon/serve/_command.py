# SPDX-License-Identifier: Apache-2.0
"""tenon-serve: the program."""

import argparse
import logging
import sys

import tenon

from ._settings import Model, Settings, read_file

# Options of each model and of the server: fields of Model and Settings by these names.
OF_MODELS = {"contexts": "runs at the same time, each with its own memory (default: 1)",
             "threads": "of each run (default: as the plan was built)",
             "device": "cpu, cuda, cuda:1 (default: the plan's)",
             "batch-wait-ms": "with --batch: an incomplete batch waits that long for more (default: 0)",
             "queue": "requests that wait, beyond which they are refused (default: 128)"}
OF_SERVER = {"host": "where to listen (default: 127.0.0.1)", "http-port": "(default: 8080)", "grpc-port": "(default: 8081)",
             "metrics-port": "Prometheus' metrics, at /metrics (default: 8082)",
             "max-request-mib": "of one request (default: 64)", "max-buffered-mib": "of all requests over HTTP (default: 512)",
             "max-requests": "at the same time, of each protocol (default: 256)", "max-connections": "over HTTP (default: 1024)",
             "receive-seconds": "in which a request must have come (default: 30)",
             "drain-seconds": "that requests have when the server ends (default: 20)"}


def parser():
    made = argparse.ArgumentParser("tenon-serve", description="Serves plans over the Open Inference Protocol, version 2 (HTTP and gRPC).",
                                   epilog="example: tenon-serve model=net.plan --contexts 2", allow_abbrev=False)
    made.add_argument("models", nargs="*", metavar="NAME=PLAN", help="a plan, or a folder with a folder for each version (1/net.plan)")
    made.add_argument("--settings", metavar="FILE", help="a TOML file with all of this, and options for each model (docs/serving.md)")
    made.add_argument("--batch", action="store_true", default=None, help="join requests that wait along axis 0, up to the profile's maximum")
    made.add_argument("--isolated", action="store_true", default=None, help="kernels of plugin libraries run in a process of their own")
    for kind, options in ((Model, OF_MODELS), (Settings, OF_SERVER)):
        types = {name: field.type for name, field in kind.__dataclass_fields__.items()}
        for option, words in options.items():
            made.add_argument("--" + option, type=types[option.replace("-", "_")], metavar=option.split("-")[-1].upper(), help=words)
    made.add_argument("--allow-plugin", action="append", metavar="HASH|DIR", help="a plugin library that plans may load; any number of these")
    made.add_argument("--plugin-dir", action="append", metavar="DIR", help="where plugin libraries are looked for; any number of these")
    made.add_argument("--quiet", action="store_true", help="log warnings alone")
    made.add_argument("--version", action="version", version=f"tenon-serve {tenon.__version__}")
    return made


def settings_of(arguments):
    """The Settings of parsed arguments. Raises ValueError, OSError."""
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    settings = read_file(arguments.settings) if arguments.settings else Settings()
    for option in OF_SERVER:
        name = option.replace("-", "_")
        if name in given:
            setattr(settings, name, given[name])
    settings.allow += given.get("allow_plugin", [])
    settings.plugin_dirs += given.get("plugin_dir", [])
    of_models = {name: given[name] for name in (*(option.replace("-", "_") for option in OF_MODELS), "batch", "isolated") if name in given}
    if of_models and not arguments.models:
        raise ValueError(f"--{next(iter(of_models)).replace('_', '-')} is for models NAME=PLAN; those of a file have their own")
    for text in arguments.models:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise ValueError(f"{text!r}: NAME=PLAN is wanted, as in model=net.plan")
        settings.models.append(Model(name, path, **of_models))
    return settings.check()


def main(arguments=None):
    parsed = parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING if parsed.quiet else logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    try:
        settings = settings_of(parsed)
        try:
            from ._server import RequestError, serve
        except ImportError as reason:
            raise ValueError(f"the server is not installed ({reason}): pip install 'tenon-engine[serve]'") from None
        try:
            serve(settings)
        except RequestError as error:
            raise ValueError(str(error)) from None
    except (ValueError, OSError) as error:
        print(f"tenon-serve: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
