// SPDX-License-Identifier: MIT
// `bench_train [--json] [--rounds N] [--only ROW]`: whole training steps on all cores compared with LibTorch's (a
// separate process, tests/bench/peers/torch_train.cpp) and, in the same run, with those of the newest PyTorch where
// `./dev bench` installed it (peers/newest_torch.py, eager and compiled), alternating samples, medians of wall time; the commitment of
// the whole state compared with 100 training steps; the memory of a step compared with the peer's peak growth; and our
// speed while other work of nice 19 runs on every core, as on people's own machines.
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/builder/training.hpp"
#include "kernels/commit/committer.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "tests/bench/rows.hpp"
#include "tests/bench/train_models.hpp"

namespace retrace::bench {
namespace {

using kernels::DType;
using kernels::Tensor;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A process that answers each line with a line; without a program there is no peer.
class Peer {
public:
    explicit Peer(const std::vector<std::string>& command) {
        int to[2], from[2];
        if (command.empty() || command[0].empty() || pipe2(to, O_CLOEXEC) != 0 ||
            pipe2(from, O_CLOEXEC) != 0)  // otherwise the next peer would keep this one's input open
            return;
        child_ = fork();
        if (child_ == 0) {
            dup2(to[0], 0);
            dup2(from[1], 1);
            std::vector<char*> arguments;
            for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
            arguments.push_back(nullptr);
            execv(arguments[0], arguments.data());
            _exit(127);
        }
        close(to[0]);
        close(from[1]);
        in_ = fdopen(to[1], "w");
        out_ = fdopen(from[0], "r");
        std::setvbuf(in_, nullptr, _IOLBF, BUFSIZ);
        ask("step 1");
    }
    ~Peer() {
        if (in_ != nullptr) std::fclose(in_);
        if (out_ != nullptr) std::fclose(out_);
        if (child_ > 0) waitpid(child_, nullptr, 0);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    bool present() const { return out_ != nullptr && alive_; }
    double ask(const std::string& line) { return std::strtod(answer(line).c_str(), nullptr); }
    std::string answer(const std::string& line) {
        char text[64] = "";
        if (in_ == nullptr || std::fprintf(in_, "%s\n", line.c_str()) < 0 ||
            std::fgets(text, sizeof text, out_) == nullptr)
            alive_ = false;
        return std::string(text, std::strcspn(text, "\n"));
    }

private:
    pid_t child_ = -1;
    FILE* in_ = nullptr;
    FILE* out_ = nullptr;
    bool alive_ = true;
};

struct Job {
    std::string name;  ///< Name of the row.
    std::string unit;
    double units = 0;                ///< Units per step.
    int steps = 1;                   ///< Steps per sample.
    std::vector<std::string> peers;  ///< Models of the peers; the fastest one counts.
    kernels::ModelSpec model;
    kernels::TrainingSpec training;
    Tensor x, y;
};

Tensor noise(kernels::Dims dims, std::uint32_t below) {
    Tensor out = kernels::zeros(DType::u8, std::move(dims));
    std::uint32_t state = 1;
    for (std::uint8_t& byte : out.data) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::uint8_t>((state >> 16) % below);
    }
    return out;
}

/// Reads an IDX file of Debian's dataset-fashion-mnist. Its pixels do not affect the amount of work, so noise can
/// replace it.
bool read_idx(const std::string& name, std::size_t header, Bytes& out) {
    const std::string command = "gzip -dc /usr/share/datasets/fashion-mnist/" + name + ".gz 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    Bytes head(header), body(out.size());
    if (!pipe || std::fread(head.data(), 1, header, pipe.get()) != header) return false;
    if (std::fread(body.data(), 1, body.size(), pipe.get()) != body.size()) return false;
    out = std::move(body);
    return true;
}

Job gpt_job() {
    Job job{"train_gpt", "tokens/s", GptSizes::batch * GptSizes::tokens, 1, {"gpt"}, {}, {}, {}, {}};
    job.model = {"gpt",           {}, {GptSizes::tokens}, GptSizes::vocabulary, GptSizes::width, GptSizes::layers,
                 GptSizes::heads, 4};
    job.training.samples = 256;
    job.training.batch = GptSizes::batch;
    job.x = noise({256, GptSizes::tokens}, GptSizes::vocabulary);
    job.y = noise({256, GptSizes::tokens}, GptSizes::vocabulary);
    return job;
}

Job cnn_job() {
    constexpr std::uint64_t kSamples = 4096;
    Job job{"train_cnn", "images/s", CnnSizes::batch, 20, {"cnn", "cnn-channels-last"}, {}, {}, {}, {}};
    job.model.kind = "lenet";
    job.model.input = {1, CnnSizes::side, CnnSizes::side};
    job.model.classes = CnnSizes::classes;
    job.training.samples = kSamples;
    job.training.batch = CnnSizes::batch;
    job.x = noise({kSamples, 1, CnnSizes::side, CnnSizes::side}, 256);
    job.y = noise({kSamples}, CnnSizes::classes);
    if (!read_idx("train-images-idx3-ubyte", 16, job.x.data) || !read_idx("train-labels-idx1-ubyte", 8, job.y.data))
        std::fprintf(stderr, "train_cnn: noise in place of Fashion-MNIST (package dataset-fashion-mnist)\n");
    return job;
}

/// Never returns: keeps every core busy at the lowest priority, by endless loops or by threads that wake and sleep every
/// millisecond, twice as many as cores.
int do_other_work(bool waking) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (nice(19) == -1) return 1;
    const auto work = [waking] {
        volatile std::uint64_t x = 1;
        for (;;) {
            const double end = now() + 1e-3;
            while (now() < end) x = x * 6364136223846793005u + 1;
            if (waking) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    std::vector<std::thread> all;
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency()) * (waking ? 2 : 1);
    for (unsigned i = 0; i < threads; ++i) all.emplace_back(work);
    for (std::thread& one : all) one.join();
    return 0;
}

/// Other work while it lives, in a program of its own: a fork would share this process's memory, and each page that a
/// step writes would be copied.
class OtherWork {
public:
    explicit OtherWork(bool waking) {
        std::string program = "/proc/self/exe", option = waking ? "--waking" : "--looping";
        char* const arguments[] = {program.data(), option.data(), nullptr};
        if (posix_spawn(&child_, program.c_str(), nullptr, nullptr, arguments, environ) != 0) child_ = -1;
    }
    ~OtherWork() {
        if (child_ <= 0) return;
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    OtherWork(const OtherWork&) = delete;
    OtherWork& operator=(const OtherWork&) = delete;

private:
    pid_t child_ = -1;
};

/// The fastest peer of one kind.
struct Fastest {
    double step = 0, bytes = 0;  ///< Seconds a step, 0 if there is no peer; its peak memory.
    std::string name;            ///< Model, form and version.

    void take(Peer& peer, const std::string& peer_name, std::vector<double> seconds) {
        if (!peer.present()) return;
        const double mine = median(std::move(seconds));
        if (step == 0 || mine < step) step = mine, bytes = peer.ask("memory"), name = peer_name;
    }
};

struct Measured {
    double step = 0, commit = 0, bytes = 0;
    double loaded = 0;  ///< Our lowest speed of five beside other work, over the quiet speed just before.
    Fastest libtorch, newest;
};

struct RunningPeer {
    bool newest;
    std::string name;
    std::unique_ptr<Peer> peer;
    std::vector<double> seconds;
};

/// Starts LibTorch with each of the models, and the newest PyTorch with each of them, eager and compiled.
std::vector<RunningPeer> start_peers(const std::vector<std::string>& models) {
    std::vector<RunningPeer> out;
    for (const std::string& model : models) {
        const std::vector<std::string> command = {program_beside("bench_peer_torch"), model};
        out.push_back({false, model, std::make_unique<Peer>(command), {}});
    }
    const bool installed = access(RETRACE_NEWEST_TORCH "/complete", F_OK) == 0;
    for (const std::string& model : installed ? models : std::vector<std::string>{}) {
        for (const char* const form : {"eager", "compiled"}) {
            auto peer = std::make_unique<Peer>(
                std::vector<std::string>{RETRACE_NEWEST_TORCH "/bin/python", RETRACE_NEWEST_TORCH_PEER, model, form});
            const std::string name = "PyTorch " + peer->answer("version") + " fp32 " + form + ", " + model;
            out.push_back({true, name, std::move(peer), {}});
        }
    }
    return out;
}

/// Returns the lowest of five speeds beside either kind of other work, each over the speed without it just before. Every
/// sample takes at least a second.
double loaded_share(const std::function<double()>& seconds_of_steps) {
    double worst = 1e9;
    const auto seconds_of_a_step = [&] {
        const double begin = now();
        int samples = 0;
        double sum = 0;
        do {
            sum += seconds_of_steps();
            ++samples;
        } while (now() < begin + 1);
        return sum / samples;
    };
    for (const bool waking : {false, true}) {
        for (int sample = 0; sample < 5; ++sample) {
            const double quiet = seconds_of_a_step();
            const OtherWork other(waking);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const double share = quiet / seconds_of_a_step();
            std::fprintf(stderr, "%s %d: %.3f of the quiet speed\n", waking ? "waking threads" : "loops", sample,
                         share);
            worst = std::min(worst, share);
        }
    }
    return worst;
}

Measured measure(const Job& job, int rounds, bool loaded) {
    const kernels::TrainingPrograms programs =
        *kernels::build_training(job.model, job.training, job.training.samples, 1);
    kernels::ThreadPool pool;
    kernels::State state = kernels::run_initialiser(programs.init, 1, pool);
    kernels::Executor executor(programs.train, pool);
    const kernels::Inputs inputs{1, {&job.x, &job.y}};
    const Hash32 root = kernels::CommittedProgram(programs.train).root();
    std::vector<RunningPeer> peers = start_peers(job.peers);
    executor.step(state, inputs);
    std::vector<double> ours, commits;
    const auto seconds_of_a_step = [&] {
        const double begin = now();
        for (int i = 0; i < job.steps; ++i) executor.step(state, inputs);
        return (now() - begin) / job.steps;
    };
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(seconds_of_a_step());
        for (RunningPeer& one : peers) {
            one.seconds.push_back(one.peer->ask("step " + std::to_string(job.steps)) / job.steps);
        }
        const double begin = now();
        kernels::commit_state(root, state, pool);
        commits.push_back(now() - begin);
    }
    Measured out;
    if (loaded) out.loaded = loaded_share(seconds_of_a_step);
    out.step = median(ours);
    out.commit = median(commits);
    out.bytes = static_cast<double>(executor.planned_bytes() + kernels::StateCommitter::planned_bytes(programs.train));
    for (const Tensor& tensor : state.tensors) out.bytes += static_cast<double>(tensor.data.size());
    for (RunningPeer& one : peers) (one.newest ? out.newest : out.libtorch).take(*one.peer, one.name, one.seconds);
    std::fprintf(stderr,
                 "%s: %.4f s a step, LibTorch %.4f s, newest PyTorch %.4f s; state committed in %.4f s; %.1f MB, "
                 "LibTorch %.1f MB\n",
                 job.name.c_str(), out.step, out.libtorch.step, out.newest.step, out.commit, out.bytes * 1e-6,
                 out.libtorch.bytes * 1e-6);
    return out;
}

Job without_peers(Job job) {
    job.peers.clear();
    return job;
}

/// Measures both models, or only the row `only`.
std::vector<Row> measure_all(int rounds, const std::string& only) {
    const std::vector<Job> jobs = {gpt_job(), cnn_job()};
    std::vector<Row> rows;
    std::vector<Measured> measured;
    for (const Job& job : jobs) {
        if (!only.empty() && !only.starts_with(job.name)) continue;
        const bool alone = only == job.name + "_loaded", loaded = only.empty() || alone;
        const Measured m = measure(alone ? without_peers(job) : job, rounds, loaded);
        if (loaded) rows.push_back({job.name + "_loaded", "of the quiet speed", "nothing beside it", m.loaded, 1});
        if (alone) return rows;
        const auto add = [&](const std::string& name, const Fastest& peer, const std::string& label) {
            rows.push_back({name, job.unit, peer.step > 0 ? label : "peer missing", job.units / m.step,
                            peer.step > 0 ? job.units / peer.step : 0});
        };
        add(job.name, m.libtorch, "LibTorch fp32 eager");
        add(job.name + "_newest", m.newest, m.newest.name);
        measured.push_back(m);
    }
    const auto share = [](const Measured& m) { return m.commit / (100 * m.step); };
    if (measured.empty()) return rows;
    const Measured& worst = share(measured.front()) > share(measured.back()) ? measured.front() : measured.back();
    rows.push_back({"commit_share", "s", "100 training steps", worst.commit, 100 * worst.step});
    const Measured& gpt = measured.front();  // the first, or the only one
    rows.push_back({"peak_memory", "MB", gpt.libtorch.bytes > 0 ? "LibTorch fp32 eager" : "peer missing",
                    gpt.bytes * 1e-6, gpt.libtorch.bytes * 1e-6});
    return rows;
}

int run(const std::vector<std::string>& arguments) {
    bool json = false, lines = false;
    int rounds = 5;
    std::string only;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--looping" || arguments[i] == "--waking") return do_other_work(arguments[i] == "--waking");
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--rows")  // for bench_kernels
            lines = true;
        else if (arguments[i] == "--only" && i + 1 < arguments.size())
            only = arguments[++i];
        else if (arguments[i] == "--rounds" && i + 1 < arguments.size())
            rounds = std::max(1, std::atoi(arguments[++i].c_str()));
        else
            return std::fputs("usage: bench_train [--json] [--rounds N] [--only ROW]\n", stderr), 2;
    }
    const std::vector<Row> rows = measure_all(rounds, only);
    if (lines) {
        for (const Row& row : rows) print_row(row);
    } else {
        report("all cores", rows, json);
    }
    return 0;
}

/// OpenBLAS takes a processor that is newer than itself for a much older one, which makes LibTorch's products several
/// times slower than necessary, so the peer's process is told the type. Existing variables are replaced because they
/// are meant for programs that run anywhere: another core type, or a smaller cache size, would favour our results.
void tell_openblas() {
    const kernels::CpuLevel best = kernels::cpu_levels().back();
    ::unsetenv("OPENBLAS_L2_SIZE");
    if (best < kernels::CpuLevel::avx2 || best >= kernels::CpuLevel::neon) return;
    ::setenv("OPENBLAS_CORETYPE", best < kernels::CpuLevel::avx512 ? "Haswell" : "SkylakeX", 1);
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a dead peer counts as missing and does not end this process
    retrace::bench::tell_openblas();
    return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
