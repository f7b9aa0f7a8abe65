/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for GPUs that break the contract, each by its own mistake and on an operator of its own;
 * bad_stub.c has the same for the stub device. tests/device/bad.c says what must become of them.
 */
#include <cuda_runtime.h>
#include <tenon/plugin.h>

namespace {

enum mistake { WILD, TRAP, PAST, BEFORE, UNWRITTEN, INPUT, WORKSPACE, NAN_MADE };

__global__ void misbehave(mistake what, float *x, float *y, float *scratch, int64_t scratch_count,
                          int64_t count) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && !(what == UNWRITTEN && i == count - 1)) y[i] = x[i];
    if (i != 0) return;
    switch (what) {
    case WILD:
        *(volatile float *)(uintptr_t)16 = 1;
        break;
    case TRAP:
        __trap();
        break;
    case PAST:
        y[count] = 1;
        break;
    case BEFORE:
        y[-1] = 1;
        break;
    case INPUT:
        x[5] += 1;
        break;
    case WORKSPACE:
        scratch[scratch_count] = 0;
        break;
    case NAN_MADE:
        __threadfence();
        break;
    default:
        break;
    }
}

__global__ void make_nan(const float *x, float *y, int64_t count) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = i == 7 ? nanf("") : x[i];
}

tn_status launch(tn_call *call, mistake what, unsigned threads) {
    const int64_t count = (int64_t)(call->outputs[0]->bytes / sizeof(float));
    const unsigned blocks = (unsigned)((count + 255) / 256);
    float *x = (float *)call->inputs[0]->data, *y = (float *)call->outputs[0]->data;
    cudaStream_t stream = (cudaStream_t)call->stream;
    if (what == NAN_MADE)
        make_nan<<<blocks, threads, 0, stream>>>(x, y, count);
    else
        misbehave<<<blocks, threads, 0, stream>>>(what, x, y, (float *)call->workspace,
                                                  (int64_t)(call->workspace_bytes / sizeof(float)),
                                                  count);
    return TN_OK;
}

/* 4,096 threads in a block are more than any GPU has; one kernel looks, the other does not. */
tn_status refused_run(tn_call *call) noexcept {
    (void)launch(call, UNWRITTEN, 4096);
    const cudaError_t error = cudaGetLastError();
    return call->host->fail(call, TN_ERROR_DEVICE, "the launch: %s (%s)", cudaGetErrorString(error),
                            cudaGetErrorName(error));
}
tn_status silent_run(tn_call *call) noexcept {
    return launch(call, UNWRITTEN, 4096);
}
tn_status wild_run(tn_call *call) noexcept {
    return launch(call, WILD, 256);
}
tn_status late_run(tn_call *call) noexcept {
    return launch(call, TRAP, 256);
}
tn_status past_run(tn_call *call) noexcept {
    return launch(call, PAST, 256);
}
tn_status before_run(tn_call *call) noexcept {
    return launch(call, BEFORE, 256);
}
tn_status unwritten_run(tn_call *call) noexcept {
    return launch(call, UNWRITTEN, 256);
}
tn_status input_run(tn_call *call) noexcept {
    return launch(call, INPUT, 256);
}
tn_status workspace_run(tn_call *call) noexcept {
    return launch(call, WORKSPACE, 256);
}
tn_status no_number_run(tn_call *call) noexcept {
    return launch(call, NAN_MADE, 256);
}

tn_status nothing_run(tn_call *) noexcept {
    return TN_OK;
}

tn_status workspace_reshape(tn_call *call) noexcept {
    call->workspace_bytes = 512;
    return TN_OK;
}

const char *const combinations[] = {"f32 -> f32"};

tn_kernel make(const char *op, const char *name, tn_callback run) {
    tn_kernel kernel = {};
    kernel.size = sizeof(tn_kernel);
    kernel.revision = 1;
    kernel.domain = "";
    kernel.op = op;
    kernel.device = "cuda";
    kernel.name = name;
    kernel.combinations = combinations;
    kernel.combination_count = 1;
    kernel.run = run;
    return kernel;
}

} // namespace

extern "C" TN_EXPORT tn_library *tenon_library_1(const tn_host *host) noexcept;
extern "C" TN_EXPORT tn_library *tenon_library_1(const tn_host *host) noexcept {
    static tn_kernel made[] = {make("Neg", "refused", refused_run),
                               make("Abs", "silent", silent_run),
                               make("Ceil", "wild", wild_run),
                               make("Floor", "late", late_run),
                               make("Exp", "past", past_run),
                               make("Sqrt", "before", before_run),
                               make("Sign", "unwritten", unwritten_run),
                               make("Round", "input", input_run),
                               make("Erf", "workspace", workspace_run),
                               make("Tanh", "no_number", no_number_run),
                               make("Log", "nothing", nothing_run)};
    static const tn_kernel *kernels[TN_COUNT(made)];
    static tn_library table = {};
    (void)host;
    for (size_t i = 0; i < TN_COUNT(made); i++) {
        if (made[i].run == workspace_run) made[i].reshape = workspace_reshape;
        kernels[i] = &made[i];
    }
    table.size = sizeof(tn_library);
    table.abi_major = TN_ABI_MAJOR;
    table.abi_minor = TN_ABI_MINOR;
    table.name = "bad_kernels";
    table.version = "1";
    table.kernel_count = TN_COUNT(made);
    table.kernels = kernels;
    return &table;
}
