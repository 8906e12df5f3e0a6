// SPDX-License-Identifier: MIT
// The driver of builds without libFuzzer: the seeds, the inputs kept in the corpus folder, then a bounded number of
// seeded mutations. With a file as argument it runs that input alone.
//
//   fuzz_NAME [--seconds S] [--runs N] [--first-run K] [FILE|FOLDER]…
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/driver/mutate.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace {

using retrace::Bytes;
namespace fs = std::filesystem;

constexpr unsigned kSecondsAnInput = 20;  // Longer inputs are failures, because an attacker could send them.

struct Options {
    double seconds = 1.0;
    std::uint64_t runs = 20'000, first_run = 0;
    std::vector<Bytes> kept;
};

// The current input, for the handler of fatal signals.
const Bytes* running = nullptr;
std::uint64_t running_number = 0;

Bytes read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Saves the input that caused the signal. Uses only async-signal-safe calls, except to print the number.
void on_fatal(int signal_number) {
    const char kPath[] = "fuzz-crash.bin";
    if (running != nullptr) {
        std::fprintf(stderr, "fatal signal %d in run %llu; its input is in %s\n", signal_number,
                     static_cast<unsigned long long>(running_number), kPath);
        if (std::FILE* out = std::fopen(kPath, "wb")) {
            std::fwrite(running->data(), 1, running->size(), out);
            std::fclose(out);
        }
    }
    ::signal(signal_number, SIG_DFL);
    ::raise(signal_number);
}

void run_one(const Bytes& input) {
    running = &input;
    ::alarm(kSecondsAnInput);
    retrace::fuzz::run(input);
    running = nullptr;
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.starts_with("--") && i + 1 == argc) return false;
        if (word == "--seconds")
            options.seconds = std::strtod(argv[++i], nullptr);
        else if (word == "--runs")
            options.runs = std::strtoull(argv[++i], nullptr, 10);
        else if (word == "--first-run")
            options.first_run = std::strtoull(argv[++i], nullptr, 10);
        else if (fs::is_directory(word)) {
            for (const auto& entry : fs::directory_iterator(word)) options.kept.push_back(read_file(entry.path()));
        } else if (fs::is_regular_file(word)) {
            options.kept.push_back(read_file(word));
            options.runs = 0;
        } else
            return false;
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr, "usage: %s [--seconds S] [--runs N] [--first-run K] [FILE|FOLDER]...\n", argv[0]);
        return 2;
    }
    for (const int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) ::signal(fatal, on_fatal);
    for (const Bytes& input : options.kept) run_one(input);
    if (options.runs == 0) return 0;
    std::vector<Bytes> corpus = retrace::fuzz::seeds();
    for (const Bytes& input : corpus) run_one(input);
    corpus.insert(corpus.end(), options.kept.begin(), options.kept.end());
    if (corpus.empty()) corpus.emplace_back();

    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::uint64_t done = 0;
    for (; done < options.runs && elapsed() < options.seconds; ++done) {
        running_number = options.first_run + done;
        retrace::fuzz::Random random(running_number);  // The generator depends only on the number of the run, so that a
                                                       // single run can be repeated.
        run_one(retrace::fuzz::mutate(corpus, random));
    }
    std::printf("%zu seeds, %llu mutations, %.2f s\n", corpus.size(), static_cast<unsigned long long>(done), elapsed());
    return 0;
}
