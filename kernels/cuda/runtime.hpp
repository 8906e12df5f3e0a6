// SPDX-License-Identifier: MIT
// The device's memory, its queue and its recorded work, without a CUDA header: runtime.cpp implements it with the CUDA
// runtime, the host emulation of tests/cuda by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/stream.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels::cuda {

struct Device {
    std::string name;                ///< The vendor's name of the device.
    std::uint32_t capability = 0;    ///< Compute capability: 75 for 7.5.
    std::uint32_t shared_limit = 0;  ///< Bytes of shared memory that a block may ask for.
    /// Products use wgmma: the device has compute capability 9.0, and RETRACE_CUDA_WGMMA is not 0.
    bool warpgroups = false;
    bool recipes = true;  ///< Runs that are recipes are not interpreted: RETRACE_CUDA_RECIPES is not 0.
    std::uint32_t multiprocessors = 0;
    std::uint64_t memory = 0, free = 0;  ///< Bytes of device memory in all, and of those that were free.
};
/// Returns the first device, which must have compute capability 7.5 or more. Every failure of the runtime counts as no
/// device; the error contains the runtime's message.
Result<Device> find_device();

/// One block of device memory, aligned to 256 bytes.
class Memory {
public:
    /// Allocates a block. The error names the requested and the free bytes.
    static Result<Memory> take(std::uint64_t bytes);
    Memory() = default;
    ~Memory();
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;

    std::uint8_t* data() const noexcept { return data_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    std::uint8_t* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// Work that was recorded once and is replayed as a whole (a CUDA graph).
class Recording {
public:
    struct Impl;
    Recording();
    explicit Recording(std::unique_ptr<Impl> impl);
    ~Recording();
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;
    bool empty() const noexcept { return impl_ == nullptr; }

private:
    friend class Queue;
    std::unique_ptr<Impl> impl_;
};

/// A queue that runs its work in order. All functions except `finish` and the copies to and from the host return before
/// the work is done. Failures are kept and reported by the next call that returns a status.
class Queue {
public:
    static Result<Queue> open();
    ~Queue();
    Queue(Queue&& other) noexcept;
    Queue& operator=(Queue&& other) noexcept;

    Stream stream() const noexcept { return stream_; }
    /// These wait until the host memory may be changed (`copy_in`) or read (`copy_out`).
    Status<> copy_in(std::uint8_t* to, const void* from, std::uint64_t bytes);
    Status<> copy_out(void* to, const std::uint8_t* from, std::uint64_t bytes);
    void copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t bytes);
    void clear(std::uint8_t* to, std::uint64_t bytes);
    /// Waits for all work.
    Status<> finish();
    /// Work that is queued here from now on starts after the work that `other` has so far.
    Status<> follow(const Queue& other);

    /// From here on work is recorded instead of run, until `end_recording`.
    Status<> begin_recording();
    Result<Recording> end_recording();
    Status<> play(const Recording& recording);

    /// Returns the device time in seconds of the work that `body` queues.
    template <class Body>
    Result<double> seconds(Body body) {
        RETRACE_TRY(begin, mark());
        body();
        RETRACE_TRY(end, mark());
        return between(begin, end);
    }

private:
    explicit Queue(Stream stream) : stream_(stream) {}
    Result<void*> mark();
    Result<double> between(void* begin, void* end);  ///< Frees the marks.

    Stream stream_ = nullptr;
    bool open_ = false;
};

}  // namespace retrace::kernels::cuda
