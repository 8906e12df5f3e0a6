// SPDX-License-Identifier: MIT
#include "node/cmd/local_steps.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "node/cmd/cli.hpp"

namespace retrace::node::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// A save takes at most one part of this many of the time.
constexpr int kSaveShare = 20;

std::atomic<bool> g_interrupted{false};  // Signal handlers can access globals only.
extern "C" void on_interrupt(int) {
    if (g_interrupted.exchange(true)) ::_exit(kFailed);
}

/// Shows progress in a line that is overwritten, on a terminal only.
void show_step(const TaskFile& task, std::uint64_t step, float loss, Clock::time_point start) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double rate = static_cast<double>(step + 1) / std::max(seconds, 1e-9);
    std::fprintf(stderr, "\rstep %llu of %llu, loss %.4f, %.1f steps/s, %.0f s left   ",
                 static_cast<unsigned long long>(step + 1), static_cast<unsigned long long>(task.steps),
                 static_cast<double>(loss), rate, static_cast<double>(task.steps - step - 1) / rate);
    if (step + 1 == task.steps) std::fprintf(stderr, "\n");
    std::fflush(stderr);
}

}  // namespace

Status<> run_steps(const TaskFile& task, const LocalSteps& training, Losses& losses) {
    g_interrupted = false;
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    const Clock::time_point start = Clock::now();
    Clock::time_point saved = start;
    Clock::duration pause = training.save_every;
    while (training.step() < task.steps) {
        const std::uint64_t step = training.step();
        const auto metrics = training.advance([] { return g_interrupted.load(); });
        for (const kernels::Metric& metric : metrics.value_or(std::vector<kernels::Metric>())) {
            if (metric.name != "loss") continue;
            losses.emplace_back(step, metric.value);
            if (terminal) show_step(task, step, metric.value, start);
        }
        if (g_interrupted) {
            RETRACE_CHECK(training.save(losses));
            if (training.step() >= task.steps) break;
            return error("interrupted at step " + std::to_string(training.step()) + " of " +
                         std::to_string(task.steps) + ", which is saved in " + training.file.string() +
                         "; the same command goes on there");
        }
        const Clock::time_point begin = Clock::now();
        if (begin < saved + pause) continue;
        // The training itself is whole, so a disk that is full for an hour does not end it.
        if (const auto done = training.save(losses); !done)
            std::cerr << (terminal ? "\n" : "") << "not saved at step " << training.step() << ": "
                      << done.error().message << "; the training goes on\n";
        saved = Clock::now();
        pause = std::max<Clock::duration>(training.save_every, kSaveShare * (saved - begin));
    }
    return Unit{};
}

MetricTable table_of(const Losses& losses) {
    MetricTable table{{"loss"}, {}};
    for (const auto& [step, loss] : losses) table.rows.push_back({step, {loss}});
    return table;
}

std::string saved_after(const Error& failure, const Status<>& saved, const std::filesystem::path& file) {
    return failure.message +
           (saved ? "; the training is saved in " + file.string() + ", from which the same command goes on"
                  : "; the training could not be saved either: " + saved.error().message);
}

void note_resumed(std::uint64_t step, const std::filesystem::path& file) {
    std::cerr << "going on at step " << step << " from " << file.string() << " (delete it to begin again)\n";
}

}  // namespace retrace::node::cli
