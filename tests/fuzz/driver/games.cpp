// SPDX-License-Identifier: MIT
// Plays games on a ledger from seeds: `fuzz_chain`. A failing game is shortened to a trace, which can be replayed by
// itself.
// itself.
//
//   fuzz_chain [--calls N] [--seconds S] [--games N] [--first-seed K] [--seed K] [--json] [FILE|FOLDER]…
//
// FILE is a trace (*.trace), a list of seeds (*.txt), or an input of libFuzzer; of a FOLDER all of them.
#include "tests/stateful/games.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "tests/fuzz/driver/target.hpp"

namespace {

using namespace retrace;
using namespace retrace::stateful;
namespace fs = std::filesystem;

constexpr unsigned kSecondsAGame = 300;

struct Arguments {
    std::uint64_t calls = 100'000, games = ~std::uint64_t{0}, first_seed = 1;
    std::optional<std::uint64_t> seed;
    double seconds = 60;
    bool json = false;
    std::vector<fs::path> files;
};

volatile std::uint64_t running_seed = 0;

/// Handles fatal signals, which NonFatalScope does not turn into failures.
void on_fatal(int signal_number) {
    std::fprintf(stderr, "fatal signal %d in the game of seed %llu\n", signal_number,
                 static_cast<unsigned long long>(running_seed));
    ::signal(signal_number, SIG_DFL);
    ::raise(signal_number);
}

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool parse(int argc, char** argv, Arguments& out) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto number = [&] { return std::strtoull(argv[++i], nullptr, 10); };
        if (word == "--json") {
            out.json = true;
            continue;
        }
        if (word.starts_with("--") && i + 1 == argc) return false;
        if (word == "--calls")
            out.calls = number();
        else if (word == "--seconds")
            out.seconds = std::strtod(argv[++i], nullptr);
        else if (word == "--games")
            out.games = number();
        else if (word == "--first-seed")
            out.first_seed = number();
        else if (word == "--seed")
            out.seed = number();
        else if (fs::is_directory(word)) {
            for (const auto& entry : fs::directory_iterator(word)) out.files.push_back(entry.path());
        } else if (fs::is_regular_file(word)) {
            out.files.push_back(word);
        } else
            return false;
    }
    return true;
}

Options each_block() {
    Options options;
    options.check_every = 1;
    return options;
}

class Session {
public:
    explicit Session(Arguments arguments) : arguments_(std::move(arguments)) {}

    void play_one(std::uint64_t seed, unsigned check_every) {
        running_seed = seed;
        ::alarm(kSecondsAGame);
        Options options;
        options.check_every = check_every;
        const Played played = play_seed(seed, options, coverage_);
        ::alarm(0);
        if (!played.failure) return;
        failed_.push_back(seed);
        std::fprintf(stderr, "seed %llu failed after %zu events: %s\n", static_cast<unsigned long long>(seed),
                     played.trace.events.size(), played.failure->what());
        if (!known_.insert(played.failure->property).second) return;
        options.check_every = 8;
        const Trace shortest = shrink(played.trace, played.failure->property, options);
        const std::string name = "fuzz-chain-" + std::to_string(seed) + ".trace";
        std::ofstream(name) << "# " << played.failure->property << "\n" << to_text(shortest);
        std::fprintf(stderr, "  %zu events that do it are in %s\n", shortest.events.size(), name.c_str());
    }
    void play_trace(const fs::path& path) {
        const auto trace = read_trace(read_file(path));
        if (!trace) return refuse(path, trace.error().message);
        if (const auto failure = replay(*trace, each_block())) refuse(path, failure->what());
    }
    void play_list(const fs::path& path) {
        std::istringstream lines(read_file(path));
        for (std::string line; std::getline(lines, line);)
            if (!line.empty() && line[0] != '#') play_one(std::strtoull(line.c_str(), nullptr, 10), 1);
    }
    void play_file(const fs::path& path) {
        if (path.extension() == ".trace") return play_trace(path);
        if (path.extension() == ".txt") return play_list(path);
        const std::string bytes = read_file(path);
        retrace::fuzz::run(view(bytes));  // Ends the process on a failure.
    }
    int run() {
        for (const fs::path& path : arguments_.files) play_file(path);
        if (arguments_.seed) {
            play_one(*arguments_.seed, 1);
        } else {
            const auto start = std::chrono::steady_clock::now();
            const auto elapsed = [&] {
                return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            };
            for (std::uint64_t i = 0;
                 i < arguments_.games && coverage_.calls_in_all < arguments_.calls && elapsed() < arguments_.seconds;
                 ++i)
                play_one(arguments_.first_seed + i, 16);
            seconds_ = elapsed();
        }
        return report();
    }

private:
    void refuse(const fs::path& path, const std::string& why) {
        std::fprintf(stderr, "%s: %s\n", path.string().c_str(), why.c_str());
        ++failed_files_;
    }
    int report() const {
        const bool failed = !failed_.empty() || failed_files_ != 0;
        if (arguments_.json) {
            std::string seeds;
            for (const std::uint64_t seed : failed_) seeds += (seeds.empty() ? "" : ",") + std::to_string(seed);
            std::printf("%s,\"seconds\":%.1f,\"failed_files\":%zu,\"failed_seeds\":[%s]}\n", to_json(coverage_).c_str(),
                        seconds_, failed_files_, seeds.c_str());
        } else {
            std::printf("%s  %.1f s, %.0f calls a second\n", to_text(coverage_).c_str(), seconds_,
                        static_cast<double>(coverage_.calls_in_all) / std::max(seconds_, 1e-9));
            for (const std::string& what : never_reached(coverage_)) std::printf("  never reached: %s\n", what.c_str());
        }
        return failed ? 1 : 0;
    }

    Arguments arguments_;
    Coverage coverage_;
    std::vector<std::uint64_t> failed_;
    std::size_t failed_files_ = 0;
    std::set<std::string> known_;
    double seconds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    if (!parse(argc, argv, arguments)) {
        std::fprintf(stderr,
                     "usage: %s [--calls N] [--seconds S] [--games N] [--first-seed K] [--seed K] [--json] "
                     "[FILE|FOLDER]...\n",
                     argv[0]);
        return 2;
    }
    for (const int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) ::signal(fatal, on_fatal);
    return Session(std::move(arguments)).run();
}
