/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign objects as operators and kernels: one of each for every creator in the registry, made
 * when the library is loaded, with the creator as `user`. See adapter.h.
 */
#include "adapter.h"

#include <new>

namespace {

const tn_port inputPorts[] = {{"x", "f32|f16|i8|i32", "what the object reads",
                               TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, 0, 1, 0}};
const tn_port outputPorts[] = {{"y", "f32|f16|i8|i32", "what the object writes",
                                TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, 0, 1, 0}};

void addField(Entry &entry, const char *name, uint32_t type, uint32_t bytes, uint32_t flags) {
    entry.paramsBytes = (entry.paramsBytes + 7) / 8 * 8;
    entry.fields.push_back({name, "the object's own", nullptr, nullptr, type, flags,
                            static_cast<uint32_t>(entry.paramsBytes), bytes, 0, 0, 0, 0});
    entry.paramsBytes += bytes;
}

void addFields(Entry &entry) {
    const foreign::Fields *fields = entry.creator.creatorV3 ? entry.creator.creatorV3->fields()
                                                            : entry.creator.creator->fields();
    if (!fields) return addField(entry, "object", TN_FIELD_BYTES, sizeof(tn_bytes), TN_REQUIRED);
    for (int32_t i = 0; i < fields->count; i++) {
        const foreign::Field &field = fields->items[i];
        if (field.type == foreign::FieldType::F32)
            addField(entry, field.name, TN_FIELD_F32, sizeof(float), TN_OPTIONAL);
        else if (field.type == foreign::FieldType::I32)
            addField(entry, field.name, TN_FIELD_I32, sizeof(int32_t), TN_OPTIONAL);
        else
            addField(entry, field.name, TN_FIELD_BYTES, sizeof(tn_bytes), TN_OPTIONAL);
    }
}

template <typename Table> void giveFields(Table &table, const Entry &entry) {
    table.params_bytes = (entry.paramsBytes + 7) / 8 * 8;
    table.field_size = sizeof(tn_field);
    table.field_count = static_cast<uint32_t>(entry.fields.size());
    table.fields = entry.fields.data();
}

void fill(Entry &entry) {
    tn_operator &op = entry.op;
    tn_kernel &kernel = entry.kernel;
    op.size = sizeof(op);
    op.since_version = op.state_version = 1;
    op.domain = kernel.domain = entry.space.c_str();
    op.name = kernel.op = entry.name.c_str();
    op.doc = kernel.doc = "A foreign object.";
    op.port_size = sizeof(tn_port);
    op.inputs = inputPorts;
    op.outputs = outputPorts;
    op.input_count = op.output_count = 1;
    op.infer = inferOutputs;
    op.user = kernel.user = &entry;
    giveFields(op, entry);
    kernel.size = sizeof(kernel);
    kernel.revision = 1;
    kernel.device = "cpu";
    kernel.name = "object";
    kernel.accepts = acceptNode;
    kernel.tactics = countTactics;
    kernel.prepare = prepareNode;
    kernel.release = releaseNode;
    kernel.open = openContext;
    kernel.close = closeContext;
    kernel.reshape = reshapeContext;
    kernel.run = runContext;
    kernel.save = saveState;
    kernel.load = loadState;
    kernel.timing_key = tellTimingKey;
    kernel.combination = tellCombination;
    giveFields(kernel, entry);
}

std::vector<std::unique_ptr<Entry>> entries;

tn_status loadLibrary(const tn_host *host, tn_library *library) TN_NOEXCEPT {
    const foreign::Registered *items = nullptr;
    const int32_t count = foreign::registered(&items);
    for (int32_t i = 0; i < count; i++) {
        std::unique_ptr<Entry> entry(new (std::nothrow) Entry);
        if (!entry) return TN_ERROR_MEMORY;
        entry->creator = items[i];
        entry->name = items[i].creator ? items[i].creator->name() : items[i].creatorV3->name();
        const char *space =
            items[i].creator ? items[i].creator->space() : items[i].creatorV3->space();
        entry->space = *space ? std::string("foreign.") + space : "foreign";
        addFields(*entry);
        fill(*entry);
        entries.push_back(std::move(entry));
        const Entry &made = *entries.back();
        tn_status status = host->register_operator(host, library, &made.op);
        if (status == TN_OK) status = host->register_kernel(host, library, &made.kernel);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

void unloadLibrary(const tn_host *, tn_library *) TN_NOEXCEPT {
    entries.clear();
}

} // namespace

extern "C" TN_EXPORT tn_library *tenon_library_1(const tn_host *) TN_NOEXCEPT {
    static tn_library table = {};
    table.size = sizeof(table);
    table.abi_major = TN_ABI_MAJOR;
    table.abi_minor = TN_ABI_MINOR;
    table.name = "foreign_objects";
    table.version = "1";
    table.load = loadLibrary;
    table.unload = unloadLibrary;
    return &table;
}
