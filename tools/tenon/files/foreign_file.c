/* SPDX-License-Identifier: Apache-2.0 */
/* The table of files that are not read; see foreign_file.h. Magic numbers are those of each
 * format's own description. */
#include "foreign_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

bool file_has_ending(const char *path, const char *ending) {
    const size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcasecmp(path + length - wanted, ending) == 0;
}

bool file_head_read(const char *path, file_head *out_head) {
    struct stat info;
    errno = 0;
    memset(out_head, 0, sizeof(*out_head));
    out_head->path = path;
    if (stat(path, &info) != 0) return false;
    out_head->is_directory = S_ISDIR(info.st_mode);
    out_head->all = (unsigned long long)info.st_size;
    if (out_head->is_directory) return true;
    if (!S_ISREG(info.st_mode)) return false; /* reading a pipe would take its bytes away */
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    out_head->count = fread(out_head->bytes, 1, FOREIGN_HEAD_BYTES, file);
    const bool is_read = !ferror(file);
    fclose(file);
    return is_read;
}

/* ----------------------------------------------------------------------------------------------
 * formats without a magic number */

static bool contains(const file_head *head, const char *text) {
    return memmem(head->bytes, head->count, text, strlen(text)) != NULL;
}

/* The text behind white space and a byte order mark. */
static const char *text_of(const file_head *head) {
    const char *at = (const char *)head->bytes;
    if (memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    return at + strspn(at, " \t\r\n");
}

static bool begins_text(const file_head *head, const char *text) {
    return strncasecmp(text_of(head), text, strlen(text)) == 0;
}

static bool is_empty(const file_head *head) {
    return !head->is_directory && head->all == 0;
}

static bool is_page(const file_head *head) {
    return begins_text(head, "<!doctype html") || begins_text(head, "<html");
}

static bool is_xml(const file_head *head) {
    return begins_text(head, "<?xml") || begins_text(head, "<net ");
}

static bool is_openvino(const file_head *head) {
    return is_xml(head) && contains(head, "<net ") && contains(head, "<layer");
}

/* What OpenVINO keeps beside the .xml has no header at all. */
static bool is_openvino_weights(const file_head *head) {
    char beside[4096];
    struct stat info;
    const int stem = (int)strlen(head->path) - 4;
    if (head->is_directory || !file_has_ending(head->path, ".bin")) return false;
    const int length = snprintf(beside, sizeof(beside), "%.*s.xml", stem, head->path);
    return length > 0 && (size_t)length < sizeof(beside) && stat(beside, &info) == 0;
}

static bool is_zip(const file_head *head) {
    return memcmp(head->bytes, "PK\x03\x04", 4) == 0;
}

static bool is_torch_zip(const file_head *head) {
    return is_zip(head) && (contains(head, "/data.pkl") || contains(head, "/constants.pkl") ||
                            contains(head, "/code/") || file_has_ending(head->path, ".pt") ||
                            file_has_ending(head->path, ".pth"));
}

static bool is_keras_zip(const file_head *head) {
    return is_zip(head) && (contains(head, "model.weights.h5") || contains(head, "metadata.json") ||
                            file_has_ending(head->path, ".keras"));
}

static bool is_array_zip(const file_head *head) {
    return is_zip(head) && (contains(head, ".npy") || file_has_ending(head->path, ".npz"));
}

/* PROTO of protocol 2 to 5 and then an opcode; or protocol 0, which only the ending tells. */
static bool is_pickle(const file_head *head) {
    if (head->bytes[0] == 0x80 && head->bytes[1] >= 2 && head->bytes[1] <= 5) return true;
    return head->count > 0 && head->bytes[head->count - 1] == '.' && head->bytes[0] == '(' &&
           file_has_ending(head->path, ".pkl");
}

/* A length of 8 bytes, and a JSON object of that many. */
static bool is_safetensors(const file_head *head) {
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | head->bytes[i];
    return head->count > 10 && length >= 2 && length <= head->all - 8 && head->bytes[8] == '{' &&
           (head->bytes[9] == '"' || head->bytes[9] == '}' || head->bytes[9] == ' ');
}

static bool is_tar(const file_head *head) {
    return head->count > 262 && memcmp(head->bytes + 257, "ustar", 5) == 0;
}

/* The number of base 128 at `*at`, behind which `*at` is left. */
static bool read_varint(const file_head *head, size_t *at, uint64_t *out_value) {
    *out_value = 0;
    for (int shift = 0; shift < 64 && *at < head->count; shift += 7) {
        const unsigned char byte = head->bytes[(*at)++];
        *out_value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* A field of bytes with this tag at `*at`, whose length is read; `*at` is left at its content. */
static bool enter_field(const file_head *head, size_t *at, unsigned char tag, uint64_t *out_bytes) {
    if (*at >= head->count || head->bytes[*at] != tag) return false;
    ++*at;
    return read_varint(head, at, out_bytes);
}

/* A frozen graph of TensorFlow: its first field is a node, that is a name and an operator, both
 * texts. */
static bool is_tensorflow_graph(const file_head *head) {
    size_t at = 0;
    uint64_t node, name, op;
    if (!enter_field(head, &at, 0x0a, &node)) return false;
    const size_t begin = at;
    if (!enter_field(head, &at, 0x0a, &name) || name == 0 || name > head->count - at) return false;
    at += (size_t)name;
    if (!enter_field(head, &at, 0x12, &op) || op == 0 || op > head->count - at) return false;
    for (size_t i = 0; i < op; i++)
        if (head->bytes[at + i] < 0x20 || head->bytes[at + i] > 0x7e) return false;
    return at + op - begin <= node;
}

static bool is_tensorflow_text(const file_head *head) {
    return begins_text(head, "node {") || begins_text(head, "node{");
}

/* Schema version 1, then a MetaGraphDef, which begins with its MetaInfoDef. */
static bool is_tensorflow_saved_model(const file_head *head) {
    size_t at = 2;
    uint64_t graph, info;
    return head->bytes[0] == 0x08 && head->bytes[1] == 0x01 &&
           enter_field(head, &at, 0x12, &graph) && enter_field(head, &at, 0x0a, &info) &&
           info < graph && graph > 64;
}

static bool is_tensorflow_folder(const file_head *head) {
    char path[4096];
    struct stat info;
    const int length = snprintf(path, sizeof(path), "%s/saved_model.pb", head->path);
    return head->is_directory && length > 0 && (size_t)length < sizeof(path) &&
           stat(path, &info) == 0;
}

/* A specification version, then a ModelDescription, which begins with a FeatureDescription: a
 * message that begins with a name. */
static bool is_core_ml(const file_head *head) {
    size_t at = 1;
    uint64_t version, description, feature, name;
    if (head->is_directory) return file_has_ending(head->path, ".mlpackage");
    if (head->bytes[0] != 0x08 || !read_varint(head, &at, &version) ||
        !enter_field(head, &at, 0x12, &description))
        return false;
    if (file_has_ending(head->path, ".mlmodel")) return true;
    return enter_field(head, &at, 0x0a, &feature) && enter_field(head, &at, 0x0a, &name) &&
           name < feature && feature < description;
}

static bool is_onnx_text(const file_head *head) {
    return begins_text(head, "ir_version:") ||
           (begins_text(head, "<") && contains(head, "ir_version:"));
}

static bool is_caffe_weights(const file_head *head) {
    return !head->is_directory && file_has_ending(head->path, ".caffemodel");
}

static bool is_directory(const file_head *head) {
    return head->is_directory;
}

/* ----------------------------------------------------------------------------------------------
 * the table */

#define EXPORT_TORCH                                                                               \
    "export the network from PyTorch: torch.onnx.export(network, (example_input,), \"net.onnx\")"
#define EXPORT_TENSORFLOW                                                                          \
    "convert it with tf2onnx: python -m tf2onnx.convert --output net.onnx and --saved-model, "     \
    "--graphdef, --keras or --tflite"
#define EXPORT_OTHER "export the network to ONNX from the framework that it was trained in"

/* A row is asked for by magic bytes at an offset, by a function, or by both. The first that fits
 * is it, so that what looks into an archive stands before the archive. */
typedef struct foreign_row {
    foreign_file file;
    size_t offset, magic_bytes;
    const char *magic;
    bool (*fits)(const file_head *head);
} foreign_row;

#define MAGIC(offset, text) (offset), sizeof(text) - 1, (text), NULL
#define FUNCTION(name)      0, 0, NULL, (name)

static const foreign_row rows[] = {
    {{"an empty file", "the download, export or copy that should have written it did not", false,
      false},
     FUNCTION(is_empty)},
    {{"a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull", false, true},
     MAGIC(0, "version https://git-lfs.github.com/spec/")},
    {{"a web page (HTML)",
      "the address gave a page in the file's stead; download the file itself (the link to the raw "
      "file)",
      false, true},
     FUNCTION(is_page)},
    {{"an engine of TensorRT",
      "such files hold code for one GPU and one version of TensorRT: build "
      "a plan from the model that the engine was built from (tenon build MODEL -o PLAN; "
      "docs/from-tensorrt.md)",
      true, false},
     MAGIC(0, "ftrt")},
    {{"an engine of TensorRT",
      "such files hold code for one GPU and one version of TensorRT: build "
      "a plan from the model that the engine was built from (tenon build MODEL -o PLAN; "
      "docs/from-tensorrt.md)",
      true, false},
     MAGIC(0, "ptrt")},
    {{"a PyTorch checkpoint (a zip archive with pickled objects)", EXPORT_TORCH, true, false},
     FUNCTION(is_torch_zip)},
    {{"a Keras model (a zip archive)",
      "export it: model.export(\"net.onnx\", format=\"onnx\"), or with tf2onnx", true, false},
     FUNCTION(is_keras_zip)},
    {{"NumPy arrays in an archive (.npz)",
      "save each array with numpy.save: an input is --input NAME=FILE.npy", false, false},
     FUNCTION(is_array_zip)},
    {{"a zip archive", "unpack it and give the file that is in it", false, false},
     FUNCTION(is_zip)},
    {{"a pickle of Python objects (PyTorch's checkpoints of before 1.6 are such)", EXPORT_TORCH,
      true, false},
     FUNCTION(is_pickle)},
    {{"an HDF5 file (Keras's .h5, or weights alone)", EXPORT_TENSORFLOW, true, false},
     MAGIC(0, "\x89HDF\r\n\x1a\n")},
    {{"a TensorFlow Lite model", EXPORT_TENSORFLOW, true, false}, MAGIC(4, "TFL3")},
    {{"an ONNX Runtime model (.ort)", "give the .onnx file that it was converted from", true,
      false},
     MAGIC(4, "ORTM")},
    {{"weights in GGUF", "the file has weights for programs that know the network; " EXPORT_OTHER,
      true, false},
     MAGIC(0, "GGUF")},
    {{"weights in safetensors",
      "the file has weights alone, no network: load them into it and "
      "export that, from PyTorch with torch.onnx.export",
      true, false},
     FUNCTION(is_safetensors)},
    {{"an OpenVINO network (.xml)", EXPORT_OTHER, true, false}, FUNCTION(is_openvino)},
    {{"the weights of an OpenVINO network (.bin beside the .xml)", EXPORT_OTHER, true, false},
     FUNCTION(is_openvino_weights)},
    {{"an XML document", "expected an ONNX, UFF or Caffe model, or a plan", false, false},
     FUNCTION(is_xml)},
    {{"an ncnn network (.param)", EXPORT_OTHER, true, false}, MAGIC(0, "7767517")},
    {{"a TensorFlow graph (frozen, .pb)", EXPORT_TENSORFLOW, true, false},
     FUNCTION(is_tensorflow_graph)},
    {{"a TensorFlow graph in text", EXPORT_TENSORFLOW, true, false}, FUNCTION(is_tensorflow_text)},
    {{"a TensorFlow SavedModel", EXPORT_TENSORFLOW, true, false},
     FUNCTION(is_tensorflow_saved_model)},
    {{"the folder of a TensorFlow SavedModel", EXPORT_TENSORFLOW, true, false},
     FUNCTION(is_tensorflow_folder)},
    {{"a Core ML model", EXPORT_OTHER, true, false}, FUNCTION(is_core_ml)},
    {{"an ONNX model as text",
      "write it as protobuf's bytes: onnx.save(onnx.parser or "
      "google.protobuf.text_format reads it)",
      true, false},
     FUNCTION(is_onnx_text)},
    {{"the weights of a Caffe network",
      "give the network's .prototxt, and this file with --weights", false, false},
     FUNCTION(is_caffe_weights)},
    {{"a NumPy array (.npy)", "an input's values: tenon run MODEL --input NAME=FILE.npy", false,
      false},
     MAGIC(0, "\x93NUMPY")},
    {{"an image (PNG)", "an input's values: tenon run MODEL --input NAME=FILE.png", false, false},
     MAGIC(0, "\x89PNG\r\n\x1a\n")},
    {{"an image (JPEG)", "an input's values: tenon run MODEL --input NAME=FILE.jpg", false, false},
     MAGIC(0, "\xff\xd8\xff")},
    {{"an image (PGM)", "an input's values: tenon run MODEL --input NAME=FILE.pgm", false, false},
     MAGIC(0, "P5")},
    {{"an image (PPM)", "an input's values: tenon run MODEL --input NAME=FILE.ppm", false, false},
     MAGIC(0, "P6")},
    {{"a shared library or program (ELF)", "a library of layers goes with --plugin LIB.so", false,
      false},
     MAGIC(0, "\x7f"
              "ELF")},
    {{"a gzip archive", "unpack it (gunzip FILE, or tar xzf FILE) and give the file that is in it",
      false, false},
     MAGIC(0, "\x1f\x8b")},
    {{"an xz archive", "unpack it (xz -d FILE) and give the file that is in it", false, false},
     MAGIC(0, "\xfd"
              "7zXZ")},
    {{"a Zstandard archive", "unpack it (zstd -d FILE) and give the file that is in it", false,
      false},
     MAGIC(0, "\x28\xb5\x2f\xfd")},
    {{"a bzip2 archive", "unpack it (bunzip2 FILE) and give the file that is in it", false, false},
     MAGIC(0, "BZh")},
    {{"a 7-Zip archive", "unpack it and give the file that is in it", false, false},
     MAGIC(0, "7z\xbc\xaf\x27\x1c")},
    {{"a tar archive", "unpack it (tar xf FILE) and give the file that is in it", false, false},
     FUNCTION(is_tar)},
    {{"a directory",
      "give the file in it: .onnx, .uff, .prototxt or a plan (a directory of test "
      "data goes with tenon test)",
      false, false},
     FUNCTION(is_directory)},
};

static bool fits(const foreign_row *row, const file_head *head) {
    if (row->fits) return row->fits(head);
    return head->count >= row->offset + row->magic_bytes &&
           memcmp(head->bytes + row->offset, row->magic, row->magic_bytes) == 0;
}

const foreign_file *foreign_file_find(const file_head *head) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (fits(&rows[i], head)) return &rows[i].file;
    return NULL;
}
