/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/tenon.hpp: runs that nobody waits for, callables that throw, memory of the caller's and of
 * devices, profiles, borders and descriptions. */
#include "checks.hpp"

#include <algorithm>
#include <atomic>
#include <string>

static tenon::Context context_of(const tenon::Runtime &runtime) {
    tenon::Graph graph = network(runtime);
    return tenon::Context(tenon::Engine::load(runtime, tenon::Plan::build(graph)));
}

static void test_asynchronous_runs(const tenon::Runtime &runtime) {
    alignas(64) float x[4] = {-2, -0.5f, 0.25f, 3}, y[4] = {};
    tenon::Context context = context_of(runtime);
    CHECK_THAT(thrown_by([&] { context.wait(); }) == TN_ERROR_STATE && !context.cancel());

    /* The callable is owned: destroyed once, when it was called or when no run has begun. */
    std::atomic<int> status{-1};
    const std::shared_ptr<int> count = std::make_shared<int>(0);
    context.bind_input(0, x, sizeof(x));
    context.bind_output(0, y, sizeof(y));
    context.run_async([&status, count](tn_status given) noexcept { status = given; });
    CHECK_THAT(context.wait() && status == TN_OK && y[2] == 0.5f && y[3] == 6);
    CHECK_THAT(count.use_count() == 1);
    tenon::Context empty(nullptr);
    CHECK_THAT(thrown_by([&] { empty.run_async([count](tn_status) noexcept {}); }) ==
               TN_ERROR_ARGUMENT);
    CHECK_THAT(count.use_count() == 1);

    /* What the run fails with is thrown by wait, as often as it is asked. */
    tenon::Context unbound = context_of(runtime);
    unbound.run_async();
    for (int i = 0; i < 2; i++)
        CHECK_THAT(thrown_by([&] { unbound.wait(); }) == TN_ERROR_STATE);
}

static void test_builds_that_end(const tenon::Runtime &runtime) {
    tenon::Graph graph = network(runtime);
    auto options = tenon::options<tn_builder_options>();
    int calls = 0;
    CHECK_THAT(thrown_by([&] {
                   tenon::Plan::build(graph, options, [&](const char *, uint64_t, uint64_t) {
                       return ++calls < 2;
                   });
               }) == TN_ERROR_CANCELLED);
    CHECK_THAT(calls == 2);
    std::string caught;
    try {
        tenon::Plan::build(graph, options,
                           [](const char *, uint64_t, uint64_t) { throw std::string("enough"); });
    } catch (const std::string &text) {
        caught = text;
    }
    CHECK_THAT(caught == "enough");
    const tenon::Plan plan =
        tenon::Plan::build(graph, options, [&](const char *, uint64_t, uint64_t) { calls++; });
    CHECK_THAT(plan && calls > 2);
}

static void test_output_allocators(const tenon::Runtime &runtime) {
    alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {};
    tenon::Context context = context_of(runtime);
    uint64_t asked = 0;
    context.bind_input(0, x, sizeof(x));
    const auto answer = [&](uint32_t, uint64_t bytes, uint64_t) {
        asked = bytes;
        return static_cast<void *>(y);
    };
    context.set_output_allocator(0, answer);
    context.run();
    CHECK_THAT(asked == sizeof(y) && y[3] == 8 && context.output(0).data == y);
    auto refuse = [](uint32_t, uint64_t, uint64_t) -> void * { throw std::bad_alloc(); };
    context.set_output_allocator(0, refuse);
    CHECK_THAT(thrown_by([&] { context.run(); }) == TN_ERROR_MEMORY);
    context.set_output_allocator(0, nullptr, nullptr);
    context.run();
    CHECK_THAT(context.output(0).data != y);
    CHECK_THAT(thrown_by([&] { context.set_device_output_allocator(0, refuse); }) ==
               TN_ERROR_STATE);
}

static void test_devices(const tenon::Runtime &runtime) {
    const tenon::Device cpu(runtime, "cpu");
    CHECK_THAT(thrown_by([&] { tenon::Device(runtime, "no such"); }) == TN_ERROR_ARGUMENT);
    CHECK_THAT(std::strcmp(cpu.info().kind, "cpu") == 0);
    const tenon::Stream stream(cpu);
    tenon::Event from(cpu), to(cpu);
    CHECK_THAT(thrown_by([&] { from.wait(); }) == TN_ERROR_STATE);
    from.record(&stream);
    tenon::DeviceMemory memory(cpu, 64, &stream);
    cpu.fill(memory.data(), 7, 64, &stream);
    to.record(&stream);
    to.wait(&stream);
    to.wait();
    CHECK_THAT(from.query() && tenon::Event::elapsed(from, to) >= 0);
    tenon::HostMemory host(cpu, 64);
    unsigned char *bytes = static_cast<unsigned char *>(host.data());
    cpu.copy_to_host(bytes, memory.data(), 64, &stream);
    stream.wait();
    CHECK_THAT(bytes[0] == 7 && bytes[63] == 7);
    CHECK_THAT(thrown_by([&] { cpu.copy_to_device(memory.data(), bytes, 65); }) == TN_ERROR_RANGE);

    tenon::DeviceMemory moved(std::move(memory));
    CHECK_THAT(!memory.data() && moved.bytes() == 64);
    memory = std::move(moved);
    memory = tenon::DeviceMemory(cpu, 128);
    CHECK_THAT(memory.bytes() == 128 && !moved.data());
    cpu.copy_from(memory.data(), cpu, bytes, 0);
    memory.free(&stream);
    memory.free();
    CHECK_THAT(!memory.data());
}

static void test_memory_of_the_callers(const tenon::Runtime &runtime) {
    alignas(64) float x[4] = {1, 2, 3, 4};
    tenon::Graph graph(runtime); /* with an intermediate tensor that is in no output's memory */
    const tn_tensor_id input = graph.add_input("x", TN_F32, {4});
    graph.add_output(graph.add_node(
        "MatMul", {graph.add_node("Relu", {input}), graph.add_node("Exp", {input})}));
    const tenon::Threads threads = tenon::Threads::create(1);
    auto build_options = tenon::options<tn_builder_options>();
    build_options.flags = TN_BUILD_NO_FUSION;
    auto engine_options = tenon::options<tn_engine_options>();
    engine_options.shared_threads = threads.get();
    const tenon::Engine engine =
        tenon::Engine::load(runtime, tenon::Plan::build(graph, build_options), engine_options);
    CHECK_THAT(threads.count() == 1 && threads.free() == 1);
    auto options = tenon::options<tn_context_options>();
    options.flags = TN_CONTEXT_CALLERS_MEMORY;
    tenon::Context context(engine, options);
    context.bind_input(0, x, sizeof(x));
    CHECK_THAT(thrown_by([&] { context.run(); }) == TN_ERROR_STATE);
    const tenon::DeviceMemory memory(tenon::Device(runtime, "cpu"),
                                     engine.context_bytes().host + 64);
    context.set_memory(memory.data(), memory.bytes());
    context.set_stream(static_cast<const tenon::Stream *>(nullptr));
    context.set_stream(nullptr);
    context.run();
    CHECK_THAT(context.memory_bytes().host <= engine.context_bytes().host &&
               context.memory_bytes().device == 0);
    CHECK_THAT(thrown_by([&] { context.set_device_memory(x, 64); }) == TN_ERROR_STATE);
    options.flags = 1u << 31;
    CHECK_THAT(thrown_by([&] { tenon::Context(engine, options); }) == TN_ERROR_ARGUMENT);
}

static void test_borders_and_profiles(const tenon::Runtime &runtime) {
    tenon::Graph graph(runtime);
    const tn_tensor_id x = graph.add_input("x", TN_F32, {-1, 2});
    graph.add_output(graph.add_node("Relu", {x}), "y");
    CHECK_THAT(thrown_by([&] { graph.set_border("z", TN_F64); }) == TN_ERROR_NOT_FOUND);
    graph.set_border("y", TN_F64);
    const tenon::Shape one{1, 2}, two{2, 2}, four{4, 2};
    const tn_profile_input alone = tenon::profile_input("x", one, one, one),
                           many = tenon::profile_input("x", two, four, four);
    const tn_profile_input *const first[] = {&alone}, *const second[] = {&many};
    const tn_profile profiles[] = {tenon::profile(first), tenon::profile(second)};
    const tn_profile *const list[] = {&profiles[0], &profiles[1]};
    auto options = tenon::options<tn_builder_options>();
    options.profile_count = 2;
    options.profiles = list;
    const tenon::Engine engine = tenon::Engine::load(runtime, tenon::Plan::build(graph, options));
    CHECK_THAT(engine.profile_count() == 2 && engine.profile_of(1, 0)->maximum[0] == 4);
    CHECK_THAT(!engine.profile_of(2, 0) && engine.input_storage(0).type == TN_F32);
    CHECK_THAT(thrown_by([&] { engine.output_storage(1); }) == TN_ERROR_ARGUMENT);

    tenon::Context context(engine);
    const float columns[] = {1, -3, 2, 4};
    double y[] = {0, 0, 9, 0, 0};
    context.set_profile(1);
    context.set_shape(0, two);
    context.bind_input_strided(0, columns, sizeof(columns), {1, 2});
    context.bind_output_strided(0, y, sizeof(y), {3, 1});
    context.run();
    CHECK_THAT(context.get_profile() == 1);
    CHECK_THAT(y[0] == 1 && y[1] == 2 && y[2] == 9 && y[3] == 0 && y[4] == 4);
    CHECK_THAT(thrown_by([&] { context.set_profile(2); }) == TN_ERROR_ARGUMENT);
}

static void test_descriptions(const tenon::Runtime &runtime) {
    tenon::Graph graph = network(runtime);
    std::string ops;
    for (const tn_node_info &node : graph.nodes())
        ops += node.op;
    CHECK_THAT(ops == "AddRelu" && graph.node_count() == 2 && graph.nodes().size() == 2);
    CHECK_THAT(graph.node(1).inputs[0] == graph.node(0).outputs[0]);
    const auto tensors = graph.tensors();
    CHECK_THAT(std::count_if(tensors.begin(), tensors.end(), [](const tn_tensor_info &tensor) {
                   return tensor.is_input || tensor.is_output;
               }) == 2);
    CHECK_THAT(graph.tensor(graph.input_tensor(0)).is_input &&
               graph.output_tensor(1) == TN_NO_TENSOR);
    CHECK_THAT(thrown_by([&] { graph.node(2); }) == TN_ERROR_RANGE);
    CHECK_THAT(thrown_by([&] { graph.body(0, 0); }) == TN_ERROR_RANGE);

    auto info = tenon::options<tn_model_info>();
    info.producer_name = "by hand";
    graph.set_model_info(info);
    graph.set_metadata("classes", "2");
    graph.set_metadata("other", "3");
    graph.set_metadata("other", nullptr);
    info = graph.model_info();
    CHECK_THAT(info.metadata_count == 1 && std::strcmp(info.graph_name, "doubled") == 0);
    for (const tn_metadata &entry : tenon::items(info.metadata, info.metadata_count))
        CHECK_THAT(std::strcmp(entry.key, "classes") == 0 && std::strcmp(entry.value, "2") == 0);

    const tenon::Plan plan = tenon::Plan::build(graph);
    const tenon::Engine engine = tenon::Engine::load(runtime, plan);
    CHECK_THAT(std::strcmp(engine.model_info().producer_name, "by hand") == 0);
    CHECK_THAT(engine.inputs().size() == 1 && engine.outputs()[0].type == TN_F32);
    tenon::PlanDescription of_plan(plan);
    const tenon::PlanDescription of_bytes =
        tenon::PlanDescription::read_bytes(runtime, plan.bytes());
    const tenon::PlanDescription of_engine(engine);
    const tenon::PlanDescription *const all[] = {&of_plan, &of_bytes, &of_engine};
    for (const tenon::PlanDescription *each : all) {
        unsigned steps = 0;
        for (const tn_described_program &program : each->programs())
            for (const tn_described_step &step : tenon::items(program.steps, program.step_count))
                steps += step.size > 0;
        CHECK_THAT(steps > 0 && std::strcmp((**each).model->producer_name, "by hand") == 0);
        CHECK_THAT(std::strcmp(each->inputs()[0].name, "x") == 0 && each->outputs().size() == 1);
        CHECK_THAT(each->profile(0, 0)->maximum[0] == 4 && !each->profile(1, 0));
        CHECK_THAT(!each->nodes().empty() && each->libraries().size() == (*each)->library_count);
    }
    of_plan = tenon::PlanDescription(engine);
    CHECK_THAT(!of_plan->producer && of_bytes->producer);
    CHECK_THAT(thrown_by([&] { tenon::PlanDescription::read(runtime, "/no/such/plan"); }) ==
               TN_ERROR_NOT_FOUND);
}

/* A branch that is -x or x, as the body of a node. */
static tn_attribute branch(const tenon::Runtime &runtime, tenon::Graph &graph, const char *name,
                           const char *op) {
    tenon::Graph body(runtime, name);
    const tn_tensor_id captured = body.add_input("captured", TN_F32, {4});
    body.add_output(body.add_node(op, {captured}));
    auto attribute = tenon::options<tn_attribute>();
    attribute.type = TN_FIELD_GRAPH;
    attribute.name = name;
    attribute.graph = graph.add_body(std::move(body), 1);
    return attribute;
}

static void test_bodies(const tenon::Runtime &runtime) {
    runtime.load_library(BODIES_LIBRARY);
    tenon::Graph graph(runtime);
    const tn_tensor_id is_negative = graph.add_input("is_negative", TN_BOOL, {}),
                       x = graph.add_input("x", TN_F32, {4});
    const tn_attribute then_branch = branch(runtime, graph, "then_branch", "Neg"),
                       else_branch = branch(runtime, graph, "else_branch", "Identity");
    graph.add_output(
        graph.add_node("If", {is_negative, x, x}, {&then_branch, &else_branch}, "Test"), "y");
    CHECK_THAT(graph.node(0).body_count == 2);
    const tenon::GraphBody body = graph.body(0, 1);
    CHECK_THAT(std::strcmp(body.attribute(), "else_branch") == 0 && body.capture_count() == 1);
    CHECK_THAT(body.node_count() == 1 && std::strcmp(body.node(0).op, "Identity") == 0);
    CHECK_THAT(body.input(0)->rank == 1 && body.find("captured") == body.input_tensor(0));
}

int main() {
    const tenon::Runtime runtime;
    test_asynchronous_runs(runtime);
    test_builds_that_end(runtime);
    test_output_allocators(runtime);
    test_devices(runtime);
    test_memory_of_the_callers(runtime);
    test_borders_and_profiles(runtime);
    test_descriptions(runtime);
    test_bodies(runtime);
    return failed != 0;
}
