/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/tenon.hpp: errors, ownership, callbacks that throw, and that a run allocates nothing. What
 * each class is for is in docs/run-from-c.md, whose examples are compiled and run as well. */
#include "checks.hpp"

#include <cstdlib>
#include <new>

static unsigned long allocation_count;

/* clang's sanitizers have operators of their own in the program: allocations are not counted there.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_OPERATORS_OF_ITS_OWN
#endif
#endif
#ifndef HAS_OPERATORS_OF_ITS_OWN
static void *allocate(std::size_t bytes) {
    allocation_count++;
    void *memory = std::malloc(bytes ? bytes : 1);
    if (!memory) throw std::bad_alloc();
    return memory;
}
static void deallocate(void *memory) noexcept {
    std::free(memory);
}
void *operator new(std::size_t bytes) {
    return allocate(bytes);
}
void operator delete(void *memory) noexcept {
    deallocate(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    deallocate(memory);
}
#endif

static void test_errors(const tenon::Runtime &runtime) {
    CHECK_THAT(thrown_by([&] { tenon::Graph::load_onnx(runtime, "/no/such/file"); }) ==
               TN_ERROR_NOT_FOUND);
    CHECK_THAT(thrown_by([&] { tenon::Graph(runtime).add_node("Rellu", {}); }) ==
               TN_ERROR_UNSUPPORTED);
    CHECK_THAT(thrown_by([&] { tenon::Graph(runtime).find(std::string_view("a\0b", 3)); }) ==
               TN_ERROR_ARGUMENT);
    CHECK_THAT(thrown_by([&] {
                   tenon::Graph(runtime).add_input("x", TN_F32, {-1, 2}, {"N"});
               }) == TN_ERROR_ARGUMENT);
    const tenon::Shape one{1}, two{1, 2};
    CHECK_THAT(thrown_by([&] { tenon::profile_input("x", one, two, one); }) == TN_ERROR_ARGUMENT);
    try {
        tenon::Graph::load_onnx(runtime, "/no/such/file");
    } catch (const tenon::Error &error) {
        const tenon::Error copy(error);
        CHECK_THAT(std::strcmp(copy.what(), error.what()) == 0 && copy.where() == error.where());
    }
}

static void test_importers(const tenon::Runtime &runtime) {
    unsigned seen = 0;
    tenon::visit_importers(runtime, [&](const tn_importer &importer, const tn_library_info &) {
        seen += std::strcmp(importer.name, "onnx") == 0;
    });
    CHECK_THAT(seen == 1);
    const tenon::Bytes text{"no model", 8};
    tenon::ImportOptions options;
    options.format("onnx").folder("/").set("weights", "/no/such/file");
    CHECK_THAT(thrown_by([&] { tenon::Graph::parse(runtime, text, options); }) ==
               TN_ERROR_ARGUMENT);
    CHECK_THAT(thrown_by([&] {
                   tenon::Graph::parse(runtime, text, tenon::ImportOptions().format("onnx"));
               }) == TN_ERROR_FORMAT);
    CHECK_THAT(thrown_by([&] { tenon::Graph::parse(runtime, text); }) == TN_ERROR_FORMAT);
    CHECK_THAT(thrown_by([&] { tenon::find_importer(runtime, "/no/such/file"); }) ==
               TN_ERROR_NOT_FOUND);

    /* A mean is a network that is one constant. */
    const float one = 1;
    tenon::Graph mean(runtime), graph = network(runtime);
    mean.add_output(mean.add_constant("mean", TN_F32, {1}, &one, sizeof(one)));
    graph.subtract_mean("x", mean, 2);
    alignas(64) float x[4] = {-2, 1, 2, 3};
    tenon::Context context(tenon::Engine::load(runtime, tenon::Plan::build(graph)));
    context.bind_input(0, x, sizeof(x));
    context.run();
    const float *y = static_cast<const float *>(context.output(0).data);
    CHECK_THAT(y[0] == 0 && y[1] == 0 && y[2] == 4 && y[3] == 8);
}

static void test_ownership(const tenon::Runtime &runtime) {
    tenon::Graph graph = network(runtime);
    tenon::Graph moved(std::move(graph));
    CHECK_THAT(!graph && moved && moved.input_count() == 1 && !moved.input(1));
    graph = std::move(moved);
    CHECK_THAT(graph.get() && !moved.get());
    tenon::Graph adopted(graph.give_up());
    tenon::Runtime other = runtime, none(static_cast<tn_runtime *>(nullptr));
    other = none;
    CHECK_THAT(!other && runtime);
    const tenon::Runtime &self = other = runtime;
    other = self;
    CHECK_THAT(other.get() == runtime.get());
    const tenon::Plan plan = tenon::Plan::build(adopted);
    CHECK_THAT(plan.bytes().bytes > 0 && plan.report()[0] == '{');
    tenon::Engine engine = tenon::Engine::load(runtime, plan);
    tenon::Engine shared = engine;
    CHECK_THAT(shared.get() == engine.get() && shared.find_input("x") == 0);
    engine = tenon::Engine::load(runtime, plan);
    CHECK_THAT(shared.get() != engine.get() && shared.output_count() == 1);
}

static void test_visits(const tenon::Runtime &runtime) {
    unsigned seen = 0, asked = 0;
    runtime.visit_operators(
        [&](const tn_operator &op, const tn_library_info &) { seen += op.name != nullptr; });
    CHECK_THAT(seen > 100);
    runtime.visit_libraries([&](const tn_library_info &) { return ++asked < 1; });
    CHECK_THAT(asked == 1);
    bool is_caught = false;
    try {
        runtime.visit_operators([&](const tn_operator &, const tn_library_info &) {
            asked++;
            throw std::runtime_error("enough");
        });
    } catch (const std::runtime_error &error) {
        is_caught = std::strcmp(error.what(), "enough") == 0;
    }
    CHECK_THAT(is_caught && asked == 2);
}

static void test_runs_without_allocations(const tenon::Runtime &runtime) {
    tenon::Graph graph = network(runtime);
    const tenon::Engine engine = tenon::Engine::load(runtime, tenon::Plan::build(graph));
    tenon::Context context(engine);
    alignas(64) float x[4] = {-2, -0.5f, 0.25f, 3};
    const auto run = [&] {
        context.set_shape(0, {4});
        context.bind_input(0, x, sizeof(x));
        context.run();
        return static_cast<const float *>(context.output(0).data);
    };
    run();
    const unsigned long before = allocation_count,
                        kept = static_cast<unsigned long>(context.statistics().allocations);
    const float *y = run();
    CHECK_THAT(allocation_count == before && context.statistics().allocations == kept);
    CHECK_THAT(y[0] == 0 && y[2] == 0.5f && y[3] == 6);
    CHECK_THAT(context.report(runtime).find("\"nodes\"") != std::string::npos);
    CHECK_THAT(thrown_by([&] { context.set_shape(0, {5}); }) == TN_ERROR_SHAPE);
}

static void test_calibration(const tenon::Runtime &runtime) {
    tenon::Calibration table(runtime);
    table.set("x", 0.5f);
    table.set("none", 0);
    CHECK_THAT(table.count() == 2 && *table.find("x") == 0.5f && !table.find("none") &&
               !table.find("other"));
    CHECK_THAT(std::strcmp(table.entry(0).first, "x") == 0 && !table.entry(2).first);
}

int main() {
    const tenon::Runtime runtime;
    test_errors(runtime);
    test_importers(runtime);
    test_ownership(runtime);
    test_visits(runtime);
    test_runs_without_allocations(runtime);
    test_calibration(runtime);
    return failed != 0;
}
