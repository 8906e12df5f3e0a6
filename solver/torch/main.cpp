// SPDX-License-Identifier: MIT
// retrace-torch: the one program that loads LibTorch. `retrace` runs it; people need not.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "solver/torch/torch_model.hpp"

namespace retrace::solver {
namespace {

constexpr const char* kUsage =
    "usage: retrace-torch record MODEL.pt OUT TRAIN EVAL   (TRAIN, EVAL: f32:32x1x28x28 or tokens:8x128)\n"
    "       retrace-torch export MODEL.pt TENSORS.safetensors OUT.pt STEPS\n";

Result<SampleBatch> parse_batch(std::string_view text) {
    SampleBatch out;
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    if (colon == std::string_view::npos || (kind != "f32" && kind != "tokens"))
        return error("no shape of a batch");
    out.tokens = kind == "tokens";
    std::string extents(text.substr(colon + 1));
    for (std::size_t at = 0; at <= extents.size();) {
        const std::size_t end = std::min(extents.find('x', at), extents.size());
        const std::string extent = extents.substr(at, end - at);
        if (extent.empty() || extent.size() > 9 ||
            extent.find_first_not_of("0123456789") != std::string::npos) {
            return error("no shape of a batch");
        }
        out.dims.push_back(std::stoull(extent));
        at = end + 1;
    }
    return out;
}

Status<> write_file(const std::string& path, View bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) return error(path + ": cannot be written");
    return Unit{};
}

/// A stranger's model may compute for ever, or ask for all memory there is: twenty minutes of a processor,
/// three quarters of the machine's memory, and no core file.
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
        at_most(RLIMIT_DATA,
                std::max(kLeast, static_cast<rlim_t>(pages) * static_cast<rlim_t>(size) / 4 * 3));
    at_most(RLIMIT_CPU, 20 * 60);
    at_most(RLIMIT_CORE, 0);
}

Status<> run(const std::vector<std::string>& words) {
    if (words[0] == "record") {
        RETRACE_TRY(train, parse_batch(words[3]));
        RETRACE_TRY(eval, parse_batch(words[4]));
        RETRACE_TRY(model, record_model(words[1], train, eval));
        return write_file(words[2], encode(model));
    }
    std::ifstream in(words[2], std::ios::binary);
    if (!in) return error(words[2] + ": cannot be read");
    const Bytes file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    RETRACE_TRY(tensors, decode_safetensors(file));
    return export_model(words[1], tensors.tensors, std::strtoull(words[4].c_str(), nullptr, 10), words[3]);
}

}  // namespace
}  // namespace retrace::solver

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 5 || (words[0] != "record" && words[0] != "export")) {
        std::fputs(retrace::solver::kUsage, stderr);
        return 2;
    }
    retrace::solver::limit_this_process();
    const auto done = retrace::solver::run(words);
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return 1;
}
