// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/function_sweep.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "kernels/runtime/dispatch.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels::sweep {
namespace {

constexpr std::size_t kStretch = 4096;  ///< Inputs that fit the first-level cache together with their results.
constexpr std::uint64_t kSections = 64;

using Values = std::array<std::uint32_t, kStretch>;

void judge(const Function& function, const Values& in, const Values& stored, std::size_t n, Outcome& outcome) {
    std::array<double, kStretch> estimates;
    const bool estimated =
        function.estimate != nullptr && function.estimate(in.data(), stored.data(), n, estimates.data());
    for (std::size_t i = 0; i < n; ++i) {
        // Computes every value that may be the maximum or has no estimate (a NaN compares as false).
        if (estimated && estimates[i] + kEstimate < outcome.worst) continue;
        const double error = function.error(in[i], stored[i]);
        if (error > outcome.worst) outcome.worst = error, outcome.worst_at = in[i];
    }
}

void compare(const NamedLoops& other, const Values& in, const Values& want, const Values& got, std::size_t n,
             Outcome& outcome) {
    if (std::memcmp(want.data(), got.data(), n * sizeof want[0]) == 0) return;
    const auto at = static_cast<std::size_t>(
        std::mismatch(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(n), got.begin()).first - want.begin());
    outcome.differences.push_back({other.name, in[at], want[at], got[at]});
}

/// Inputs i · step for first <= i < end.
Outcome stretches(const Function& function, const Loops& reference, const std::vector<NamedLoops>& others,
                  std::uint64_t step, std::uint64_t first, std::uint64_t end) {
    alignas(64) Values in, want, got;
    Outcome outcome;
    for (; first < end; first += kStretch) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kStretch, end - first));
        for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::uint32_t>((first + i) * step);
        function.run(reference, in.data(), want.data(), n);
        for (const NamedLoops& other : others) {
            function.run(other.loops, in.data(), got.data(), n);
            compare(other, in, want, got, n, outcome);
        }
        judge(function, in, want, n, outcome);
        outcome.tried += n;
    }
    return outcome;
}

void add(Outcome& sum, const Outcome& part) {
    sum.tried += part.tried;
    if (part.worst > sum.worst) sum.worst = part.worst, sum.worst_at = part.worst_at;
    sum.differences.insert(sum.differences.end(), part.differences.begin(), part.differences.end());
}

}  // namespace

std::vector<NamedLoops> vector_loops() {
    std::vector<NamedLoops> out;
#if defined(__x86_64__)
    for (const CpuLevel level : cpu_levels()) {
        if (level == CpuLevel::avx2) out.push_back({"avx2", loops_avx2()});
        if (level == CpuLevel::avx512) out.push_back({"avx512", loops_avx512()});
    }
#endif
    return out;
}

Outcome sweep(const Function& function, const Loops& reference, const std::vector<NamedLoops>& others, Inputs inputs,
              const std::function<void(double done)>& progress) {
    const std::uint64_t count = ((std::uint64_t{1} << 32) + inputs.step - 1) / inputs.step;
    ThreadPool pool;
    Outcome outcome;
    std::mutex mutex;
    for (std::uint64_t section = 0; section < kSections; ++section) {
        const std::uint64_t from = count * section / kSections, to = count * (section + 1) / kSections;
        pool.parallel_for(to - from, kStretch, [&](std::uint64_t begin, std::uint64_t end) {
            const Outcome part = stretches(function, reference, others, inputs.step, from + begin, from + end);
            const std::lock_guard lock(mutex);
            add(outcome, part);
        });
        if (progress) progress(static_cast<double>(section + 1) / kSections);
    }
    return outcome;
}

}  // namespace retrace::kernels::sweep
