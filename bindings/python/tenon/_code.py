# SPDX-License-Identifier: Apache-2.0
"""The C around an author's code, and the author's own lines in what the compiler says.

A layer with members, a setup or a type variable becomes functions in the support of tn_compile_layer; others go there as they are."""

import ast
import linecache
import re

from . import _fields, _types

INDEX = re.compile(r"\b([A-Za-z_]\w*)\s*\[")
NAME = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\b(?!\s*->)")


def piece(op, part, code):
    """Code under its own name and lines; what follows has lines of its own again."""
    return f'\n#line 1 "{op}.{part}"\n{code}\n'


def _ports(plugin):
    lines = []
    for side, kind, ports in (("input", "const tn_tensor", plugin.inputs), ("output", "tn_tensor", plugin.outputs)):
        for index, port in enumerate(ports):
            if not port.has("variadic"):
                lines.append(f"    {kind} *{port.name} = call->{side}_count > {index}u ? call->{side}s[{index}] : NULL; (void){port.name};\n")
    return "".join(lines)


def _function(plugin, name, part, code, self_type, typedef="", end="    return TN_OK;\n", result="tn_status", params="params"):
    return (f"static {result} {name}(tn_call *call, {self_type} *self) {{\n"
            f"    const layer_fields *fields = (const layer_fields *)call->{params}; (void)fields; (void)self;\n"
            f"{_ports(plugin)}{typedef}    {{{piece(plugin.op, part, code)}    }}\n{end}}}\n")


def type_variable(plugin):
    """(name, types, index of the first input that has it) of the plugin's type variable, or None."""
    for index, port in enumerate(plugin.inputs):
        name, separator, types = port.types.partition(":")
        if separator:
            names = [each for word in types.split("|") for each in _types.GROUPS.get(word, [word])]
            return name, names, index
    return None


def _forwards(plugin, self_type):
    """The functions of `forward`, one a type, and the call that chooses."""
    variable = type_variable(plugin)
    if not variable or not re.search(rf"\b{variable[0]}\b", plugin.forward):
        return _function(plugin, "plugin_forward", "forward", plugin.forward, self_type), "return plugin_forward(call, self);"
    name, types, index = variable
    missing = [each for each in types if each not in _types.OF_C]
    if missing:
        raise ValueError(f"{plugin.name}: the code of 'forward' uses the type variable {name}, and {missing[0]} has no type in C: "
                         f"expected types of {', '.join(_types.OF_C)}")
    functions = "".join(_function(plugin, f"plugin_forward_{each}", "forward", plugin.forward, self_type,
                                  f"    typedef {_types.OF_C[each]} {name};\n") for each in types)
    cases = " ".join(f"case TN_{each.upper()}: return plugin_forward_{each}(call, self);" for each in types)
    return functions, (f"switch (call->inputs[{index}]->type) {{ {cases} "
                       f'default: return call->host->fail(call, TN_ERROR_TYPE, "{plugin.op} has no code for this type"); }}')


def layer_parts(plugin):
    """What stands in tn_compile_layer for the plugin's own pieces of code."""
    headers = "#include <tenon/layer.h>\n" + "".join(
        f"#include {name if name[:1] in '<' + chr(34) else '<' + name + '>'}\n" for name in plugin.headers)
    parts = {"infer": shape_code(plugin)}
    support = headers
    if plugin.members:
        support += f"typedef struct members {{{piece(plugin.op, 'members', plugin.members)}}} members;\n"
    if plugin.extra_src:
        support += piece(plugin.op, "extra_src", plugin.extra_src)
    if plugin.forward is not None:
        support += _kernel(plugin, parts)
    parts["support"] = support
    if plugin.reference is not None:
        parts["reference"] = piece(plugin.op, "reference", plugin.reference)
    return parts


def _kernel(plugin, parts):
    """Functions of the kernel for the support; its callbacks go into `parts`."""
    is_stateful = bool(plugin.members or plugin.setup)
    if not is_stateful:
        functions, call = _forwards(plugin, "const void")
        parts["run"] = f"const void *self = NULL; {call}"
        return functions
    members = "members" if plugin.members else "struct no_members { char none; }"
    functions, call = _forwards(plugin, "const members")
    start = "" if plugin.members else f"typedef {members} members;\n"
    start += _function(plugin, "plugin_setup", "setup", plugin.setup or "", "members")
    start += _function(plugin, "plugin_teardown", "teardown", plugin.teardown or "", "members", end="", result="void")
    parts["prepare"] = ("members *self = (members *)call->host->allocate(call->host, sizeof(members), 64);\n"
                        "if (!self) return TN_ERROR_MEMORY;\nmemset(self, 0, sizeof(members));\n"
                        "const tn_status status = plugin_setup(call, self);\n"
                        "if (status != TN_OK) { plugin_teardown(call, self); call->host->deallocate(call->host, self); return status; }\n"
                        "call->state = self;")
    parts["release"] = ("members *self = (members *)call->state;\nplugin_teardown(call, self);\n"
                        "call->host->deallocate(call->host, self);")
    parts["run"] = f"const members *self = (const members *)call->state; {call}"
    start += functions + f"static tn_status plugin_run(tn_call *call, const members *self) {{ {call} }}\n"
    if plugin.reference is None:
        parts["reference"] = ("members self;\nmemset(&self, 0, sizeof(self));\ntn_status status = plugin_setup(call, &self);\n"
                              "if (status == TN_OK) status = plugin_run(call, &self);\nplugin_teardown(call, &self);\nreturn status;")
    return start


def shape_code(plugin):
    """The body of the shape rule; None: every output has the first input's shape."""
    shape = plugin.shape
    if shape is None:
        return None
    if isinstance(shape, str):
        return piece(plugin.op, "shape", shape)
    code = ""
    for name, extents in shape.items():
        index = next((index for index, port in enumerate(plugin.outputs) if port.name == name), None)
        if index is None:
            raise ValueError(f"{plugin.name}: the shape of '{name}', which is no output"
                             f"{_fields.near(name, [port.name for port in plugin.outputs])}")
        if isinstance(extents, str):  # an input, whose shape it has
            if extents not in [port.name for port in plugin.inputs]:
                raise ValueError(f"{plugin.name}: the shape of '{name}' is {extents!r}: expected a list of extents, or an input"
                                 f"{_fields.near(extents, [port.name for port in plugin.inputs])}")
            code += f"if ({name} && {extents}) tn_layer_set_shape(call, {index}, {extents}->rank, {extents}->shape);\n"
            continue
        values = [_extent(plugin, extent) for extent in extents]
        checks = sorted({check for _, found in values for check in found})
        for port, least in checks:
            if not any((port, more) in checks for more in range(least + 1, 9)):
                number = [each.name for each in plugin.inputs].index(port)
                code += (f'if ({port} && {port}->rank < {least}) return call->host->fail(call, TN_ERROR_SHAPE, "input \'{port}\' has %u '
                         f'extents: expected {least} or more", call->inputs[{number}]->rank);\n')
        code += "".join(f"const int64_t extent_{index}_{i} = {text};\n" for i, (text, _) in enumerate(values))
        listed = ", ".join(f"extent_{index}_{i}" for i in range(len(values)))
        code += f"if ({name}) tn_layer_set_shape(call, {index}, {len(values)}, (const int64_t[]){{{listed or 0}}});\n"
    return code


def _extent(plugin, extent):
    """C of an extent like 3, "x[0] * 2" or "factor", and the (input, least rank) that it needs."""
    ports, needed = {port.name for port in plugin.inputs}, set()
    text = str(extent)

    def index(match):
        if match[1] not in ports:
            return match[0]
        number = re.match(r"\s*(\d+)\s*\]", text[match.end():])
        if not number:
            raise ValueError(f"{plugin.name}: the extent {text!r}: expected a number in {match[1]}[...]")
        needed.add((match[1], int(number[1]) + 1))
        return f"{match[1]}->shape["

    code = INDEX.sub(index, text)
    return NAME.sub(lambda match: f"fields->{match[1]}" if match[1] in plugin.fields else match[0], code), needed


def cuda_source(plugin):
    """A whole source in CUDA C++: a kernel for the operator of the layer above."""
    members = "".join(f"    {_fields.FIELD_C_TYPES[field.kind]} {name};\n" for name, field in plugin.fields.items())
    rows = "".join("    TN_FIELD_FULL(layer_fields, {}, {}, {}, {}, {}, {}, {}, 0, 0, NULL),\n".format(
        row[2], row[0], row[1], _literal(row[3]), _literal(row[4]), row[6], row[7])
        for row in (field.row(name) for name, field in plugin.fields.items()))
    table = f"static const tn_field layer_field_table[] = {{\n{rows}}};\n" if rows else ""
    headers = "".join(f"#include <{name.strip('<>')}>\n" for name in plugin.headers)
    end = ('    const cudaError_t error = cudaPeekAtLastError();\n    if (error == cudaSuccess) return TN_OK;\n'
           '    return call->host->fail(call, TN_ERROR_DEVICE, "%s", cudaGetErrorString(error));\n')
    return (f"#include <math.h>\n#include <string.h>\n#include <tenon/layer.h>\n{headers}"
            f"typedef struct layer_fields {{\n    uint64_t present;\n{members}}} layer_fields;\n{table}"
            f"{piece(plugin.op, 'cuda_src', plugin.cuda_src or '')}"
            + _function(plugin, "plugin_cuda", "cuda", plugin.cuda, "const void", "    cudaStream_t stream = (cudaStream_t)call->stream; "
                        "(void)stream;\n", end, params="kernel_params")
            + "static tn_status layer_run(tn_call *call) noexcept { return plugin_cuda(call, NULL); }\n"
            f"static tn_kernel layer_kernel;\nstatic const tn_kernel *const layer_kernels[] = {{&layer_kernel}};\n"
            f"TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {{\n"
            f"    static tn_library table;\n    (void)host;\n"
            f"    layer_kernel.size = sizeof(layer_kernel);\n    layer_kernel.revision = 1;\n"
            f"    layer_kernel.domain = {_literal(plugin.domain)};\n    layer_kernel.op = {_literal(plugin.op)};\n"
            f'    layer_kernel.device = "cuda";\n    layer_kernel.name = "compiled_cuda";\n    layer_kernel.run = layer_run;\n'
            + ("    layer_kernel.params_bytes = sizeof(layer_fields);\n    layer_kernel.field_size = sizeof(tn_field);\n"
               "    layer_kernel.field_count = TN_COUNT(layer_field_table);\n    layer_kernel.fields = layer_field_table;\n" if rows else "")
            + f"    table.size = sizeof(table);\n    table.abi_major = TN_ABI_MAJOR;\n    table.abi_minor = TN_ABI_MINOR;\n"
            f"    table.name = {_literal(plugin.op + '_cuda')};\n    table.version = \"compiled\";\n    table.kernel_count = 1;\n"
            f"    table.kernels = layer_kernels;\n    return &table;\n}}\n")


def _literal(text):
    if text is None:
        return "NULL"
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()) + '"'


# --- the author's own lines -----------------------------------------------------------------------


def find_line(filename, text):
    """The line of a file, or of a notebook's cell, in which a text stands as a literal; None where it does not."""
    lines = linecache.getlines(filename) if filename else []
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == text and node.end_lineno - node.lineno == text.count("\n"):
            return node.lineno
    return None


def with_own_lines(message, plugin, filename):
    """The compiler's message with OP.PART:LINE, or nvcc's OP.PART(LINE), as those of FILE where the file has the code."""
    pieces = {part: getattr(plugin, part) for part in
              ("forward", "setup", "teardown", "shape", "reference", "members", "extra_src", "cuda", "cuda_src")}
    found = {}

    def place(match):
        part, line = match[1], int(match[3])
        text = pieces.get(part)
        if part not in found:
            found[part] = find_line(filename, text) if isinstance(text, str) else None
        return match[0] if found[part] is None else f"{filename}{match[2]}{found[part] + line - 1}"

    return re.sub(rf"\b{re.escape(plugin.op)}\.(\w+)([:(])(\d+)", place, message)
