# SPDX-License-Identifier: Apache-2.0
"""What is served and within which bounds, from the command line or a file (TOML)."""

import dataclasses
import os
import re
import tomllib

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")  # part of URLs and labels
MIB = 1 << 20


@dataclasses.dataclass
class Model:
    """One model: a plan, or a folder with a folder for each version (1/net.plan, 2/net.plan)."""

    name: str
    path: str
    contexts: int = 1        # runs at the same time, each with its own memory
    threads: int = 0         # of each run; 0: as the plan was built
    device: str = ""         # "": the plan's
    batch: bool = False      # join requests that wait along axis 0, up to the profile's maximum
    batch_wait_ms: float = 0  # an incomplete batch waits that long for more
    queue: int = 128         # requests that wait, beyond which they are refused
    isolated: bool = False   # kernels of plugin libraries run in a process of their own

    def check_bounds(self):
        """All but whether the path is there."""
        _bounded(self, contexts=(1, 1024), threads=(0, 1024), batch_wait_ms=(0, 10_000), queue=(0, 1_000_000))
        if not NAME.match(self.name):
            raise ValueError(f"model {self.name!r}: a name is of letters, digits, '.', '_' and '-', at most 128")

    def check(self):
        self.check_bounds()
        if not os.path.exists(self.path):
            raise ValueError(f"model '{self.name}': {self.path} is not there: a plan, or a folder of versions, is wanted")


@dataclasses.dataclass
class Settings:
    """The server."""

    models: list = dataclasses.field(default_factory=list)
    host: str = "127.0.0.1"
    http_port: int = 8080
    grpc_port: int = 8081
    metrics_port: int = 8082
    max_request_mib: int = 64      # of one request
    max_buffered_mib: int = 512    # of all requests over HTTP that are being received
    max_requests: int = 256        # at the same time, of each protocol
    max_connections: int = 1024    # over HTTP
    receive_seconds: float = 30    # in which a request must have come
    drain_seconds: float = 20      # that requests have when the server ends
    allow: list = dataclasses.field(default_factory=list)         # hashes or folders of plugin libraries that plans may load
    plugin_dirs: list = dataclasses.field(default_factory=list)   # where they are looked for

    def check_bounds(self):
        """All but models and folders."""
        ports = dict.fromkeys(("http_port", "grpc_port", "metrics_port"), (1, 65535))
        _bounded(self, **ports, max_request_mib=(1, 2047), max_buffered_mib=(1, 1 << 20), max_requests=(1, 65536),
                 max_connections=(1, 65536), receive_seconds=(0.1, 3600), drain_seconds=(0, 3600))

    def check(self):
        self.check_bounds()
        if len({self.http_port, self.grpc_port, self.metrics_port}) < 3:
            raise ValueError("http_port, grpc_port and metrics_port must be three ports")
        if not self.models:
            raise ValueError("no model: NAME=PLAN is wanted, or [[model]] in the settings file")
        for folder in self.plugin_dirs:
            if not os.path.isdir(folder):
                raise ValueError(f"plugin_dirs: {folder} is no folder")
        names = [model.name for model in self.models]
        for model in self.models:
            model.check()
            if names.count(model.name) > 1:
                raise ValueError(f"model '{model.name}' is there twice: versions of a model are folders in one folder")
        return self


def _bounded(settings, **ranges):
    for name, (least, most) in ranges.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            raise ValueError(f"{name}: {value} is not within {least} to {most}")


def _read(kind, table, where):
    """A dataclass of a table, each value of the type of its field's default."""
    fields = {field.name: field for field in dataclasses.fields(kind) if field.name != "models"}
    for name, value in table.items():
        if name not in fields:
            raise ValueError(f"{where}: no setting is called '{name}': there are {', '.join(fields)}")
        wanted = fields[name].type
        right = {float: (int, float)}.get(wanted, wanted)
        if not isinstance(value, right) or (isinstance(value, bool) and wanted is not bool):
            raise ValueError(f"{where}: {name}: {wanted.__name__} is wanted, not {value!r}")
        if wanted is list and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{where}: {name}: a list of texts is wanted")
    missing = [name for name in ("name", "path") if kind is Model and name not in table]
    if missing:
        raise ValueError(f"{where}: '{missing[0]}' is missing")
    return kind(**table)


def read_file(path):
    """The Settings of a TOML file: keys of the server, and a table [[model]] for each model. Paths are relative to the file."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as reason:
        raise ValueError(f"{path}: {reason.strerror}") from None
    except ValueError as reason:  # tomllib's own, and of bytes that are no UTF-8
        raise ValueError(f"{path}: no TOML: {reason}") from None
    models = table.pop("model", [])
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise ValueError(f"{path}: models are tables [[model]]")
    settings = _read(Settings, table, path)
    settings.models = [_read(Model, model, f"{path}: model {number}") for number, model in enumerate(models, 1)]
    base = os.path.dirname(os.path.abspath(path))
    for model in settings.models:
        model.path = os.path.join(base, model.path)
    settings.plugin_dirs = [os.path.join(base, folder) for folder in settings.plugin_dirs]
    settings.allow = [item if re.fullmatch("[0-9a-f]{16}", item) else os.path.join(base, item) for item in settings.allow]
    return settings
