/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon._engine, the C extension behind the Python package: what its files share. It stands on the
 * public C interface and on Python's limited API of 3.11, and has no engine of its own: each type
 * is one object of tenon.h with a reference to the objects that it needs.
 *
 * Rules: whatever may take long or lock runs without the interpreter's lock
 * (Py_BEGIN_ALLOW_THREADS); a failed call is raised by binding_raise before another one; what Tenon
 * logs meanwhile waits in a queue (log.c), which binding_log_flush hands to Python's logging.
 */
#ifndef TENON_BINDING_H
#define TENON_BINDING_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <tenon/tenon.h>

/* --- module.c --- */
/* What a function of the package's own Python files answers: tenon.MODULE.NAME(arguments). */
PyObject *binding_call(const char *module, const char *name, const char *format, ...);
/* What a JSON document says; null: null with an exception. */
PyObject *binding_json(const char *text);
/* How often this process has been forked: what an earlier process made has lost its threads. */
extern unsigned binding_fork_count;
/* For tp_dealloc: frees the object, whose type is of the heap. */
void binding_free(PyObject *self);

/* --- error.c --- */
extern PyObject *binding_error_type;
bool binding_error_init(PyObject *module);
/* Raises the calling thread's last error as tenon.Error; answers null. An exception that is set
 * already (of a callback that ended the call) stays. */
PyObject *binding_raise(void);
/* Raises tenon.Error with a text of the binding's own; answers null. */
PyObject *binding_raise_text(tn_status status, const char *format, ...);

/* --- log.c --- */
void binding_log(void *user, uint32_t level, const char *text);
/* Hands what is queued to logging.getLogger("tenon"). An exception that is set stays set. */
void binding_log_flush(void);

/* --- arrays/types.c --- */
/* "f32", as ports have it; null: no such type. */
const char *binding_type_name(tn_type type);
/* TN_NONE: no type has the name. */
tn_type binding_type_named(const char *name);
/* The bytes of an element; 0: less than one byte, or a string. */
uint64_t binding_type_bytes(tn_type type);
/* The type whose elements a buffer of this format (PEP 3118) has; TN_NONE: none. */
tn_type binding_type_of_format(const char *format, Py_ssize_t item_bytes);
/* The same of DLPack's type. */
tn_type binding_type_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes);
/* The NumPy dtype in which elements of the type are handed out, borrowed; null with an exception.
 */
PyObject *binding_dtype(tn_type type);

/* --- text.c --- */
/* Texts that live as long as the list: for structs of `const char *`. */
typedef struct text_list {
    PyObject *owners; /* list of bytes objects */
    const char **items;
    uint32_t count;
} text_list;
/* The UTF-8 text of a str, or a path's bytes; *out_owner keeps it. False with an exception. */
bool binding_text(PyObject *object, PyObject **out_owner, const char **out_text);
bool binding_path(PyObject *object, PyObject **out_owner, const char **out_path);
/* For "O&" of PyArg_Parse...: the uint32_t that an integer is, where "I" would take another one for
 * what does not fit. 0 with
 * ValueError; binding_threads says that a number of threads is wanted. */
int binding_threads(PyObject *object, void *out_number);
int binding_u32(PyObject *object, void *out_number);
/* Of an iterable of str (or one str, a list of one); None is empty. */
bool text_list_read(text_list *list, PyObject *iterable, const char *what);
void text_list_free(text_list *list);

/* --- arrays/array.c, dlpack.c --- */
struct dl_managed;
/* An engine's device, whose memory tensors may lie in: a number of CUDA's, and the stream that they
 * are read and written on, as DLPack has it (1: the default one). */
typedef struct device_want {
    int index;
    unsigned long long stream;
} device_want;
/* The memory of a Python object that serves as a tensor. */
typedef struct array_view {
    Py_buffer buffer;           /* obj null: none */
    struct dl_managed *managed; /* of DLPack; null: none */
    PyObject *owner;            /* what was made of the caller's object, or null */
    void *data;
    tn_type type;
    uint32_t rank;
    bool is_packed;    /* linear */
    bool is_on_device; /* `data` is the device's that was wanted */
    uint64_t bytes;    /* from `data` on, the last element included */
    const int64_t *shape;
    int64_t strides[TN_MAX_RANK]; /* in elements */
} array_view;
/* Opens an object's memory as elements of `type`: by the buffer protocol, by DLPack, or what
 * tenon._arrays makes of it. `kind` and `name` are "input" and "x", for errors. `want`: the device
 * whose memory will do, too, or null. False with an exception. */
bool array_open(PyObject *object, tn_type type, const char *kind, const char *name, bool is_written,
                const device_want *want, array_view *out_view);
void array_close(array_view *view);
/* By DLPack: 1, 0 (the object has none), or -1 with an exception. */
int dlpack_open(PyObject *object, const device_want *want, array_view *out_view);
void dlpack_close(struct dl_managed *managed);

/* --- arrays/memory.c: memory that NumPy arrays of outputs lie in --- */
bool binding_memory_init(PyObject *module);
/* Takes over `data`, which came from binding_memory_allocate. Frees it on failure. */
PyObject *binding_memory_new(void *data, uint64_t bytes);
void *binding_memory_allocate(uint64_t bytes);
/* A NumPy array in such memory, which it takes over; strings and packed types become arrays of
 * their own. */
PyObject *binding_array_new(const tn_tensor *tensor, void *data, uint64_t bytes);

/* --- model_info.c --- */
PyObject *binding_model_info(const tn_model_info *info);

/* --- port.c --- */
bool binding_port_init(PyObject *module);
PyObject *binding_port(const tn_port_info *port); /* null port: null without exception */
/* A tuple of them. */
PyObject *binding_ports(uint32_t count,
                        const tn_port_info *(*get)(const void *owner, uint32_t index),
                        const void *owner);
PyObject *binding_extents(uint32_t rank, const int64_t *extents);
/* Of a sequence of integers; false with an exception that names `what`. */
bool binding_extents_read(PyObject *object, const char *what, uint32_t *out_rank,
                          int64_t out_extents[TN_MAX_RANK]);

/* --- the types --- */
typedef struct runtime_object {
    PyObject base;
    tn_runtime *runtime;
    unsigned fork_count; /* when it was made */
} runtime_object;
/* Whether the runtime was made in another process, before a fork: all of it is left alone then. */
bool binding_is_forked(const runtime_object *runtime);
/* The same with an exception. */
bool binding_refuse_forked(const runtime_object *runtime);
typedef struct graph_object {
    PyObject base;
    tn_graph *graph;
    runtime_object *runtime;
    bool is_busy; /* a build or another call without the interpreter's lock has it */
} graph_object;
typedef struct plan_object {
    PyObject base;
    tn_plan *plan;   /* built here; or null: */
    PyObject *bytes; /* an object with its bytes, as follows; or null: */
    Py_buffer view;
    bool is_borrowed;   /* engines read these bytes, without a copy */
    PyObject *path;     /* str */
    PyObject *accuracy; /* what the build measured, parsed; or null */
    runtime_object *runtime;
} plan_object;
typedef struct engine_object {
    PyObject base;
    tn_engine *engine;
    runtime_object *runtime;
    PyObject *borrowed; /* the plan whose bytes the engine reads; or null */
    PyObject *input_names, *output_names;
    uint32_t input_count, output_count;
    int device_index; /* of CUDA's; -1: the engine runs on the processor */
} engine_object;
extern PyTypeObject *binding_runtime_type, *binding_graph_type, *binding_plan_type,
    *binding_engine_type, *binding_context_type;
bool binding_runtime_init(PyObject *module);
bool binding_graph_init(PyObject *module);
bool binding_plan_init(PyObject *module);
bool binding_engine_init(PyObject *module);
bool binding_context_init(PyObject *module);
bool binding_calibration_init(PyObject *module);
/* Makes a type of the heap and adds it to the module. */
PyTypeObject *binding_type_add(PyObject *module, PyType_Spec *spec);
/* A plan object of a plan, which it takes over, also on failure. `accuracy`: the JSON of what was
 * measured, or null. */
PyObject *binding_plan_new(runtime_object *runtime, tn_plan *plan, const char *accuracy);
/* An engine object of an engine, which it takes over, also on failure. `device`: the one that was
 * asked for, or null. */
PyObject *binding_engine_new(plan_object *plan, tn_engine *engine, const char *device);
/* The same with its parts: the plan whose bytes the engine reads, or null. */
PyObject *binding_engine_wrap(runtime_object *runtime, PyObject *borrowed, tn_engine *engine,
                              int device_index);
PyObject *binding_context_new(engine_object *engine, tn_context *context);
/* The runtime that is given (a new reference); null or None: the default one. */
runtime_object *binding_runtime_of(PyObject *given);
/* Loads the libraries of `plugins`: a path, (path, domain), or an iterable of them. */
bool binding_load_plugins(runtime_object *runtime, PyObject *plugins);
/* refit.c: engine.refit(weights), engine.constants, and _engine.refit_plan. */
PyObject *engine_refit(PyObject *self, PyObject *weights);
PyObject *engine_constants(PyObject *self, void *closure);
PyObject *binding_refit_plan(PyObject *module, PyObject *arguments);
/* build.c: graph._build(**options) and graph._calibrate(**options). */
PyObject *graph_build(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *graph_calibrate(PyObject *self, PyObject *arguments, PyObject *keywords);

#endif
