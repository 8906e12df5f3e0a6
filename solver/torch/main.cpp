// SPDX-License-Identifier: MIT
// retrace-torch: the only program that loads LibTorch. `retrace` runs it; users need not call it.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/program/limits.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/torch/confined.hpp"
#include "solver/torch/torch_model.hpp"

namespace retrace::solver {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: retrace-torch [OPTION] record MODEL.pt OUT TRAIN EVAL\n"
    "       retrace-torch [OPTION] export MODEL.pt TENSORS.safetensors OUT.pt STEPS\n"
    "\n"
    "record: runs forward() on a batch of samples in each mode and writes down what it computes.\n"
    "        TRAIN, EVAL: shapes of the batches, as f32:32x1x28x28 or tokens:8x128\n"
    "export: writes the model again, with the given tensors in place of its own, after STEPS steps.\n"
    "options:\n"
    "  --require-sandbox  fail where the kernel cannot sandbox the process that reads the model\n"
    "  --help             this\n"
    "exit status: 0 done, 1 failed, 2 wrong usage\n";

struct Arguments {
    bool export_it = false, require_sandbox = false;
    fs::path model, out;
    SampleBatch train, eval;  ///< record
    fs::path tensors;         ///< export
    std::uint64_t steps = 0;  ///< export
};

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return out;
}

std::optional<SampleBatch> parse_batch(std::string_view text) {
    SampleBatch out;
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    if (colon == std::string_view::npos || (kind != "f32" && kind != "tokens")) return std::nullopt;
    out.tokens = kind == "tokens";
    for (std::size_t at = colon + 1; at <= text.size();) {
        const std::size_t end = std::min(text.find('x', at), text.size());
        const auto extent = parse_number(text.substr(at, end - at));
        if (!extent || *extent == 0) return std::nullopt;
        out.dims.push_back(*extent);
        at = end + 1;
    }
    if (!kernels::check_dims(out.dims)) return std::nullopt;
    return out;
}

std::optional<Arguments> parse(std::vector<std::string> words) {
    Arguments out;
    out.require_sandbox = std::erase(words, "--require-sandbox") > 0;
    if (words.size() != 5) return std::nullopt;
    out.model = words[1];
    if (words[0] == "record") {
        const auto train = parse_batch(words[3]), eval = parse_batch(words[4]);
        if (!train || !eval) return std::nullopt;
        out.out = words[2];
        out.train = *train;
        out.eval = *eval;
        return out;
    }
    const auto steps = parse_number(words[4]);
    if (words[0] != "export" || !steps) return std::nullopt;
    out.export_it = true;
    out.tensors = words[2];
    out.out = words[3];
    out.steps = *steps;
    return out;
}

/// Limits this process, because a stranger's model may compute for ever or allocate all memory: twenty minutes of
/// processor time, three quarters of the machine's memory (at least 2 GiB), and no core file.
void limit_this_process() {
    const auto at_most = [](auto what, rlim_t most) {
        rlimit limit{};
        if (::getrlimit(what, &limit) != 0) return;
        limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_max, most);
        (void)::setrlimit(what, &limit);
    };
    const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    constexpr rlim_t kLeast = rlim_t{2} << 30;
    if (pages > 0 && size > 0)
        at_most(RLIMIT_DATA, std::max(kLeast, static_cast<rlim_t>(pages) * static_cast<rlim_t>(size) / 4 * 3));
    at_most(RLIMIT_CPU, 20 * 60);
    at_most(RLIMIT_CORE, 0);
}

/// Leaves only the three standard streams open: the model must not reach files that the parent process left open.
/// Missing streams become /dev/null, because a file opened in place of one would get the messages.
void keep_standard_streams_only() {
    int opened = 0;
    while (opened >= 0 && opened <= STDERR_FILENO) opened = ::open("/dev/null", O_RDWR);
    ::closefrom(STDERR_FILENO + 1);
}

/// An output file that gets its name only once it is complete and checked (`keep`); otherwise it is removed.
class Draft {
public:
    explicit Draft(const fs::path& out) : out_(out), partial_(out.string() + ".partial") {
        std::error_code ignored;
        fs::remove(partial_, ignored);
        stream_.open(partial_, std::ios::binary);
    }
    ~Draft() {
        std::error_code ignored;
        if (!kept_) fs::remove(partial_, ignored);
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    std::ofstream& stream() { return stream_; }
    std::ifstream again() const { return std::ifstream(partial_, std::ios::binary); }
    Status<> keep() {
        std::error_code code;
        fs::rename(partial_, out_, code);
        if (code) return error(out_.string() + ": " + code.message());
        kept_ = true;
        return Unit{};
    }

private:
    const fs::path out_, partial_;
    std::ofstream stream_;
    bool kept_ = false;
};

Bytes bytes_of(std::ifstream& in) { return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}; }

Status<> write_flushed(std::ostream& out, View bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) return error("what is recorded cannot be written, or is much longer than the file");
    return Unit{};
}

Status<> check_written(const Arguments& arguments, const Draft& draft) {
    std::ifstream in = draft.again();
    if (arguments.export_it) {
        char head[2] = {0, 0};
        if (!in.read(head, 2) || head[0] != 'P' || head[1] != 'K')
            return error(arguments.out.string() + ": what was written is no TorchScript file");
        return Unit{};
    }
    const auto recording = decode_recording(bytes_of(in));
    if (!recording) return error(arguments.model.string() + ": " + recording.error().message);
    return Unit{};
}

/// Eight times the input plus 1 GiB: the recordings of both modes hold each number, in four bytes. A recording is
/// hardly ever longer, except for large constants that forward() creates.
std::uint64_t longest_output(std::uint64_t bytes_read) {
    return kernels::saturating_add(kernels::saturating_mul(bytes_read, 8), std::uint64_t{1} << 30);
}

/// Opens the files in this process and reads the model in the confined child, which can open no others.
Status<> run(const Arguments& arguments) {
    Allowance allowance;
    allowance.sandbox = sandbox_is_supported();
    if (!allowance.sandbox) {
        const std::string why = "no sandbox: this kernel has no seccomp filters for this processor";
        if (arguments.require_sandbox) {
            return error(why +
                         "; read the model on a machine whose kernel has them (CONFIG_SECCOMP_FILTER), or "
                         "leave out --require-sandbox");
        }
        std::cerr << "warning: " << why << "; the model is read with the rights of this user\n";
    }
    std::error_code code;
    std::uint64_t bytes_read = fs::file_size(arguments.model, code);
    std::ifstream model(arguments.model, std::ios::binary);
    if (code || !model) return error(arguments.model.string() + ": cannot be read, or is empty");
    TensorFile tensors;
    if (arguments.export_it) {
        std::ifstream in(arguments.tensors, std::ios::binary);
        if (!in) return error(arguments.tensors.string() + ": cannot be read");
        const Bytes file = bytes_of(in);
        RETRACE_TRY(decoded, decode_safetensors(file));
        tensors = std::move(decoded);
        bytes_read = kernels::saturating_add(bytes_read, file.size());
    }
    allowance.file_bytes = longest_output(bytes_read);
    Draft draft(arguments.out);
    if (!draft.stream()) return error(arguments.out.string() + ": cannot be written");
    prepare_torch();
    const Status<> done = run_confined(allowance, [&]() -> Status<> {
        if (arguments.export_it) {
            RETRACE_CHECK(export_model(model, tensors.tensors, arguments.steps, draft.stream()));
            return write_flushed(draft.stream(), {});
        }
        RETRACE_TRY(recorded, record_model(model, arguments.train, arguments.eval));
        return write_flushed(draft.stream(), encode(recorded));
    });
    if (!done) return error(arguments.model.string() + ": " + done.error().message);
    RETRACE_CHECK(check_written(arguments, draft));
    return draft.keep();
}

}  // namespace
}  // namespace retrace::solver

int main(int argc, char** argv) {
    using namespace retrace::solver;
    keep_standard_streams_only();
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (std::find(words.begin(), words.end(), "--help") != words.end()) {
        std::fputs(kUsage, stdout);
        return 0;
    }
    const auto arguments = parse(words);
    if (!arguments) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    limit_this_process();
    const auto done = run(*arguments);
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return 1;
}
