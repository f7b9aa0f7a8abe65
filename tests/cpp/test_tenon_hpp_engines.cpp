/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/tenon.hpp: options of builds, engines on borrowed memory, and refits. */
#include "checks.hpp"

#include <atomic>
#include <functional>
#include <string>

/* y = x + bias, x [N,4]. */
static tenon::Graph biased(const tenon::Runtime &runtime, float bias) {
    const float four[] = {bias, bias, bias, bias};
    tenon::Graph graph(runtime, "biased");
    const tn_tensor_id x = graph.add_input("x", TN_F32, {-1, 4}, {"N", nullptr});
    const tn_tensor_id constant = graph.add_constant("bias", TN_F32, {4}, four, sizeof(four));
    graph.add_output(graph.add_node("Add", {x, constant}), "y");
    return graph;
}

static float result(const tenon::Engine &engine, float x0) {
    alignas(64) const float x[4] = {x0, 0, 0, 0};
    tenon::Context context(engine);
    context.set_shape(0, {1, 4});
    context.bind_input(0, x, sizeof(x));
    context.run();
    return *static_cast<const float *>(context.output(0).data);
}

static void test_build_options(const tenon::Runtime &runtime) {
    const tenon::Graph unchanged = biased(runtime, 1);
    tenon::Graph graph = biased(runtime, 1);
    tenon::BuildOptions options;
    options.flags(TN_BUILD_NO_TIMING).input("x", {1, 4}, {2, 4}, {4, 4}).profile();
    options.input("x", {8, 4}).border("y", TN_F64).refit("bias").no_packed_weights().keep_half();
    options.plain.threads = 1;
    const tenon::BuildOptions copy = options;
    unsigned calls = 0;
    const tenon::Plan plan =
        tenon::Plan::build(graph, copy, [&](const char *, uint64_t, uint64_t) { calls++; });
    const tenon::Engine engine = tenon::Engine::load(runtime, plan);
    CHECK_THAT(calls > 0 && engine.profile_count() == 2 && engine.output(0)->type == TN_F64);
    CHECK_THAT(engine.profile_of(0, 0)->maximum[0] == 4 &&
               engine.profile_of(1, 0)->minimum[0] == 8);
    CHECK_THAT(engine.refit_constants().size() == 1 &&
               std::strcmp(engine.refit_constants()[0].name, "bias") == 0);
    options.call([](const tn_builder_options &c) {
        CHECK_THAT(c.flags ==
                   (TN_BUILD_NO_TIMING | TN_BUILD_NO_PACKED_WEIGHTS | TN_BUILD_KEEP_HALF));
        CHECK_THAT(c.threads == 1 && !c.device && !c.pins && c.pin_count == 0);
    });

    CHECK_THAT(thrown_by([&] { options.input("x", {1}, {1, 4}, {1}); }) == TN_ERROR_ARGUMENT);
    CHECK_THAT(thrown_by([&] {
                   tenon::Plan::build(graph, tenon::BuildOptions().pin("none=reference"));
               }) == TN_ERROR_NOT_FOUND);
    CHECK_THAT(thrown_by([&] {
                   tenon::Plan::build(graph, tenon::BuildOptions().refit("biass"));
               }) == TN_ERROR_NOT_FOUND);
    CHECK_THAT(thrown_by([&] {
                   tenon::Plan::build(graph, tenon::BuildOptions().device("no such"));
               }) == TN_ERROR_ARGUMENT);
    CHECK_THAT(thrown_by([&] { tenon::Plan::build(graph, tenon::BuildOptions().keep("none")); }) ==
               TN_ERROR_NOT_FOUND);
    CHECK_THAT(thrown_by([&] {
                   tenon::Plan::build(graph, tenon::BuildOptions().without_rewrite("none"));
               }) == TN_ERROR_NOT_FOUND);
}

/* A plan's bytes in memory that is aligned as borrowed memory has to be. */
struct Free {
    std::atomic<int> *count;
    void operator()(void *memory) const noexcept {
        ++*count;
        ::operator delete(memory, std::align_val_t(64));
    }
};
static std::unique_ptr<void, Free> copied(tenon::Bytes bytes, std::atomic<int> &count) {
    void *memory = ::operator new(bytes.bytes, std::align_val_t(64));
    std::memcpy(memory, bytes.data, bytes.bytes);
    return std::unique_ptr<void, Free>(memory, Free{&count});
}

static void test_borrowed_memory(const tenon::Runtime &runtime) {
    std::atomic<int> freed{0};
    tenon::Graph graph = biased(runtime, 1);
    const tenon::Plan plan = tenon::Plan::build(graph, tenon::BuildOptions().input("x", {1, 4}));
    const uint64_t size = plan.bytes().bytes;
    auto options = tenon::options<tn_engine_options>();
    options.flags = TN_ENGINE_VERIFY_ALL;
    {
        std::unique_ptr<void, Free> memory = copied(plan.bytes(), freed);
        tenon::Engine engine = tenon::Engine::load_borrowed(runtime, {memory.get(), size},
                                                            std::move(memory), &options);
        CHECK_THAT(!memory && result(engine, 2) == 3 && freed == 0);
        const tenon::Context context(engine);
        engine = tenon::Engine(nullptr);
        CHECK_THAT(freed == 0); /* the context holds it */
    }
    CHECK_THAT(freed == 1);

    /* A callable is called, and then destroyed; it may be a std::function. */
    const std::unique_ptr<void, Free> kept = copied(plan.bytes(), freed);
    int calls = 0;
    const std::shared_ptr<int> held = std::make_shared<int>(0);
    const std::function<void()> release = [&calls, held] { calls++; };
    tenon::Engine::load_borrowed(runtime, {kept.get(), size}, release);
    CHECK_THAT(calls == 1 && held.use_count() == 2);

    /* Where loading fails, the owner goes and is not called. */
    std::unique_ptr<void, Free> memory = copied(plan.bytes(), freed);
    static_cast<char *>(memory.get())[size / 2] ^= 1;
    CHECK_THAT(thrown_by([&] {
                   tenon::Engine::load_borrowed(runtime, {memory.get(), size}, std::move(memory),
                                                &options);
               }) == TN_ERROR_FORMAT);
    CHECK_THAT(freed == 2 && !memory);
    const char *off = static_cast<const char *>(kept.get()) + 1;
    CHECK_THAT(thrown_by([&] {
                   tenon::Engine::load_borrowed(runtime, {off, size - 1}, release);
               }) == TN_ERROR_ARGUMENT);
    CHECK_THAT(calls == 1 && held.use_count() == 2);
}

static void test_refits(const tenon::Runtime &runtime, const std::string &folder) {
    tenon::Graph graph = biased(runtime, 1);
    tenon::BuildOptions options;
    options.input("x", {1, 4});
    const tenon::Engine fixed = tenon::Engine::load(runtime, tenon::Plan::build(graph, options));
    CHECK_THAT(fixed.refit_constants().empty());
    CHECK_THAT(thrown_by([&] { tenon::Refit refit(fixed); }) == TN_ERROR_UNSUPPORTED);

    const tenon::Plan plan = tenon::Plan::build(graph, options.refit_all());
    const tenon::Engine engine = tenon::Engine::load(runtime, plan);
    tenon::Refit refit(engine);
    const float data[4] = {5, 5, 5, 5};
    CHECK_THAT(refit.constants().size() == 1 && refit.constants()[0].type == TN_F32);
    CHECK_THAT(thrown_by([&] { refit.set("biass", TN_F32, {4}, data, sizeof(data)); }) ==
               TN_ERROR_NOT_FOUND);
    CHECK_THAT(thrown_by([&] { refit.set("bias", TN_F32, {5}, data, sizeof(data)); }) ==
               TN_ERROR_SHAPE);
    CHECK_THAT(refit.apply().get() == engine.get()); /* nothing is new */
    refit.set("bias", TN_F32, {4}, data, sizeof(data));
    const tenon::Engine other = refit.apply();
    CHECK_THAT(result(engine, 2) == 3 && result(other, 2) == 7);
    CHECK_THAT(refit.set_all(biased(runtime, 9)) == 1 && result(refit.apply(), 2) == 11);
    CHECK_THAT(thrown_by([&] { refit.set_all(network(runtime)); }) == TN_ERROR_NOT_FOUND);

    const std::string path = folder + "/test_tenon_hpp_engines.plan";
    plan.save(path);
    tenon::Refit of_plan = tenon::Refit::for_plan(runtime, path);
    of_plan.set("bias", TN_F32, {4}, data, sizeof(data));
    CHECK_THAT(thrown_by([&] { of_plan.apply(); }) == TN_ERROR_STATE);
    of_plan.save(path);
    CHECK_THAT(result(tenon::Engine::load(runtime, path), 2) == 7);
    std::remove(path.c_str());
    CHECK_THAT(thrown_by([&] { tenon::Refit::for_plan(runtime, path); }) == TN_ERROR_NOT_FOUND);
}

/* Sample inputs for a calibration: two batches of one input. */
static const int64_t sample_shape[] = {1, 4};
static float sample_data[] = {-3, 1, 2, 3};
static tn_status read_sample(void *user, uint64_t, const tn_tensor **out_inputs) {
    out_inputs[0] = static_cast<const tn_tensor *>(user);
    return TN_OK;
}

static void test_reports(const tenon::Runtime &runtime) {
    int64_t shape[] = {sample_shape[0], sample_shape[1]};
    tn_tensor sample = tenon::options<tn_tensor>();
    sample.type = TN_F32;
    sample.rank = 2;
    sample.shape = shape;
    sample.data = sample_data;
    sample.bytes = sizeof(sample_data);
    tn_batches batches = tenon::options<tn_batches>();
    batches.count = 2;
    batches.read = read_sample;
    batches.user = &sample;
    tenon::Graph graph = biased(runtime, 1);
    std::string report;
    tenon::BuildOptions().input("x", {1, 4}).call([&](const tn_builder_options &build) {
        auto calibrate = tenon::options<tn_calibrate_options>();
        calibrate.build = &build;
        calibrate.batches = &batches;
        calibrate.calibrator = TN_CALIBRATOR_MIN_MAX;
        const tenon::Calibration table =
            tenon::Calibration::measure(runtime, graph, calibrate, report);
        CHECK_THAT(table.find("x") && report.find("\"x\"") != std::string::npos);
        auto accuracy = tenon::options<tn_accuracy_options>();
        accuracy.max_loss = 0.5;
        accuracy.build = &build;
        accuracy.batches = &batches;
        const tenon::Plan plan = tenon::Plan::build_accurate(runtime, graph, accuracy, report);
        CHECK_THAT(plan && report.find("loss") != std::string::npos);
    });
}

static void test_kernels_that_fit(const tenon::Runtime &runtime) {
    const tn_operator *relu = nullptr;
    unsigned fitting = 0;
    runtime.visit_operators([&](const tn_operator &op, const tn_library_info &) {
        if (std::strcmp(op.name, "Relu") == 0) relu = &op;
    });
    CHECK_THAT(relu);
    runtime.visit_kernels([&](const tn_kernel &kernel, const tn_library_info &) {
        if (!relu || std::strcmp(kernel.op, "Relu") != 0) return;
        tenon::check_kernel_fits(kernel, *relu);
        fitting++;
    });
    CHECK_THAT(fitting > 0);
    tenon::start_crash_report();
}

int main(int count, char **arguments) {
    const tenon::Runtime runtime;
    test_build_options(runtime);
    test_borrowed_memory(runtime);
    test_refits(runtime, count > 1 ? arguments[1] : ".");
    test_reports(runtime);
    test_kernels_that_fit(runtime);
    return failed != 0;
}
