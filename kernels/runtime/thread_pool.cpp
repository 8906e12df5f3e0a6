// SPDX-License-Identifier: MIT
#include "kernels/runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/scalar/float_environment.hpp"

namespace retrace::kernels {
namespace {

constexpr int kLooks = 3000;  ///< Spin iterations before sleeping: some tens of microseconds.

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

// The pool runs one job at a time. Its indices are cut into pieces that the threads take from a counter, so a thread
// that the system delays does not hold up the others. A worker enters and leaves a job under the mutex; the caller
// returns only when all workers that entered have left, so the job's fields outlive their readers. The loops of a small
// model last microseconds, less than waking a thread, so both sides spin for a moment before they sleep.
struct ThreadPool::Impl {
    using Body = std::function<void(std::uint64_t, std::uint64_t)>;

    std::mutex mutex;
    std::condition_variable wake, left;
    std::vector<std::thread> workers;
    std::atomic<std::uint64_t> job{0};  ///< Written under the mutex.
    std::atomic<unsigned> inside{0};    ///< Written under the mutex.
    bool spins = false;                 ///< Threads spin, because every thread has a core of its own.
    bool stop = false;
    const Body* body = nullptr;
    std::uint64_t n = 0, piece = 1;
    std::atomic<std::uint64_t> next{0};
    std::exception_ptr thrown;  ///< The first exception of this job's bodies; accessed under the mutex.

    ~Impl() {
        {
            const std::lock_guard lock(mutex);
            stop = true;
        }
        wake.notify_all();
        for (std::thread& worker : workers) worker.join();
    }

    /// `work` must have been read under the mutex, because the caller clears `body` while workers are still busy with
    /// its last pieces.
    void take_pieces(const Body& work) {
        for (;;) {
            const std::uint64_t begin = next.fetch_add(piece);
            if (begin >= n) return;
            try {
                work(begin, std::min(n, begin + piece));
            } catch (...) {
                give_up(std::current_exception());
            }
        }
    }

    /// Skips the pieces that have not begun; the caller rethrows when all workers have left.
    void give_up(std::exception_ptr what) {
        next.store(n);
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::move(what);
    }

    template <class Done>
    void look_around(Done done) const {
        for (int i = 0; i < kLooks && spins && !done(); ++i) relax();
    }

    void work() {
        const FloatEnvironment contract;  // A new thread inherits the environment of its creator.
        std::uint64_t seen = 0;
        for (;;) {
            look_around([&] { return job.load(std::memory_order_relaxed) != seen; });
            std::unique_lock lock(mutex);
            if (!stop && body == nullptr && job.load() != seen) {  // the job has already ended
                seen = job.load();
                continue;
            }
            wake.wait(lock, [&] { return stop || (job.load() != seen && body != nullptr); });
            if (stop) return;
            seen = job.load();
            ++inside;
            const Body& mine = *body;
            lock.unlock();
            take_pieces(mine);
            lock.lock();
            if (--inside == 0) left.notify_one();
        }
    }
};

ThreadPool::ThreadPool(unsigned threads) : impl_(std::make_unique<Impl>()) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    impl_->spins = threads <= std::thread::hardware_concurrency();
    try {
        for (unsigned i = 1; i < threads; ++i) impl_->workers.emplace_back([impl = impl_.get()] { impl->work(); });
    } catch (const std::system_error&) {
        // The system grants no more threads (ulimit -u, TasksMax): slower, but the same bits.
    }
}

ThreadPool::~ThreadPool() = default;

unsigned ThreadPool::threads() const noexcept { return static_cast<unsigned>(impl_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::uint64_t n, std::uint64_t grain, const Impl::Body& body) {
    if (n == 0) return;
    grain = std::max<std::uint64_t>(grain, 1);
    if (impl_->workers.empty() || n <= grain) {
        body(0, n);
        return;
    }
    // About four pieces per thread balance unequal work and unequal cores.
    const std::uint64_t pieces = std::uint64_t{threads()} * 4;
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->body = &body;
        impl_->n = n;
        impl_->piece = std::max(grain, n / pieces + (n % pieces != 0 ? 1 : 0));
        impl_->next.store(0);
        ++impl_->job;
    }
    impl_->wake.notify_all();
    impl_->take_pieces(body);
    impl_->look_around([this] { return impl_->inside.load(std::memory_order_relaxed) == 0; });
    std::unique_lock lock(impl_->mutex);
    impl_->body = nullptr;  // a worker that wakes late finds nothing to enter
    impl_->left.wait(lock, [&] { return impl_->inside.load() == 0; });
    if (impl_->thrown) std::rethrow_exception(std::exchange(impl_->thrown, nullptr));
}

}  // namespace retrace::kernels
