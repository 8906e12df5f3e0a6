// SPDX-License-Identifier: MIT
#include "node/tasks/torch_tool.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "merkle/base/durable_file.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/initial_state.hpp"
#include "solver/import/mapping.hpp"

extern char** environ;

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

Result<fs::path> tool() {
    std::error_code code;
    const fs::path self = fs::read_symlink("/proc/self/exe", code);
    const fs::path found = self.parent_path() / "retrace-torch";
    if (!code && ::access(found.c_str(), X_OK) == 0) return found;
    return error(
        "this build has no retrace-torch, which reads TorchScript; install libtorch-dev and libseccomp-dev and "
        "build again (built-in models need neither)");
}

/// A temporary folder that the destructor removes.
class Scratch {
public:
    Scratch() {
        std::string pattern = (fs::temp_directory_path() / "retrace-torch-XXXXXX").string();
        if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    }
    ~Scratch() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    const fs::path& path() const noexcept { return path_; }

private:
    fs::path path_;
};

std::string read_all(int descriptor) {
    constexpr std::size_t kMost = 64 << 10;
    std::string out;
    std::array<char, 4096> buffer;
    for (;;) {
        const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
        if (count <= 0) return out;
        if (out.size() < kMost) out.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

/// Runs the tool. Its standard error holds the message of a failure, or warnings; output of the model is discarded.
Status<> run(std::vector<std::string> words) {
    RETRACE_TRY(program, tool());
    words.insert(words.begin(), program.string());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) return error("no pipe to retrace-torch");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    ::posix_spawn_file_actions_addclose(&actions, pipe[0]);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    std::string said = failed == 0 ? read_all(pipe[0]) : std::string();
    ::close(pipe[0]);
    if (failed != 0) return error("retrace-torch does not start");
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        std::cerr << said;  // Warnings of the tool; output of the model is discarded.
        return Unit{};
    }
    while (!said.empty() && said.back() == '\n') said.pop_back();
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
        return error(
            "retrace-torch was stopped while it read the model: forward() takes more time or memory than a "
            "model may (twenty minutes of a processor, three quarters of the memory)");
    }
    if (WIFSIGNALED(status)) {
        return error("LibTorch ended with signal " + std::to_string(WTERMSIG(status)) +
                     " while it read the model; the file may be corrupt");
    }
    return error(said.empty() ? "retrace-torch failed" : said);
}

std::string batch_text(const ModelInput& input, std::uint64_t batch) {
    std::string out = (input.tokens ? "tokens:" : "f32:") + std::to_string(batch);
    for (const std::uint64_t extent : input.sample) out += "x" + std::to_string(extent);
    return out;
}

}  // namespace

Result<solver::RecordedModel> record_model(const fs::path& model, const ModelInput& input, bool require_sandbox) {
    const Scratch scratch;
    if (scratch.path().empty()) return error("no folder for temporary files");
    const fs::path out = scratch.path() / "recording";
    std::vector<std::string> words{"record", model.string(), out.string(), batch_text(input, input.batch),
                                   batch_text(input, input.eval_batch)};
    if (require_sandbox) words.insert(words.begin(), "--require-sandbox");
    RETRACE_CHECK(run(std::move(words)));
    RETRACE_TRY(bytes, read_file(out, kDataBytesMax));
    auto recorded = solver::decode_recording(bytes);
    if (recorded) {
        for (const std::string& sentence : solver::fixed_modes(*recorded)) std::cerr << "warning: " << sentence << '\n';
    }
    return recorded;
}

Status<> export_model(const fs::path& model, const std::vector<solver::NamedTensor>& tensors, std::uint64_t steps,
                      const fs::path& out) {
    const Scratch scratch;
    if (scratch.path().empty()) return error("no folder for temporary files");
    const fs::path file = scratch.path() / "tensors.safetensors";
    RETRACE_CHECK(write_initial_state(tensors, file));
    return run({"export", model.string(), file.string(), out.string(), std::to_string(steps)});
}

}  // namespace retrace::node
