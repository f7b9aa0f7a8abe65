# SPDX-License-Identifier: Apache-2.0
"""The library opened late, by hosts whose static TLS others have used: Python, and a C program without memory;
and how libgomp, which it loads, waits.

Usage: check_late_load.py LIB_FOLDER, where libtenon.so lies. Compiles small libraries with cc.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

from checks import ProgramChecks

STATIC_TLS_BYTES = 64  # what libtenon.so may ask for

# A library with thread-local storage of both kinds: initial-exec, out of the block that all late ones share, and dynamic.
NEIGHBOUR = r"""
static __thread char initial[48] __attribute__((tls_model("initial-exec")));
static __thread char dynamic[4096];
char *touch(void);
char *touch(void) { initial[0] = dynamic[0] = 1; return initial; }
"""

# Opens the library from a script, and runs y = relu(x + x) there.
SCRIPT = r"""
import ctypes, glob, sys
folder, neighbours = sys.argv[1], sorted(glob.glob(sys.argv[2] + "/neighbour*.so"))
kept = [ctypes.CDLL(path) for path in neighbours]
for library in kept:
    library.touch()
assert len(kept) == 20
tenon = ctypes.CDLL(folder + "/libtenon.so")
c, u32, u64, pointer = ctypes, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

class Error(c.Structure):
    _fields_ = [("size", u32), ("status", c.c_int32), ("message", c.c_char_p), ("where", c.c_char_p)]

class Node(c.Structure):
    _fields_ = [("size", u32), ("version", u32), ("domain", c.c_char_p), ("op", c.c_char_p), ("name", c.c_char_p),
                ("input_count", u32), ("output_count", u32), ("inputs", c.POINTER(u32)),
                ("output_names", c.POINTER(c.c_char_p)), ("attribute_count", u64), ("attributes", pointer)]

tenon.tn_last_error.restype = c.POINTER(Error)
tenon.tn_plan_bytes.restype = pointer
tenon.tn_plan_bytes.argtypes = [pointer, c.POINTER(u64)]

def call(name, *arguments):
    if getattr(tenon, name)(*arguments):
        error = tenon.tn_last_error().contents
        sys.exit("%s: %s %s" % (name, error.where, error.message))

def add(graph, op, inputs):
    ids, out = (u32 * len(inputs))(*inputs), u32()
    node = Node(c.sizeof(Node), 14, b"", op, None, len(inputs), 1, ids, None, 0, None)
    call("tn_graph_add_node", graph, c.byref(node), c.byref(out))
    return out.value

runtime, graph, plan, engine, context, size = pointer(), pointer(), pointer(), pointer(), pointer(), u64()
call("tn_runtime_create", None, c.byref(runtime))
assert tenon.tn_graph_load_onnx(runtime, b"/no/such/file", c.byref(graph)) != 0
assert b"/no/such/file" in tenon.tn_last_error().contents.message + tenon.tn_last_error().contents.where
call("tn_graph_create", runtime, b"late", c.byref(graph))
x = u32()
call("tn_graph_add_input", graph, b"x", F32, 1, (c.c_int64 * 1)(4), None, c.byref(x))
call("tn_graph_add_output", graph, u32(add(graph, b"Relu", [add(graph, b"Add", [x.value, x.value])])), b"y")
call("tn_build", graph, None, c.byref(plan))
data = tenon.tn_plan_bytes(plan, c.byref(size))
call("tn_engine_load_bytes", runtime, pointer(data), size, None, c.byref(engine))
call("tn_context_create", engine, c.byref(context))
values, result = (c.c_float * 4)(-2, -0.5, 0.25, 3), (c.c_float * 4)()
call("tn_context_bind_input", context, 0, values, u64(16))
call("tn_context_bind_output", context, 0, result, u64(16))
call("tn_context_run", context)
assert list(result) == [0, 0, 0.5, 6], list(result)
tenon.tn_context_destroy(context)
tenon.tn_engine_release(engine)
tenon.tn_plan_destroy(plan)
tenon.tn_graph_destroy(graph)
tenon.tn_runtime_release(runtime)
print("ran")
"""

# Threads that fail while there is no memory, and end when the library is closed.
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/graph.h>

enum { THREADS = 40 };
static volatile int is_refusing;
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static int refuse(void) { if (is_refusing) errno = ENOMEM; return is_refusing; }
void *malloc(size_t bytes) { return refuse() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return refuse() ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { return refuse() ? NULL : __libc_realloc(memory, bytes); }

static __typeof__(tn_last_error) *last_error;
static __typeof__(tn_runtime_create) *create;
static pthread_barrier_t barrier;

static void *no_memory(void *user, uint64_t bytes, uint64_t alignment) {
    (void)user, (void)bytes, (void)alignment;
    return NULL;
}
static void nothing(void *user, void *memory) { (void)user, (void)memory; }

static void *thread(void *user) {
    const tn_allocator none = {.size = sizeof(none), .allocate = no_memory, .deallocate = nothing};
    const tn_runtime_options options = {.size = sizeof(options), .allocator = &none};
    tn_runtime *runtime = NULL;
    const int is_quiet = last_error()->status == TN_OK && !last_error()->message[0];
    const tn_status status = create(&options, &runtime);
    const int is_right = is_quiet && status == TN_ERROR_MEMORY && last_error()->status == TN_ERROR_MEMORY &&
                         strcmp(last_error()->message, "no memory for a runtime") == 0;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the library is closed */
    return is_right ? NULL : user;
}

int main(int count, char **arguments) {
    (void)count;
    for (int i = 0; i < 40; i++) { /* keys beyond the first 32 need memory for their values */
        pthread_key_t key;
        if (atoi(arguments[2])) pthread_key_create(&key, NULL);
    }
    for (int round = 0; round < 4; round++) {
        pthread_t threads[THREADS];
        int wrong = 0;
        void *library = dlopen(arguments[1], RTLD_NOW);
        if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&last_error = dlsym(library, "tn_last_error");
        *(void **)&create = dlsym(library, "tn_runtime_create");
        pthread_barrier_init(&barrier, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, thread, &threads[i])) return 2;
        is_refusing = 1;
        pthread_barrier_wait(&barrier);
        is_refusing = 0;
        dlclose(library);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(threads[i], &result);
            wrong += result != NULL;
        }
        if (wrong) return fprintf(stderr, "round %d: %d threads\n", round, wrong), 3;
    }
    puts("recorded");
    return 0;
}
"""

# Opens the libraries given, and says what is left of libgomp's setting in the environment.
WAITING = r"""
import ctypes, os, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
system = ctypes.CDLL(None)
system.getenv.restype = ctypes.c_char_p
print(system.getenv(b"GOMP_SPINCOUNT"))
"""


class Checks(ProgramChecks):
    prints_passes = False

    def __init__(self, libraries, folder):
        super().__init__(None, folder)
        self.libraries = os.path.abspath(libraries)

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr

    def check_library(self, path, most_bytes):
        """No initial-exec storage, which a late library has to find in what others left."""
        name = os.path.relpath(path, self.libraries)
        dynamic = self.run("readelf", "-dW", path)[1]
        self.say("STATIC_TLS" not in dynamic, f"{name} has DF_STATIC_TLS")
        relocations = re.findall(r"R_\w*TPOFF\w*", self.run("readelf", "-rW", path)[1])
        self.say(not relocations, f"{name} has {len(relocations)} initial-exec relocations")
        segments = re.findall(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)", self.run("readelf", "-lW", path)[1], re.M)
        size = sum(int(each, 16) for each in segments)
        self.say(most_bytes is None or size < most_bytes, f"{name} has {size} bytes of thread-local storage")

    def check_segments(self):
        self.check_library(os.path.join(self.libraries, "libtenon.so"), STATIC_TLS_BYTES)
        for path in glob.glob(os.path.join(self.libraries, "tenon", "*", "*.so")):
            self.check_library(path, None)

    def check_script(self):
        source = self.write("neighbour.c", NEIGHBOUR)
        for i in range(20):
            self.run("cc", "-O1", "-fPIC", "-shared", "-o", os.path.join(self.folder, f"neighbour{i:02}.so"), source)
        script = self.write("late.py", SCRIPT.replace("F32", str(self.type_f32())))
        status, text = self.run(sys.executable, script, self.libraries, self.folder)
        self.say(status == 0 and text.endswith("ran\n"), f"late.py exits with {status}: {text}")

    def type_f32(self):
        source = self.write("type.c", '#include <stdio.h>\n#include <tenon/plugin.h>\n'
                            'int main(void) { return printf("%d", TN_F32) < 0; }\n')
        self.compile(source, "type")
        return int(self.run(os.path.join(self.folder, "type"))[1])

    def compile(self, source, name):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        status, text = self.run("cc", "-O1", "-I", os.path.join(root, "include"), "-o",
                                os.path.join(self.folder, name), source, "-pthread", "-ldl")
        self.say(status == 0, f"{name}: {text}")

    def check_host(self):
        self.compile(self.write("host.c", HOST), "host")
        for keys in ("0", "1"):
            status, text = self.run(os.path.join(self.folder, "host"),
                                    os.path.join(self.libraries, "libtenon.so"), keys)
            self.say(status == 0 and text == "recorded\n", f"host {keys} exits with {status}: {text}")

    def check_waiting(self):
        """libgomp looks for work as often as is said, and is not told so where the program or its user has said it already."""
        script, library = self.write("waiting.py", WAITING), os.path.join(self.libraries, "libtenon.so")
        if "openmp" not in self.run("strings", library)[1]:
            return self.skip("built without OpenMP")
        ours = range(500, 25001)
        for variables, before, expected, left in (({}, (), ours, "None"), ({"GOMP_SPINCOUNT": "77"}, (), (77,), "b'77'"),
                                                  ({"OMP_WAIT_POLICY": "passive"}, (), (0,), "None"),
                                                  ({}, ("libgomp.so.1",), (300000,), "None")):
            known = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
            done = subprocess.run([sys.executable, script, *before, library], capture_output=True, text=True, timeout=300,
                                  check=False, env={**known, **variables, "OMP_DISPLAY_ENV": "verbose"})
            found = re.search(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)
            self.say(found and int(found[1]) in expected and done.stdout == left + "\n",
                     f"{variables} {before}: {found and found[1]} looks, {done.stdout}{done.stderr[-500:]}")
        return None


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(sys.argv[1], folder)
        checks.check_segments()
        checks.check_script()
        checks.check_host()
        checks.check_waiting()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
