// SPDX-License-Identifier: MIT
#include "tests/simulation/batch.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace retrace::sim {
namespace {

thread_local std::uint64_t current_seed = 0;  // For the message of an abort only.

extern "C" void on_abort(int) {
    char text[64] = "the seed that was played: ";
    std::size_t length = std::strlen(text);
    char digits[24];
    std::size_t count = 0;
    std::uint64_t seed = current_seed;
    do digits[count++] = static_cast<char>('0' + seed % 10);
    while ((seed /= 10) != 0);
    while (count > 0) text[length++] = digits[--count];
    text[length++] = '\n';
    [[maybe_unused]] const auto ignored = ::write(2, text, length);
}

}  // namespace

void name_seed_on_abort() {
    std::signal(SIGABRT, on_abort);
}

void Summary::add(const Outcome& outcome) {
    ++runs;
    violations += outcome.verdicts.violations.size();
    honest_slashed += outcome.verdicts.honest_slashed;
    frauds_audited += outcome.verdicts.frauds_audited;
    frauds_convicted += outcome.verdicts.frauds_convicted;
    if (!outcome.good()) failed_seeds.push_back(outcome.seed);
}

std::string to_json(const Summary& summary) {
    std::string out = "{\"runs\":" + std::to_string(summary.runs) +
                      ",\"violations\":" + std::to_string(summary.violations) +
                      ",\"honest_slashed\":" + std::to_string(summary.honest_slashed) +
                      ",\"frauds_audited\":" + std::to_string(summary.frauds_audited) +
                      ",\"frauds_convicted\":" + std::to_string(summary.frauds_convicted) +
                      ",\"failed_seeds\":[";
    for (std::size_t i = 0; i < summary.failed_seeds.size(); ++i) {
        if (i != 0) out += ",";
        out += std::to_string(summary.failed_seeds[i]);
    }
    return out + "]}";
}

Summary run_seeds(const std::vector<std::uint64_t>& seeds, const Catalogue& catalogue, Sabotage sabotage,
                  unsigned threads, const OnOutcome& on_outcome) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::optional<Outcome>> outcomes(seeds.size());
    std::mutex mutex;
    std::condition_variable one_more;
    std::atomic<std::size_t> next{0};
    const auto worker = [&] {
        for (std::size_t i = next++; i < seeds.size(); i = next++) {
            current_seed = seeds[i];
            RunOptions options;
            options.sabotage = sabotage;
            Outcome outcome = play(seeds[i], random_scenario(seeds[i]), catalogue, options);
            const std::lock_guard lock(mutex);
            outcomes[i] = std::move(outcome);
            one_more.notify_one();
        }
    };
    std::vector<std::jthread> pool;
    for (unsigned i = 0; i < threads; ++i) pool.emplace_back(worker);
    Summary summary;
    for (auto& slot : outcomes) {
        std::unique_lock lock(mutex);
        one_more.wait(lock, [&] { return slot.has_value(); });
        const Outcome outcome = std::move(*slot);
        slot = Outcome{};  // Many seeds: what was told is not kept.
        lock.unlock();
        summary.add(outcome);
        if (on_outcome) on_outcome(outcome);
    }
    return summary;
}

}  // namespace retrace::sim
