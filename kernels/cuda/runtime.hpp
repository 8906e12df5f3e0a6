// SPDX-License-Identifier: MIT
// The device's memory, its queue and its recorded work, without a CUDA header: runtime.cpp speaks to the CUDA
// runtime, the host emulation of tests/cuda has an implementation of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/stream.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels::cuda {

struct Device {
    std::string name;                ///< As its maker calls it.
    std::uint32_t capability = 0;    ///< 75 for 7.5.
    std::uint32_t shared_limit = 0;  ///< Bytes of shared memory that a block may ask for.
    /// Compute capability 9.0, and RETRACE_CUDA_WGMMA=1 asks for its own instructions, which have never run.
    bool warpgroups = false;
    std::uint32_t multiprocessors = 0;
    std::uint64_t memory = 0;  ///< Bytes in all.
};
/// The first device, of compute capability 7.5 or more. Every failure of the runtime means that there is
/// none; the error says in whose words.
Result<Device> find_device();

/// One block of device memory, aligned to 256 bytes.
class Memory {
public:
    /// The error names the bytes that were asked for and those that are free.
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

/// Work that was recorded once and runs as a whole (a CUDA graph).
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

/// Work in order. Everything but `finish` and the copies to and from the host returns before the work is
/// done. Failures are kept and reported by the next call that returns a status.
class Queue {
public:
    static Result<Queue> open();
    ~Queue();
    Queue(Queue&& other) noexcept;
    Queue& operator=(Queue&& other) noexcept;

    Stream stream() const noexcept { return stream_; }
    /// Waits until the host memory may be changed (`copy_in`) or read (`copy_out`).
    Status<> copy_in(std::uint8_t* to, const void* from, std::uint64_t bytes);
    Status<> copy_out(void* to, const std::uint8_t* from, std::uint64_t bytes);
    void copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t bytes);
    void clear(std::uint8_t* to, std::uint64_t bytes);
    /// Waits for all work.
    Status<> finish();
    /// What is queued here from now on starts after what `other` was given so far.
    Status<> follow(const Queue& other);

    /// From here on work is noted down instead of done, until `end_recording`.
    Status<> begin_recording();
    Result<Recording> end_recording();
    Status<> play(const Recording& recording);

    /// Seconds of device time that the work queued by `body` takes.
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
