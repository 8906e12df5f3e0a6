// SPDX-License-Identifier: MIT
// kernels/cuda/runtime.hpp on the emulated device: memory is the host's, filled with 0xcd, and an access beyond its end
// ends the process; a stream runs its work at once, records it, or delays it as long as possible.
#include "kernels/cuda/runtime.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "tests/cuda/emulation/device.hpp"
#include "tests/cuda/emulation/recorder.hpp"

namespace retrace::emulation {
namespace {

bool recording = false;
std::vector<std::function<void()>> recorded;

}  // namespace

void enqueue(CUstream_st* stream, std::function<void()> work) {
    if (recording) {
        recorded.push_back(std::move(work));
    } else if (stream != nullptr && stream->late) {
        stream->waiting.push_back(std::move(work));
    } else {
        work();
    }
}
bool is_recording() { return recording; }
void begin_recording() {
    recording = true;
    recorded.clear();
}
std::vector<std::function<void()>> end_recording() {
    recording = false;
    return std::exchange(recorded, {});
}

namespace {

void catch_up(CUstream_st* stream) {
    for (const auto& work : std::exchange(stream->waiting, {})) work();
}

}  // namespace

EmulatedDevice device;

}  // namespace retrace::emulation

namespace retrace::kernels::cuda {

using emulation::catch_up;
using emulation::device;

namespace {

Status<> works() {
    if (device.works_for != UINT64_MAX && device.works_for-- == 0) device.failing = true, device.works_for = UINT64_MAX;
    if (device.failing) return error("CUDA: work on the device: an emulated failure");
    return Unit{};
}

/// Operations that are not allowed while a CUDA graph is captured.
Status<> not_while_recording(const char* doing) {
    RETRACE_CHECK(works());
    if (emulation::is_recording()) return error(std::string("CUDA: ") + doing + " while work is recorded");
    return Unit{};
}

}  // namespace

Result<Device> find_device() {
    if (!device.present) return error("no CUDA device: none is emulated");
    const char* const recipes = std::getenv("RETRACE_CUDA_RECIPES");
    return Device{"emulated",
                  device.capability,
                  device.shared_limit,
                  device.warpgroups,
                  recipes == nullptr || *recipes != '0',
                  2,
                  device.says_memory ? device.memory : 0,
                  device.says_memory ? device.memory - device.taken : 0};
}

namespace {

constexpr std::uint64_t kPage = 4096, kGuard = std::uint64_t{64} << 20;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

/// Returns memory that ends, rounded up to 256 bytes, where pages begin that nobody may access; null if there is none.
std::uint8_t* take_guarded(std::uint64_t bytes) {
    const std::uint64_t pages = rounded(bytes, kPage);
    void* const start =
        mmap(nullptr, pages + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    std::uint8_t* const end = static_cast<std::uint8_t*>(start) + pages;
    if (mprotect(end, kGuard, PROT_NONE) != 0) return nullptr;
    return end - rounded(bytes, 256);
}
void give_back(std::uint8_t* data, std::uint64_t bytes) {
    const std::uint64_t pages = rounded(bytes, kPage);
    munmap(data + rounded(bytes, 256) - pages, pages + kGuard);
}

}  // namespace

Result<Memory> Memory::take(std::uint64_t bytes) {
    RETRACE_CHECK(not_while_recording("memory taken"));
    Memory out;
    if (bytes == 0) return out;
    const std::uint64_t free = device.memory - device.taken;
    if (bytes > free) {
        return error("CUDA: " + std::to_string(bytes) + " bytes of device memory asked for, " + std::to_string(free) +
                     " free: out of memory");
    }
    out.data_ = take_guarded(bytes);
    if (out.data_ == nullptr) return error("the host has no memory for the emulated device");
    std::memset(out.data_, 0xcd, bytes);
    out.bytes_ = bytes;
    device.taken += bytes;
    return out;
}
Memory::~Memory() {
    device.taken -= bytes_;
    if (data_ != nullptr) give_back(data_, bytes_);
}
Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

struct Recording::Impl {
    std::vector<std::function<void()>> work;
};
Recording::Recording() = default;
Recording::Recording(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recording::~Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

Result<Queue> Queue::open() { return Queue(new CUstream_st); }
Queue::~Queue() { delete stream_; }
Queue::Queue(Queue&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
Queue& Queue::operator=(Queue&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
}

Status<> Queue::copy_in(std::uint8_t* to, const void* from, std::uint64_t bytes) {
    RETRACE_CHECK(not_while_recording("a copy to the device"));
    catch_up(stream_);
    if (bytes != 0) std::memcpy(to, from, bytes);
    device.copied_in += bytes;
    return Unit{};
}
Status<> Queue::copy_out(void* to, const std::uint8_t* from, std::uint64_t bytes) {
    RETRACE_CHECK(not_while_recording("a copy from the device"));
    catch_up(stream_);
    if (bytes != 0) std::memcpy(to, from, bytes);
    device.copied_out += bytes;
    return Unit{};
}
void Queue::copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t bytes) {
    emulation::enqueue(stream_, [=] {
        if (bytes != 0) std::memcpy(to, from, bytes);
    });
}
void Queue::clear(std::uint8_t* to, std::uint64_t bytes) {
    emulation::enqueue(stream_, [=] {
        if (bytes != 0) std::memset(to, 0, bytes);
    });
}
Status<> Queue::finish() {
    RETRACE_CHECK(not_while_recording("waiting"));
    catch_up(stream_);
    return Unit{};
}
Status<> Queue::follow(const Queue& other) {
    RETRACE_CHECK(not_while_recording("following another queue"));
    catch_up(other.stream_);
    stream_->late = true;
    return Unit{};
}
Status<> Queue::begin_recording() {
    RETRACE_CHECK(works());
    emulation::begin_recording();
    return Unit{};
}
Result<Recording> Queue::end_recording() {
    return Recording(std::make_unique<Recording::Impl>(Recording::Impl{emulation::end_recording()}));
}
Status<> Queue::play(const Recording& recording) {
    RETRACE_CHECK(works());
    for (const auto& work : recording.impl_->work) work();
    return Unit{};
}

Result<void*> Queue::mark() {
    return static_cast<void*>(new std::chrono::steady_clock::time_point(std::chrono::steady_clock::now()));
}
Result<double> Queue::between(void* begin, void* end) {
    const std::unique_ptr<std::chrono::steady_clock::time_point> first(
        static_cast<std::chrono::steady_clock::time_point*>(begin));
    const std::unique_ptr<std::chrono::steady_clock::time_point> last(
        static_cast<std::chrono::steady_clock::time_point*>(end));
    return std::chrono::duration<double>(*last - *first).count();
}

}  // namespace retrace::kernels::cuda
