// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace retrace::kernels {

/// A fixed set of threads for data-parallel loops. Work is split by index; results never depend on the split.
class ThreadPool {
public:
    /// `threads` = 0 means as many as the machine has; 1 means that everything runs in the caller. If the system
    /// refuses some threads, the pool has fewer (`threads()`).
    explicit ThreadPool(unsigned threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    unsigned threads() const noexcept;
    /// Calls body(begin, end) for disjoint ranges that cover [0, n), each of at least `grain` indices except the last;
    /// returns when all are done. The caller works too. Not reentrant.
    void parallel_for(std::uint64_t n, std::uint64_t grain,
                      const std::function<void(std::uint64_t begin, std::uint64_t end)>& body);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::kernels
