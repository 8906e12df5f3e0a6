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

extern "C" void on_abort(int) {
    char text[64] = "the seed that was played: ";
    std::size_t length = std::strlen(text);
    char digits[24];
    std::size_t count = 0;
    std::uint64_t seed = seed_of_this_thread();
    do digits[count++] = static_cast<char>('0' + seed % 10);
    while ((seed /= 10) != 0);
    while (count > 0) text[length++] = digits[--count];
    text[length++] = '\n';
    [[maybe_unused]] const auto ignored = ::write(2, text, length);
}

}  // namespace

void name_seed_on_abort() { std::signal(SIGABRT, on_abort); }

Played play_seed(std::uint64_t seed, ScenarioKind kind, const Catalogue& catalogue, const RunOptions& options) {
    if (kind == ScenarioKind::single) return {play(seed, random_scenario(seed), catalogue, options), std::nullopt};
    if (kind == ScenarioKind::group) return {play(seed, group_scenario(seed), catalogue, options), std::nullopt};
    const Scenario scenario = composed_scenario(seed);
    Played played{play(seed, scenario, catalogue, options), std::nullopt};
    played.judgement = judge(scenario, played.outcome);
    return played;
}

void Summary::add(const Played& played) {
    const Outcome& outcome = played.outcome;
    ++runs;
    violations += outcome.findings.violations.size();
    honest_slashed += outcome.findings.honest_slashed;
    frauds_audited += outcome.findings.frauds_audited;
    frauds_convicted += outcome.findings.frauds_convicted;
    const bool good = outcome.good() && (!played.judgement || played.judgement->good());
    if (!good) failed_seeds.push_back(outcome.seed);
    if (!played.judgement) return;
    if (!judgement) judgement.emplace();
    judgement->honest_losses += played.judgement->honest_losses;
    judgement->owners_ahead += played.judgement->owners_ahead;
}

std::string to_json(const Summary& summary) {
    std::string out = "{\"runs\":" + std::to_string(summary.runs) +
                      ",\"violations\":" + std::to_string(summary.violations) +
                      ",\"honest_slashed\":" + std::to_string(summary.honest_slashed) +
                      ",\"frauds_audited\":" + std::to_string(summary.frauds_audited) +
                      ",\"frauds_convicted\":" + std::to_string(summary.frauds_convicted);
    if (summary.judgement)
        out += ",\"honest_losses\":" + std::to_string(summary.judgement->honest_losses) +
               ",\"owners_ahead\":" + std::to_string(summary.judgement->owners_ahead);
    out += ",\"failed_seeds\":[";
    for (std::size_t i = 0; i < summary.failed_seeds.size(); ++i) {
        if (i != 0) out += ",";
        out += std::to_string(summary.failed_seeds[i]);
    }
    return out + "]}";
}

Summary run_seeds(const std::vector<std::uint64_t>& seeds, ScenarioKind kind, const Catalogue& catalogue,
                  Sabotage sabotage, unsigned threads, const OnOutcome& on_outcome) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::optional<Played>> outcomes(seeds.size());
    std::mutex mutex;
    std::condition_variable one_more;
    std::atomic<std::size_t> next{0};
    const auto worker = [&] {
        for (std::size_t i = next++; i < seeds.size(); i = next++) {
            seed_of_this_thread() = seeds[i];
            RunOptions options;
            options.sabotage = sabotage;
            Played played = play_seed(seeds[i], kind, catalogue, options);
            const std::lock_guard lock(mutex);
            outcomes[i] = std::move(played);
            one_more.notify_one();
        }
    };
    std::vector<std::jthread> pool;
    for (unsigned i = 0; i < threads; ++i) pool.emplace_back(worker);
    Summary summary;
    if (kind == ScenarioKind::composed) summary.judgement.emplace();
    for (auto& slot : outcomes) {
        std::unique_lock lock(mutex);
        one_more.wait(lock, [&] { return slot.has_value(); });
        const Played played = std::move(*slot);
        slot = Played{};  // Frees the outcome, since there may be many seeds.
        lock.unlock();
        summary.add(played);
        if (on_outcome) on_outcome(played);
    }
    return summary;
}

}  // namespace retrace::sim
