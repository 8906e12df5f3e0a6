// SPDX-License-Identifier: MIT
#include "kernels/cuda/runtime.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string_view>
#include <utility>

namespace retrace::kernels::cuda {
namespace {

Unexpected<Error> failure(const std::string& doing, cudaError_t code) {
    cudaGetLastError();  // clears the error, which the next call would otherwise report
    return error("CUDA: " + doing + ": " + cudaGetErrorString(code));
}

Status<> checked(const std::string& doing, cudaError_t code) {
    if (code != cudaSuccess) return failure(doing, code);
    if (const cudaError_t before = cudaGetLastError(); before != cudaSuccess) return failure(doing, before);
    return Unit{};
}

}  // namespace

Result<Device> find_device() {
    int count = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess || count == 0) {
        cudaGetLastError();
        return error(std::string("no CUDA device: ") + (code != cudaSuccess ? cudaGetErrorString(code) : "none found"));
    }
    cudaDeviceProp properties{};
    RETRACE_CHECK(checked("properties of the device", cudaGetDeviceProperties(&properties, 0)));
    RETRACE_CHECK(checked("choice of the device", cudaSetDevice(0)));
    Device out;
    out.name = properties.name;
    out.capability = static_cast<std::uint32_t>(10 * properties.major + properties.minor);
    out.shared_limit = static_cast<std::uint32_t>(properties.sharedMemPerBlockOptin);
    const auto wanted = [](const char* name) {
        const char* const wish = std::getenv(name);
        return wish == nullptr || std::string_view(wish) != "0";
    };
    out.recipes = wanted("RETRACE_CUDA_RECIPES");
#if defined(RETRACE_CUDA_WARPGROUPS)  // code for warpgroups was built
    out.warpgroups = out.capability == 90 && wanted("RETRACE_CUDA_WGMMA");
#endif
    out.multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
    out.memory = properties.totalGlobalMem;
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) out.free = free;
    if (out.capability < 75) {
        return error("no CUDA device: " + out.name + " has compute capability " + std::to_string(properties.major) +
                     "." + std::to_string(properties.minor) + ", at least 7.5 is needed");
    }
    return out;
}

Result<Memory> Memory::take(std::uint64_t bytes) {
    Memory out;
    if (bytes == 0) return out;
    void* data = nullptr;
    if (const cudaError_t code = cudaMalloc(&data, bytes); code != cudaSuccess) {
        cudaGetLastError();
        std::size_t free = 0, total = 0;
        const bool known = cudaMemGetInfo(&free, &total) == cudaSuccess;
        return error("CUDA: " + std::to_string(bytes) + " bytes of device memory asked for, " +
                     (known ? std::to_string(free) + " free: " : "") + cudaGetErrorString(code));
    }
    out.data_ = static_cast<std::uint8_t*>(data);
    out.bytes_ = bytes;
    return out;
}

Memory::~Memory() {
    if (data_ != nullptr) cudaFree(data_);
}
Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

struct Recording::Impl {
    cudaGraphExec_t graph = nullptr;
    ~Impl() {
        if (graph != nullptr) cudaGraphExecDestroy(graph);
    }
};
Recording::Recording() = default;
Recording::Recording(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recording::~Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

Result<Queue> Queue::open() {
    cudaStream_t stream = nullptr;
    RETRACE_CHECK(checked("a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
    Queue out(stream);
    out.open_ = true;
    return out;
}

Queue::~Queue() {
    if (open_) cudaStreamDestroy(stream_);
}
Queue::Queue(Queue&& other) noexcept : stream_(other.stream_), open_(std::exchange(other.open_, false)) {}
Queue& Queue::operator=(Queue&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(open_, other.open_);
    return *this;
}

Status<> Queue::copy_in(std::uint8_t* to, const void* from, std::uint64_t bytes) {
    if (bytes == 0) return Unit{};
    RETRACE_CHECK(checked("copy to the device", cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_)));
    return finish();
}

Status<> Queue::copy_out(void* to, const std::uint8_t* from, std::uint64_t bytes) {
    if (bytes == 0) return finish();
    RETRACE_CHECK(checked("copy from the device", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_)));
    return finish();
}

// A failure stays with the runtime as its last error, like those of kernel launches.
void Queue::copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t bytes) {
    if (bytes != 0) cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_);
}
void Queue::clear(std::uint8_t* to, std::uint64_t bytes) {
    if (bytes != 0) cudaMemsetAsync(to, 0, bytes, stream_);
}

Status<> Queue::finish() { return checked("work on the device", cudaStreamSynchronize(stream_)); }

Status<> Queue::follow(const Queue& other) {
    cudaEvent_t event = nullptr;
    RETRACE_CHECK(checked("an event", cudaEventCreateWithFlags(&event, cudaEventDisableTiming)));
    const cudaError_t recorded = cudaEventRecord(event, other.stream_);
    const cudaError_t awaited = cudaStreamWaitEvent(stream_, event, 0);
    cudaEventDestroy(event);  // the runtime defers this until the event has occurred
    RETRACE_CHECK(checked("an event", recorded));
    return checked("wait for an event", awaited);
}

Status<> Queue::begin_recording() {
    return checked("recording", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
}

Result<Recording> Queue::end_recording() {
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    // A launch that was refused during recording is missing in the graph even if the recording succeeded.
    const cudaError_t refused = cudaGetLastError();
    auto impl = std::make_unique<Recording::Impl>();
    cudaError_t made = cudaSuccess;
    if (ended == cudaSuccess && refused == cudaSuccess) made = cudaGraphInstantiateWithFlags(&impl->graph, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (ended == cudaSuccess && refused != cudaSuccess) return failure("work that was to be recorded", refused);
    RETRACE_CHECK(checked("recording", ended));
    RETRACE_CHECK(checked("a graph of the recording", made));
    return Recording(std::move(impl));
}

Status<> Queue::play(const Recording& recording) {
    return checked("launch of the recording", cudaGraphLaunch(recording.impl_->graph, stream_));
}

Result<void*> Queue::mark() {
    cudaEvent_t event = nullptr;
    RETRACE_CHECK(checked("an event", cudaEventCreate(&event)));
    RETRACE_CHECK(checked("an event", cudaEventRecord(event, stream_)));
    return static_cast<void*>(event);
}

Result<double> Queue::between(void* begin, void* end) {
    const auto first = static_cast<cudaEvent_t>(begin), last = static_cast<cudaEvent_t>(end);
    const Status<> done = finish();
    float milliseconds = 0;
    const cudaError_t code = cudaEventElapsedTime(&milliseconds, first, last);
    cudaEventDestroy(first);
    cudaEventDestroy(last);
    RETRACE_CHECK(done);
    RETRACE_CHECK(checked("elapsed time", code));
    return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace retrace::kernels::cuda
