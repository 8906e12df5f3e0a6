// SPDX-License-Identifier: MIT
// `bench_kernels [--json] [--rounds N]`: products compared with the best ordinary sgemm limited to the same instruction
// set, on one core, interleaved, medians of thread time, geometric means over the 13 shapes of the design; tile-tree
// hashing compared with plain SHA-256.
//
// The peers choose their instruction set when they are loaded, so every set is measured by a child process
// (`bench_kernels --group NAME`) with its environment. The rows of bench_elements, bench_fused and bench_train,
// where they are built, come last.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "kernels/matmul/backend.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/bench/peers/sgemm.hpp"
#include "tests/bench/rows.hpp"

namespace retrace::bench {

namespace {

using kernels::CpuLevel;
using kernels::Precision;

struct Shape {
    std::uint64_t m, n, k;
};
constexpr Shape kShapes[] = {
    {256, 256, 256},   {512, 512, 512},   {768, 768, 768},   {1024, 1024, 1024}, {2048, 2048, 2048},
    {512, 768, 768},   {512, 3072, 768},  {1024, 768, 3072}, {2048, 256, 256},   {2048, 768, 768},
    {2048, 3072, 768}, {2048, 768, 3072}, {512, 1000, 500},
};
constexpr double kRoundSeconds = 0.03;  ///< Short products are repeated until a sample takes this long.

/// Processor seconds of this thread: every candidate runs on one thread, and other processes do not count.
double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const std::function<void()>& body, int repeats) {
    const double begin = thread_seconds();
    for (int i = 0; i < repeats; ++i) body();
    return (thread_seconds() - begin) / repeats;
}

/// Medians of the candidates' seconds, with alternating samples.
std::vector<double> interleaved(const std::vector<std::function<void()>>& candidates, int rounds) {
    std::vector<int> repeats;
    std::vector<std::vector<double>> samples(candidates.size());
    for (const auto& candidate : candidates) {
        seconds_of(candidate, 1);
        const double once = seconds_of(candidate, 1);
        repeats.push_back(static_cast<int>(std::clamp(kRoundSeconds / once, 1.0, 1000.0)));
    }
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            samples[i].push_back(seconds_of(candidates[i], repeats[i]));
        }
    }
    std::vector<double> out;
    for (auto& sample : samples) out.push_back(median(std::move(sample)));
    return out;
}

struct Candidate {
    std::string name;
    CpuLevel level;
    Precision precision;
};

/// Measurements of one child process, and the variable that limits its peers to the instruction set.
struct Group {
    std::string_view name;
    CpuLevel needs;
    std::string_view environment;
    std::vector<Candidate> candidates;
};

std::vector<Group> groups() {
#if defined(__aarch64__)
    return {
        {"neon", CpuLevel::neon, "", {{"matmul_f32_neon", CpuLevel::neon, Precision::f32}}},
        {"dotprod", CpuLevel::dotprod, "", {{"matmul_i8x2_dotprod", CpuLevel::dotprod, Precision::i8x2}}},
        {"i8mm", CpuLevel::i8mm, "", {{"matmul_i8x2_i8mm", CpuLevel::i8mm, Precision::i8x2}}},
    };
#else
    return {
        {"avx2",
         CpuLevel::avx2,
         "OPENBLAS_CORETYPE=Haswell ONEDNN_MAX_CPU_ISA=AVX2",
         {{"matmul_i8x2_avx2", CpuLevel::avx2, Precision::i8x2}, {"matmul_f32_avx2", CpuLevel::avx2, Precision::f32}}},
        {"avxvnni",
         CpuLevel::avxvnni,
         "OPENBLAS_CORETYPE=Haswell ONEDNN_MAX_CPU_ISA=AVX2",
         {{"matmul_i8x2_avxvnni", CpuLevel::avxvnni, Precision::i8x2}}},
        {"avx512",
         CpuLevel::avx512,
         "OPENBLAS_CORETYPE=SkylakeX ONEDNN_MAX_CPU_ISA=AVX512_CORE",
         {{"matmul_f32_avx512", CpuLevel::avx512, Precision::f32}}},
        {"vnni",
         CpuLevel::vnni,
         "OPENBLAS_CORETYPE=SkylakeX ONEDNN_MAX_CPU_ISA=AVX512_CORE",
         {{"matmul_i8x2_vnni", CpuLevel::vnni, Precision::i8x2}}},
        {"amx",
         CpuLevel::amx,
         "OPENBLAS_CORETYPE=SkylakeX",  // Its best for fp32; it does not detect every new processor.
         {{"matmul_i8x2_amx", CpuLevel::amx, Precision::i8x2}, {"matmul_i8x3_amx", CpuLevel::amx, Precision::i8x3}}},
    };
#endif
}

/// Medians of the seconds of the peers, then of our candidates, for one shape.
std::vector<double> measure_shape(const Shape& s, const std::vector<SgemmPeer>& peers,
                                  const std::vector<Candidate>& ours, kernels::ThreadPool& pool, int rounds) {
    std::vector<float> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
    std::uint32_t state = 1;
    const auto next = [&state] {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    };
    std::generate(a.begin(), a.end(), next);
    std::generate(b.begin(), b.end(), next);
    std::vector<std::function<void()>> bodies;
    for (const SgemmPeer& peer : peers) {
        bodies.push_back([&, run = peer.run] { run(s.m, s.n, s.k, a.data(), b.data(), c.data()); });
    }
    for (const Candidate& candidate : ours) {
        bodies.push_back([&, level = candidate.level, precision = candidate.precision] {
            matmul_at(level, precision, {a.data(), s.m, s.k, s.k, 1}, {b.data(), s.k, s.n, s.n, 1}, c.data(), s.n,
                      pool);
        });
    }
    return interleaved(bodies, rounds);
}

void measure_group(const Group& group, int rounds) {
    kernels::ThreadPool pool(1);
    const std::vector<SgemmPeer> peers = {openblas(), onednn()};
    const std::vector<Candidate>& ours = group.candidates;
    std::vector<double> log_ours(ours.size());
    double log_best = 0;
    for (const Shape& s : kShapes) {
        const std::vector<double> seconds = measure_shape(s, peers, ours, pool, rounds);
        const double work = 2e-9 * static_cast<double>(s.m * s.n * s.k);
        const double best = *std::min_element(seconds.begin(), seconds.begin() + static_cast<long>(peers.size()));
        log_best += std::log(work / best) / std::size(kShapes);
        std::fprintf(stderr, "%4llu x %4llu x %4llu  best sgemm %7.1f", static_cast<unsigned long long>(s.m),
                     static_cast<unsigned long long>(s.n), static_cast<unsigned long long>(s.k), work / best);
        for (std::size_t i = 0; i < ours.size(); ++i) {
            const double rate = work / seconds[peers.size() + i];
            log_ours[i] += std::log(rate) / std::size(kShapes);
            std::fprintf(stderr, "  %s %7.1f (%.3f)", ours[i].name.c_str(), rate, best / seconds[peers.size() + i]);
        }
        std::fputc('\n', stderr);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
        print_row({ours[i].name, "GFLOP/s", "best of " + peers[0].name + ", " + peers[1].name, std::exp(log_ours[i]),
                   std::exp(log_best)});
    }
}

void measure_hash(int rounds) {
    constexpr std::uint64_t kRows = 4096, kCols = 1024;
    const std::vector<std::uint8_t> data(kRows * kCols * 4, 0x5a);
    kernels::ThreadPool pool(1);
    const auto tree = [&] { kernels::tensor_root(data.data(), kernels::DType::f32, {kRows, kCols}, pool); };
    const auto plain = [&] {
        merkle::Sha256 hash;
        for (std::size_t at = 0; at < data.size(); at += 4096) hash.update(View(data.data() + at, 4096)).finish();
    };
    const std::vector<double> seconds = interleaved({plain, tree}, rounds);
    const double gigabytes = 1e-9 * static_cast<double>(data.size());
    print_row({"hash_tile_tree", "GB/s", "OpenSSL SHA-256 of 4 KiB messages", gigabytes / seconds[1],
               gigabytes / seconds[0]});
}

/// Compares subnormal factors, which slow down ordinary units, with normal ones, for the default product at the highest
/// level.
void measure_subnormal(int rounds) {
    constexpr std::uint64_t kSide = 768;
    std::vector<float> normal(kSide * kSide), subnormal(kSide * kSide), c(kSide * kSide);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < normal.size(); ++i) {
        state = state * 1664525u + 1013904223u;
        normal[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
        subnormal[i] = static_cast<float>(state >> 10) * 0x1p-149f;
    }
    kernels::ThreadPool pool(1);
    const auto product = [&](const std::vector<float>& x) {
        return [&] {
            const kernels::MatrixView view{x.data(), kSide, kSide, kSide, 1};
            kernels::matmul(Precision::i8x2, view, view, c.data(), kSide, pool);
        };
    };
    const std::vector<double> seconds = interleaved({product(normal), product(subnormal)}, rounds);
    const double work = 2e-9 * static_cast<double>(kSide * kSide * kSide);
    print_row(
        {"matmul_i8x2_subnormal", "GFLOP/s", "the same product of normal data", work / seconds[1], work / seconds[0]});
}

int measure_all(bool json, int rounds) {
    std::vector<Row> rows;
    const std::vector<CpuLevel> levels = kernels::cpu_levels();
    for (const Group& group : groups()) {
        if (std::find(levels.begin(), levels.end(), group.needs) == levels.end()) {
            for (const Candidate& c : group.candidates) {
                rows.push_back({c.name, "GFLOP/s", "skipped: this machine has no " + std::string(group.name)});
            }
            continue;
        }
        std::vector<std::string> names;
        for (const Candidate& c : group.candidates) names.emplace_back(c.name);
        const std::vector<Row> measured =
            child_rows("OMP_NUM_THREADS=1 " + std::string(group.environment) + " '" + own_path() + "' --group " +
                           std::string(group.name) + " --rounds " + std::to_string(rounds),
                       names);
        rows.insert(rows.end(), measured.begin(), measured.end());
    }
    const std::pair<const char*, std::vector<std::string>> singles[] = {{"hash", {"hash_tile_tree"}},
                                                                        {"subnormal", {"matmul_i8x2_subnormal"}}};
    for (const auto& [group, names] : singles) {
        const std::vector<Row> measured =
            child_rows("'" + own_path() + "' --group " + group + " --rounds " + std::to_string(rounds), names);
        rows.insert(rows.end(), measured.begin(), measured.end());
    }
    const std::pair<const char*, std::vector<std::string>> programs[] = {
        {"bench_elements", {}},
        {"bench_fused", {}},
        {"bench_train",
         {"train_gpt", "train_gpt_newest", "train_cnn", "train_cnn_newest", "commit_share", "peak_memory"}}};
    for (const auto& [name, names] : programs) {
        const std::string program = program_beside(name);
        if (program.empty()) continue;
        const std::vector<Row> more = child_rows("'" + program + "' --rows", names);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    report("products and hashing on one core, training on all", rows, json);
    return complete(rows) ? 0 : 1;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    bool json = false;
    int rounds = 7;
    std::string wanted;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const bool more = i + 1 < arguments.size();
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--rounds" && more)
            rounds = std::max(1, std::atoi(arguments[++i].c_str()));
        else if (arguments[i] == "--group" && more)
            wanted = arguments[++i];
        else
            return std::fputs("usage: bench_kernels [--json] [--rounds N]\n", stderr), 2;
    }
    if (wanted.empty()) return measure_all(json, rounds);
    if (wanted == "hash") return measure_hash(rounds), 0;
    if (wanted == "subnormal") return measure_subnormal(rounds), 0;
    for (const Group& group : groups()) {
        if (group.name == wanted) return measure_group(group, rounds), 0;
    }
    return 2;
}

}  // namespace retrace::bench

int main(int argc, char** argv) {
    ::unsetenv("OPENBLAS_L2_SIZE");  // A smaller cache size than the real one would favour our results.
    return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
