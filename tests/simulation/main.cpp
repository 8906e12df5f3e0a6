// SPDX-License-Identifier: MIT
// retrace-sim: plays seeds of the simulation, one with its trace or many with a summary.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "tests/simulation/batch.hpp"

namespace retrace::sim {
namespace {

constexpr const char* kUsage =
    "usage: retrace-sim --seed S                     plays one run and prints its trace\n"
    "       retrace-sim --seeds N [--first-seed S]   plays N runs and prints a summary\n"
    "options:\n"
    "  --composed         seeds draw several frauds of one owner at once, and what it gains\n"
    "  --groups           seeds draw groups that train in rounds\n"
    "  --json             nothing but one JSON object on standard output\n"
    "  --threads N        (default: as many as the machine has)\n"
    "  --quiet            with --seed: the outcome without the trace\n"
    "  --sabotage RULE    break a rule on purpose, to see a checker report it:\n"
    "                     slash_honest, mint, two_movers, stall, acquit, spare_deposit, wrong_wei\n"
    "exit status: 0 nothing was violated, 1 something was, 2 wrong usage\n";

struct Arguments {
    std::optional<std::uint64_t> seed, seeds;
    std::uint64_t first_seed = 1, threads = 0;
    bool json = false, quiet = false;
    ScenarioKind kind = ScenarioKind::single;
    Sabotage sabotage = Sabotage::none;
};

bool read_number(std::string_view text, std::uint64_t& out) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc() && end == text.data() + text.size();
}

std::optional<Arguments> read(int count, char** words) {
    Arguments out;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "--json") {
            out.json = true;
            continue;
        }
        if (word == "--composed") {
            out.kind = ScenarioKind::composed;
            continue;
        }
        if (word == "--groups") {
            out.kind = ScenarioKind::group;
            continue;
        }
        if (word == "--quiet") {
            out.quiet = true;
            continue;
        }
        if (i + 1 >= count) return std::nullopt;
        const std::string_view value = words[++i];
        std::uint64_t number = 0;
        const bool is_number = read_number(value, number);
        if (word == "--sabotage") {
            const auto sabotage = parse_sabotage(value);
            if (!sabotage) return std::nullopt;
            out.sabotage = *sabotage;
        } else if (!is_number) {
            return std::nullopt;
        } else if (word == "--seed") {
            out.seed = number;
        } else if (word == "--seeds") {
            out.seeds = number;
        } else if (word == "--first-seed") {
            out.first_seed = number;
        } else if (word == "--threads" && number <= 1024) {
            out.threads = number;
        } else {
            return std::nullopt;
        }
    }
    if (out.seed.has_value() == out.seeds.has_value()) return std::nullopt;
    return out;
}

void print_outcome(const Played& played, std::FILE* to) {
    const Outcome& outcome = played.outcome;
    for (const std::string& violation : outcome.findings.violations)
        std::fprintf(to, "VIOLATION seed %llu: %s\n", static_cast<unsigned long long>(outcome.seed), violation.c_str());
    if (!played.judgement) return;
    for (const std::string& sentence : played.judgement->sentences)
        std::fprintf(to, "JUDGEMENT seed %llu: %s\n", static_cast<unsigned long long>(outcome.seed), sentence.c_str());
}

constexpr std::uint64_t kRunsBetweenLines = 250;  ///< Interval of progress lines on standard error.

void print_progress(const Summary& so_far, std::uint64_t seeds, std::chrono::steady_clock::time_point start) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "%llu of %llu runs, %llu violations, %.1f runs a second\n",
                 static_cast<unsigned long long>(so_far.runs), static_cast<unsigned long long>(seeds),
                 static_cast<unsigned long long>(so_far.violations), static_cast<double>(so_far.runs) / seconds);
}

const char* word_of(ScenarioKind kind) {
    switch (kind) {
        case ScenarioKind::single: return "";
        case ScenarioKind::composed: return " --composed";
        case ScenarioKind::group: return " --groups";
    }
    return "";
}

int play_one(const Arguments& arguments, const Catalogue& catalogue) {
    RunOptions options;
    options.sabotage = arguments.sabotage;
    if (!arguments.json && !arguments.quiet)
        options.sink = [](const std::string& line) { std::fputs(line.c_str(), stdout); };
    const Played played = play_seed(*arguments.seed, arguments.kind, catalogue, options);
    const Outcome& outcome = played.outcome;
    Summary summary;
    summary.add(played);
    if (arguments.json) {
        std::printf("%s\n", to_json(summary).c_str());
    } else {
        print_outcome(played, stdout);
        std::printf("seed %llu: %llu blocks, %llu transactions, %llu of %llu audited frauds convicted, trace %s\n",
                    static_cast<unsigned long long>(outcome.seed), static_cast<unsigned long long>(outcome.height),
                    static_cast<unsigned long long>(outcome.transactions),
                    static_cast<unsigned long long>(outcome.findings.frauds_convicted),
                    static_cast<unsigned long long>(outcome.findings.frauds_audited),
                    to_hex(view(outcome.trace_hash)).c_str());
    }
    return summary.good() ? 0 : 1;
}

int play_many(const Arguments& arguments, const Catalogue& catalogue) {
    std::vector<std::uint64_t> seeds;
    for (std::uint64_t i = 0; i < *arguments.seeds; ++i) seeds.push_back(arguments.first_seed + i);
    Summary so_far;
    const auto start = std::chrono::steady_clock::now();
    const auto tell = [&](const Played& played) {
        print_outcome(played, arguments.json ? stderr : stdout);
        so_far.add(played);
        if (so_far.runs % kRunsBetweenLines == 0) print_progress(so_far, *arguments.seeds, start);
    };
    const Summary summary =
        run_seeds(seeds, arguments.kind, catalogue, arguments.sabotage, static_cast<unsigned>(arguments.threads), tell);
    if (arguments.json) {
        std::printf("%s\n", to_json(summary).c_str());
    } else {
        std::printf(
            "%llu runs, %llu violations, %llu honest parties slashed, %llu of %llu audited frauds "
            "convicted\n",
            static_cast<unsigned long long>(summary.runs), static_cast<unsigned long long>(summary.violations),
            static_cast<unsigned long long>(summary.honest_slashed),
            static_cast<unsigned long long>(summary.frauds_convicted),
            static_cast<unsigned long long>(summary.frauds_audited));
        for (const std::uint64_t seed : summary.failed_seeds)
            std::printf("again: retrace-sim%s --seed %llu\n", word_of(arguments.kind),
                        static_cast<unsigned long long>(seed));
        if (summary.judgement)
            std::printf("%llu losses of honest parties, %llu owners ahead\n",
                        static_cast<unsigned long long>(summary.judgement->honest_losses),
                        static_cast<unsigned long long>(summary.judgement->owners_ahead));
    }
    return summary.good() ? 0 : 1;
}

int run(int count, char** words) {
    if (count == 2 && std::string_view(words[1]) == "--help") return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
    const auto arguments = read(count, words);
    if (!arguments) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    name_seed_on_abort();
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Line buffering: a long batch that is stopped has printed its findings.
    if (arguments->seed) seed_of_this_thread() = *arguments->seed;
    const Catalogue catalogue = make_catalogue();
    return arguments->seed ? play_one(*arguments, catalogue) : play_many(*arguments, catalogue);
}

}  // namespace
}  // namespace retrace::sim

int main(int count, char** words) { return retrace::sim::run(count, words); }
