// SPDX-License-Identifier: MIT
// `bench_offload [--json] [--rounds N] [--folder DIR]`: steps of a GPT whose state is four times the memory that they
// have, beside the most that its transfers and its arithmetic allow: the bytes that a step reads and writes at the speed of the
// disk, or a step with everything in memory, whichever takes longer. All three are measured in turn. The process that
// steps cannot take more memory (RLIMIT_DATA), and its file bypasses the page cache.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "kernels/builder/training.hpp"
#include "kernels/offload/offloaded_executor.hpp"
#include "tests/bench/rows.hpp"

namespace retrace::bench {
namespace {

using kernels::Tensor;

constexpr std::uint64_t kStateInMemories = 4;
constexpr std::uint64_t kTokens = 32;  ///< Few, so that transfers take longer than arithmetic, even beside other work.

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Job {
    kernels::TrainingPrograms programs;
    Tensor x = kernels::zeros(kernels::DType::u8, {64, kTokens}), y = x;

    Job() {
        const kernels::ModelSpec model{"gpt", {}, {kTokens}, 256, 512, 8, 8, 4};
        kernels::TrainingSpec training;
        training.samples = 64;
        training.batch = 1;
        programs = *kernels::build_training(model, training, training.samples, 1);
        for (std::size_t i = 0; i < x.data.size(); ++i) {
            x.data[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
            y.data[i] = static_cast<std::uint8_t>(i * 2246822519u >> 24);
        }
    }
    kernels::Inputs inputs() const { return {1, {&x, &y}}; }
    std::uint64_t state_bytes() const {
        std::uint64_t sum = 0;
        for (std::uint32_t s = 0; s < programs.train.states; ++s) {
            const kernels::TensorRecord& record = programs.train.tensors[s];
            sum += kernels::geometry(record.dims).elements() * kernels::size_of(record.dtype);
        }
        return sum;
    }
};

/// What a process measured, for the process that started it.
struct Sample {
    double step = 0, waited = 0, bytes_read = 0, bytes_written = 0, peak = 0;
    bool direct = false, failed = false;
};

/// A process that makes a step for each byte that it is sent.
class Stepper {
public:
    explicit Stepper(const std::function<void(int in, int out)>& body) {
        int to[2], from[2];
        if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
        child_ = fork();
        if (child_ == 0) {
            close(to[1]);
            close(from[0]);
            body(to[0], from[1]);
            _exit(0);
        }
        close(to[0]);
        close(from[1]);
        in_ = to[1];
        out_ = from[0];
    }
    ~Stepper() {
        close(in_);
        close(out_);
        waitpid(child_, nullptr, 0);
    }
    Stepper(const Stepper&) = delete;
    Stepper& operator=(const Stepper&) = delete;

    Sample step() {
        Sample sample;
        const char go = 1;
        if (write(in_, &go, 1) != 1 || read(out_, &sample, sizeof sample) != sizeof sample) sample.failed = true;
        return sample;
    }

private:
    pid_t child_ = -1;
    int in_ = -1, out_ = -1;
};

void serve(int in, int out, const std::function<Sample()>& step) {
    for (char go = 0; read(in, &go, 1) == 1;) {
        const Sample sample = step();
        if (write(out, &sample, sizeof sample) != sizeof sample) return;
    }
}

void step_in_memory(const Job& job, int in, int out) {
    kernels::ThreadPool pool;
    kernels::State state = kernels::run_initialiser(job.programs.init, 1, pool);
    kernels::Executor executor(job.programs.train, pool);
    serve(in, out, [&] {
        const double begin = now();
        executor.step(state, job.inputs());
        Sample sample;
        sample.step = now() - begin;
        return sample;
    });
}

double peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024;
}

void step_offloaded(const Job& job, const std::string& folder, std::uint64_t memory, int in, int out) {
    kernels::ThreadPool pool;
    constexpr std::uint64_t kOther = 64 << 20;  // Stacks of three threads, programs, plans, buffers of one tensor.
    const rlimit limit{memory + kOther, memory + kOther};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) std::perror("RLIMIT_DATA");
    auto made = kernels::OffloadedExecutor::create(job.programs.train, pool, {std::filesystem::path(folder), memory});
    if (!made) return std::fprintf(stderr, "%s\n", made.error().message.c_str()), void();
    const std::unique_ptr<kernels::OffloadedExecutor> train = std::move(*made);
    if (const auto put = train->put_initialised(job.programs.init, 1); !put)
        return std::fprintf(stderr, "%s\n", put.error().message.c_str()), void();
    train->begin(0, job.inputs());
    serve(in, out, [&] {
        const double begin = now();
        train->advance();
        return Sample{now() - begin,
                      train->seconds_waited(),
                      static_cast<double>(train->bytes_read()),
                      static_cast<double>(train->bytes_written()),
                      peak_bytes(),
                      train->direct()};
    });
}

/// Bytes a second of the disk, with pieces that are large enough for any disk: written, then read.
std::pair<double, double> disk_speed(const std::string& folder) {
    constexpr std::uint64_t kPiece = 4 << 20, kPieces = 64;
    const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);
    if (file < 0 || posix_fallocate(file, 0, kPiece * kPieces) != 0) return {0, 0};
    const kernels::Pages piece = kernels::take_pages(kPiece);
    for (std::uint64_t i = 0; i < kPiece; ++i) piece.get()[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
    const auto seconds = [&](auto transfer) {
        const double begin = now();
        for (std::uint64_t i = 0; i < kPieces; ++i)
            if (transfer(static_cast<off_t>(i * kPiece)) != static_cast<ssize_t>(kPiece)) return 0.0;
        return now() - begin;
    };
    const double writing = seconds([&](off_t at) { return pwrite(file, piece.get(), kPiece, at); });
    const double reading = seconds([&](off_t at) { return pread(file, piece.get(), kPiece, at); });
    close(file);
    const double bytes = kPiece * kPieces;
    return {writing > 0 ? bytes / writing : 0, reading > 0 ? bytes / reading : 0};
}

Row measure(const std::string& folder, int rounds) {
    const Job job;
    const std::uint64_t memory = job.state_bytes() / kStateInMemories;
    Stepper whole([&](int in, int out) { step_in_memory(job, in, out); });
    Stepper offloaded([&](int in, int out) { step_offloaded(job, folder, memory, in, out); });
    Row row{"offload_disk", "steps/s", "limit of transfers or arithmetic", 0, 0};
    whole.step();
    if (offloaded.step().failed) {
        row.peer = std::string(kFailed) + "the offloaded process ended";
        return row;
    }
    std::vector<double> steps, limits;
    for (int round = 0; round < rounds; ++round) {
        const auto [written, read] = disk_speed(folder);
        const double compute = whole.step().step;
        const Sample sample = offloaded.step();
        if (sample.failed || written == 0 || read == 0) {
            row.peer = std::string(kFailed) + "no disk that bypasses the page cache";
            return row;
        }
        const double transfers = sample.bytes_read / read + sample.bytes_written / written;
        std::fprintf(
            stderr,
            "%d: step %.3f s (waited %.3f), in memory %.3f s, transfers %.3f s: %.0f MB at %.2f GB/s read, %.0f MB "
            "at %.2f GB/s written; peak %.0f MB, memory %.0f MB, state %.0f MB%s\n",
            round, sample.step, sample.waited, compute, transfers, sample.bytes_read * 1e-6, read * 1e-9,
            sample.bytes_written * 1e-6, written * 1e-9, sample.peak * 1e-6, static_cast<double>(memory) * 1e-6,
            static_cast<double>(job.state_bytes()) * 1e-6, sample.direct ? "" : ", through the page cache");
        steps.push_back(sample.step);
        limits.push_back(std::max(compute, transfers));
    }
    row.value = 1 / median(steps);
    row.peer_value = 1 / median(limits);
    return row;
}

int run(const std::vector<std::string>& arguments) {
    bool json = false;
    int rounds = 5;
    std::string folder = "/var/tmp";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--folder" && i + 1 < arguments.size())
            folder = arguments[++i];
        else if (arguments[i] == "--rounds" && i + 1 < arguments.size())
            rounds = std::max(1, std::atoi(arguments[++i].c_str()));
        else
            return std::fputs("usage: bench_offload [--json] [--rounds N] [--folder DIR]\n", stderr), 2;
    }
    report("all cores", {measure(folder, rounds)}, json);
    return 0;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
