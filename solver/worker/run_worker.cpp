// SPDX-License-Identifier: MIT
// The main function of a worker process: it gives up its rights before it reads a stranger's data.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "kernels/runtime/dispatch.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/worker/messages.hpp"
#include "solver/worker/serve.hpp"

namespace retrace::solver {
namespace {

constexpr int kServed = 0, kNotConfined = 3;

std::optional<std::uint64_t> parse_number(const std::string& text) {
    std::uint64_t out = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return out;
}

bool limit(int what, rlim_t most) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(what), &now) != 0) return false;
    now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
    return ::setrlimit(static_cast<__rlimit_resource_t>(what), &now) == 0;
}

/// Makes the kernel kill this process before the one that signs when memory runs out.
void offer_to_the_oom_killer() {
    const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)!::write(file, "500", 3);
    ::close(file);
}

/// Moves the pipes to other descriptors and redirects the standard streams to /dev/null, so that output of a library
/// does not get into the channel.
std::optional<std::pair<int, int>> take_standard_streams() {
    const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in < 0 || out < 0 || nowhere < 0) return std::nullopt;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::dup2(nowhere, stream) < 0) return std::nullopt;
    ::close(nowhere);
    return std::pair(in, out);
}

Status<> confine(const WorkerLimits& limits) {
    offer_to_the_oom_killer();
    const bool files = !limits.offload.empty();
    // A limit of 0 stops no handler of core files that the kernel pipes them to.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || !limit(RLIMIT_CORE, 0) ||
        !limit(RLIMIT_FSIZE, files ? limits.disk : 0) || !limit(RLIMIT_DATA, limits.memory))
        return error("the worker's limits cannot be set");
    (void)kernels::cpu_level();  // Requests AMX registers from the kernel, which the sandbox would refuse.
    return limits.sandbox ? enter_sandbox(files) : Status<>(Unit{});
}

/// The runner of a worker that offloads has its files before it is confined: one for the state, and one for what moves of
/// the activations in steps, and in traces.
Result<WorkerRunner> runner_within(const WorkerLimits& limits, const WorkerRunner& make_runner) {
    constexpr std::size_t kFiles = 3;
    if (limits.offload.empty()) return make_runner;
    RETRACE_TRY(files, kernels::ScratchFolder::opened(limits.offload, kFiles));
    return offloading_worker_runner(std::move(files), limits.share, make_runner);
}

/// Starts a thread that ends the process when the party closes the pipe, also in the middle of a long op.
void end_with(int input) {
    std::thread([input] {
        for (;;) {
            pollfd gone{input, 0, 0};
            if (::poll(&gone, 1, -1) > 0) ::_exit(kServed);
        }
    }).detach();
}

}  // namespace

std::vector<std::string> words_of(const WorkerLimits& limits) {
    std::vector<std::string> words{std::to_string(limits.memory), std::to_string(limits.threads),
                                   limits.sandbox ? "sandbox" : "open", "memory"};
    if (limits.offload.empty()) return words;
    words.back() = "disk";
    for (const std::uint64_t bytes : {limits.share, limits.disk}) words.push_back(std::to_string(bytes));
    words.push_back(limits.offload.string());
    return words;
}

std::optional<WorkerLimits> parse_worker_limits(const std::vector<std::string>& words) {
    if (words.size() < 4) return std::nullopt;
    const auto memory = parse_number(words[0]), threads = parse_number(words[1]);
    constexpr std::uint64_t kThreadsMax = 1024;
    if (!memory || !threads || *threads > kThreadsMax || (words[2] != "sandbox" && words[2] != "open"))
        return std::nullopt;
    WorkerLimits out{*memory, static_cast<unsigned>(*threads), words[2] == "sandbox", {}, 0, 0};
    if (words[3] == "memory") return out;
    if (words[3] != "disk" || words.size() < 7 || words[6].empty()) return std::nullopt;
    const auto share = parse_number(words[4]), disk = parse_number(words[5]);
    if (!share || !disk) return std::nullopt;
    out.share = *share;
    out.disk = *disk;
    out.offload = words[6];
    return out;
}

int run_worker(const WorkerLimits& limits, const WorkerRunner& make_runner) {
    const auto streams = take_standard_streams();
    if (!streams) return kNotConfined;
    Channel channel(streams->first, streams->second);
    const auto refuse = [&](const Error& why) {
        channel.send(encode(WorkerReply(Failed{false, why.message})));
        channel.flush();
        return kNotConfined;
    };
    const auto runner = runner_within(limits, make_runner);
    if (!runner) return refuse(runner.error());
    if (const auto confined = confine(limits); !confined) return refuse(confined.error());
    end_with(channel.input());
    kernels::ThreadPool pool(limits.threads);
    serve(channel, pool, *runner);
    // Not exit(), which would run destructors and exit handlers while the other thread still waits.
    ::_exit(kServed);
}

}  // namespace retrace::solver
