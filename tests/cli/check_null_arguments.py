# SPDX-License-Identifier: Apache-2.0
"""Each function of the C interface with null instead of each of its pointers, one after another, and of all of them.

Usage: check_null_arguments.py TENON [FUNCTION...]: the program, beside whose folder lies lib/libtenon.so.

The functions are read from the headers, so that one which comes later is called, too. Nothing may crash or hang; what an argument points
at stays as it is where a call fails; and a function that answers a status refuses the null, but for those in NULL_IS_FINE.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import check_run_from_c

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPORTED = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)\s+([^;{]*?)\b(tn_\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*;')
# Not called: a program's main, what is about the whole process, and what frees a pointer that is not null.
SKIPPED = {"tn_isolation_serve", "tn_crash_report_start", "tn_text_free"}
# Beside what is named options, user, stream, done, release.
NULL_IS_FINE = {
    "tn_context_bind_count": "count", "tn_context_bind_input": "data", "tn_context_bind_device_input": "device_data",
    "tn_context_bind_output": "data", "tn_context_bind_device_output": "device_data", "tn_context_set_output_allocator": "allocate",
    "tn_context_run_async": "function", "tn_context_set_stream": "stream", "tn_device_free": "memory",
    "tn_device_host_free": "memory", "tn_graph_add_output": "name", "tn_graph_create": "name", "tn_graph_set_metadata": "value",
    "tn_graph_set_opset": "domain", "tn_refit_set_all": "out_count", "tn_context_set_memory": "memory",
    # Rank 0 in this test: there is nothing to read.
    "tn_context_bind_input_strided": "strides", "tn_context_bind_output_strided": "strides",
}
HANDLES = {"tn_runtime", "tn_graph", "tn_plan", "tn_engine", "tn_context", "tn_device_handle", "tn_stream", "tn_event", "tn_operation",
           "tn_calibration", "tn_threads", "tn_refit", "tn_plan_description"}
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: 0)
BUFFER_BYTES = 4096
SECONDS = 30  # for one function


class Parameter:
    def __init__(self, text):
        self.text = text
        self.is_function = "(*" in text or re.match(r"tn_(library_entry|output_allocate)\b", text) is not None
        self.is_pointer = self.is_function or "*" in text
        self.name = "function" if "(*" in text else re.search(r"(\w+)$", text).group(1)
        pointed = re.match(r"(?:const )?(?:struct )?(\w+) \*[^*]*$", text)
        self.pointed = pointed.group(1) if pointed and not self.is_function else None

    def c_type(self):
        if self.is_pointer:
            return ctypes.c_void_p
        types = {"uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64, "double": ctypes.c_double, "float": ctypes.c_float,
                 "bool": ctypes.c_bool, "uint8_t": ctypes.c_uint8}
        return types.get(self.text.split()[0], ctypes.c_uint32)


def split(text):
    parts, depth, part = [], 0, ""
    for letter in " ".join(text.split()):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    parts.append(part.strip())
    return [] if parts == ["void"] else parts


def compiled(source, headers, *options):
    with tempfile.TemporaryDirectory(prefix="tenon-null.") as folder:
        program = os.path.join(folder, "program")
        subprocess.run(["cc", "-I", headers, *options, "-x", "c", "-", "-o", program], input=source, text=True, check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


class Interface:
    """The functions of the headers, and how to call them."""

    def __init__(self, library):
        headers = os.path.join(ROOT, "include")
        text = subprocess.run(["cc", "-E", "-P", "-I", headers, "-x", "c", "-"], input="#include <tenon/tenon.h>\n", capture_output=True,
                              text=True, check=True).stdout
        self.functions = {name: (" ".join(kind.split()), [Parameter(each) for each in split(given)])
                          for kind, name, given in EXPORTED.findall(text)}
        structs = {each.pointed for _, given in self.functions.values() for each in given
                   if each.pointed and each.pointed.startswith("tn_") and each.pointed not in HANDLES}
        lines = "".join(f'printf("{name} %zu\\n", sizeof({name}));' for name in sorted(structs))
        said = compiled("#include <stddef.h>\n#include <stdio.h>\n#include <tenon/tenon.h>\nint main(void) {" + lines
                        + 'printf("flags %zu\\n", offsetof(tn_builder_options, flags));'
                        'printf("op %zu\\n", offsetof(tn_operation_description, op));'
                        'printf("ports %zu\\n", offsetof(tn_operation_description, input_count)); }', headers)
        self.sizes = {name: int(size) for name, size in (line.split() for line in said.splitlines())}
        self.library = ctypes.CDLL(library)
        self.library.tn_status_name.restype = ctypes.c_char_p
        self.kept, self.pool = [], {}

    def call(self, name, *given):
        kind, parameters = self.functions[name]
        function = getattr(self.library, name)
        function.argtypes = [each.c_type() for each in parameters]
        function.restype = {"tn_status": ctypes.c_int, "bool": ctypes.c_bool, "void": None}.get(
            kind, ctypes.c_void_p if "*" in kind else ctypes.c_uint32)
        return function(*given)

    def buffer(self, contents=b"", size=BUFFER_BYTES):
        raw = ctypes.create_string_buffer(size + 64)
        self.kept.append(raw)
        address = (ctypes.addressof(raw) + 63) // 64 * 64
        ctypes.memmove(address, contents, len(contents))
        return address

    def struct(self, name):
        return self.buffer(self.sizes[name].to_bytes(4, "little"))

    def made(self, name, *given):
        out = self.buffer()
        status = self.call(name, *given, out)
        if status != 0:
            raise RuntimeError(f"{name}: {self.library.tn_status_name(status).decode()}")
        return ctypes.c_void_p.from_address(out).value

    def make_objects(self, model):
        runtime = self.pool["tn_runtime"] = self.made("tn_runtime_create", None)
        graph = self.pool["tn_graph"] = self.made("tn_graph_load", runtime, self.buffer(model.encode()), None)
        options = self.struct("tn_builder_options")
        ctypes.c_uint32.from_address(options + self.sizes["flags"]).value = 1 | 16  # TN_BUILD_NO_TIMING, TN_BUILD_REFIT
        plan = self.pool["tn_plan"] = self.made("tn_build", graph, options)
        size = self.buffer()
        data = self.call("tn_plan_bytes", plan, size)
        engine = self.made("tn_engine_load_bytes", runtime, data, ctypes.c_uint64.from_address(size).value, None)
        self.pool["tn_engine"], self.pool["tn_context"] = engine, self.made("tn_context_create", engine)
        device = self.pool["tn_device_handle"] = self.made("tn_device_open", runtime, self.buffer(b"cpu"))
        self.pool["tn_stream"], self.pool["tn_event"] = self.made("tn_stream_create", device), self.made("tn_event_create", device)
        relu = self.struct("tn_operation_description")
        ctypes.c_void_p.from_address(relu + self.sizes["op"]).value = self.buffer(b"Relu")
        ctypes.c_uint64.from_address(relu + self.sizes["ports"]).value = 1 << 32 | 1  # one input, one output
        self.pool["tn_operation"] = self.made("tn_operation_create", runtime, relu)
        self.pool["tn_calibration"] = self.made("tn_calibration_create", runtime)
        self.pool["tn_threads"] = self.made("tn_threads_create", 2)
        self.pool["tn_refit"] = self.made("tn_refit_create", engine)
        self.pool["tn_plan_description"] = self.made("tn_plan_describe", plan)

    def value(self, parameter):
        if parameter.is_function:
            return ctypes.cast(CALLBACK, ctypes.c_void_p).value
        if parameter.is_pointer:
            if parameter.pointed in HANDLES:
                return self.pool[parameter.pointed]
            if parameter.pointed in self.sizes:
                return self.struct(parameter.pointed)
            return self.buffer(b"x" if parameter.pointed == "char" else b"")
        return 16 if "bytes" in parameter.name else 0

    def is_fine(self, name, parameter):
        return parameter.name in ("options", "user", "stream", "done", "release") or NULL_IS_FINE.get(name) == parameter.name

    def faults(self, name, model, say):
        """In a process of its own: what is wrong with the function, as text; `say` is told what is being called."""
        kind, parameters = self.functions[name]
        pointers = [i for i, each in enumerate(parameters) if each.is_pointer]
        say("everything null")
        status = self.call(name, *[None if each.is_pointer else 0 for each in parameters])
        if kind == "tn_status" and pointers and status == 0 and not all(self.is_fine(name, parameters[i]) for i in pointers):
            yield "is TN_OK with everything null"
        self.make_objects(model)
        for index in pointers:
            say(parameters[index].name + " null")
            given = [self.value(each) for each in parameters]
            given[index] = None
            outs = [(each, value, bytes((ctypes.c_char * BUFFER_BYTES).from_address(value)))
                    for each, value in zip(parameters, given) if value and each.name.startswith("out_")]
            status = self.call(name, *given)
            if kind != "tn_status":
                continue
            if status == 0 and not self.is_fine(name, parameters[index]):
                yield f"is TN_OK where {parameters[index].name} is null"
            for each, value, before in outs:
                if status != 0 and bytes((ctypes.c_char * BUFFER_BYTES).from_address(value)) != before:
                    yield f"changes {each.name} where {parameters[index].name} is null, and fails"


def check(interface, name, model):
    """Empty, or what is wrong."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        sys.stderr.flush()
        try:
            for fault in interface.faults(name, model, lambda what: os.write(writing, f"?{what}\n".encode())):
                os.write(writing, f"!{fault}\n".encode())
        except Exception as error:  # pylint: disable=broad-except
            os.write(writing, f"!{error!r}\n".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    _, status = os.waitpid(child, 0)
    found = [line[1:] for line in lines if line.startswith("!")]
    if os.WIFSIGNALED(status):
        found.append(f"ends by signal {os.WTERMSIG(status)} with {lines[-1][1:] if lines else 'nothing called'}")
    return "; ".join(found)


def main():
    tenon, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    library = os.path.join(os.path.dirname(os.path.dirname(tenon)), "lib", "libtenon.so")
    checks = check_run_from_c.Checks()
    interface = Interface(library)
    checks.say(len(interface.functions) > 150, f"{len(interface.functions)} functions are read from the headers")
    for name in sorted(NULL_IS_FINE):
        if name not in interface.functions or NULL_IS_FINE[name] not in [each.name for each in interface.functions[name][1]]:
            checks.say(False, f"{name} has no '{NULL_IS_FINE[name]}'")
    folder = tempfile.mkdtemp(prefix="tenon-null.")
    try:
        os.chdir(folder)
        model = os.path.join(folder, "small.onnx")
        check_run_from_c.write_model(model)
        for name in sorted(interface.functions):
            if name in SKIPPED or chosen and name not in chosen or not any(each.is_pointer for each in interface.functions[name][1]):
                continue
            found = check(interface, name, model)
            checks.say(not found, name + (f": {found}" if found else ""))
    finally:
        os.chdir(ROOT)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
