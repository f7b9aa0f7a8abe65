/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long new data for all constants of a loaded plan takes: the call of apply alone, and the
 * whole from setting the data to the first context. Prints the median and the least milliseconds.
 *
 *     tenon build models/lenet.onnx --shape input=1x1x28x28 --refit-all -t 1 -o lenet.plan
 *     tenon-bench-refit lenet.plan [THREADS [ROUNDS]]
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void print(const char *what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    std::printf("%s_ms=%.3f least=%.3f\n", what, times[times.size() / 2], times.front());
}

void measure(const char *path, unsigned threads, unsigned rounds) {
    tenon::Runtime runtime;
    tn_engine_options options = {};
    options.size = sizeof(options);
    options.threads = threads;
    const tenon::Engine engine = tenon::Engine::load(runtime, path, options);
    std::vector<double> apply, whole;
    uint64_t bytes = 0;
    for (unsigned round = 0; round < rounds; round++) {
        std::map<std::string, std::vector<float>> data;
        tenon::Refit refit(engine);
        bytes = 0;
        for (const tn_port_info &constant : refit.constants()) {
            size_t count = 1;
            for (uint32_t i = 0; i < constant.rank; i++)
                count *= static_cast<size_t>(constant.extents[i]);
            std::vector<float> &values = data[constant.name];
            for (size_t i = 0; i < count; i++)
                values.push_back(static_cast<float>((i * 7 + round) % 64) / 256.0f - 0.125f);
            bytes += count * sizeof(float);
        }
        const Clock::time_point start = Clock::now();
        for (const tn_port_info &constant : refit.constants()) {
            const std::vector<float> &values = data[constant.name];
            refit.set(constant.name, constant.type, constant.rank, constant.extents, values.data(),
                      values.size() * sizeof(float));
        }
        const Clock::time_point applying = Clock::now();
        const tenon::Engine refitted = refit.apply();
        apply.push_back(ms_since(applying));
        const tenon::Context context(refitted);
        whole.push_back(ms_since(start));
    }
    std::printf("constants=%u bytes=%llu\n", tn_engine_refit_count(engine.get()),
                static_cast<unsigned long long>(bytes));
    print("apply", apply);
    print("set_apply_and_context", whole);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) {
        std::fprintf(stderr, "usage: tenon-bench-refit PLAN [THREADS [ROUNDS]]\n");
        return 2;
    }
    try {
        const unsigned threads =
            argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 1;
        const unsigned rounds =
            argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 50;
        measure(argv[1], threads, std::max(rounds, 1u));
    } catch (const tenon::Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
