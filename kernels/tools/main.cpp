// SPDX-License-Identifier: MIT
// retrace-op: known answers on every back end of this machine.
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/exec/thread_pool.hpp"
#include "kernels/tools/known_answer.hpp"

#if defined(RETRACE_WITH_CUDA)
#include "kernels/cuda/executor.hpp"
#include "kernels/tools/case_program.hpp"
#endif

namespace retrace::kernels::tools {

namespace {

struct Tally {
    std::uint64_t passed = 0, failed = 0;

    void count(bool ok) { ++(ok ? passed : failed); }
};

void fail(Tally& tally, const std::string& where, const std::string& why) {
    tally.count(false);
    std::printf("FAILED %s: %s\n", where.c_str(), why.c_str());
}

void check_words(const KnownAnswer& known, const std::string& where, const std::vector<std::uint32_t>& words,
                 Tally& tally) {
    if (words.size() != known.words)
        fail(tally, where, "another number of words");
    else if (digest_of(words) != known.sha256)
        fail(tally, where, "other bits");
    else
        tally.count(true);
}

/// Where this program was built with CUDA and the machine has a device, that is one more back end.
void check_on_device([[maybe_unused]] const KnownAnswer& known, [[maybe_unused]] const std::string& file,
                     [[maybe_unused]] Tally& tally) {
#if defined(RETRACE_WITH_CUDA)
    static const bool present = cuda::find_device().has_value();
    if (!present) return;
    const std::string where = file + ": " + known.name + " (cuda)";
    const auto program = program_of(known);
    if (!program) return fail(tally, where, program.error().message);
    if (!program->has_value()) return;
    auto device = cuda::make_backend(**program);
    if (!device) return fail(tally, where, device.error().message);
    try {
        check_words(known, where, run_program(**program, known, **device), tally);
    } catch (const std::exception& failed) {
        fail(tally, where, failed.what());
    }
#endif
}

void check_case(const Json& json, const std::string& file, Tally& tally) {
    const auto known = read_case(json);
    if (!known) {
        const Json* name = json.find("name");
        fail(tally, file + ": " + (name && name->text() ? *name->text() : "?"), known.error().message);
        return;
    }
    check_on_device(*known, file, tally);
    const std::vector<CpuLevel> levels = known->is_matmul() ? cpu_levels() : std::vector{CpuLevel::scalar};
    for (const CpuLevel level : levels) {
        for (const unsigned threads : {1u, 3u}) {
            if (threads > 1 && level == CpuLevel::scalar) continue;
            ThreadPool pool(threads);
            const std::string where = file + ": " + known->name + " (" + std::string(name_of(level)) + ", " +
                                      std::to_string(threads) + (threads == 1 ? " thread)" : " threads)");
            const auto words = run_case(*known, level, pool);
            if (words)
                check_words(*known, where, *words, tally);
            else
                fail(tally, where, words.error().message);
        }
    }
}

void check_file(const std::string& path, Tally& tally) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return fail(tally, path, "cannot be read");
    const auto json = parse_json(text.str());
    if (!json) return fail(tally, path, json.error().message);
    const Json* format = json->find("format");
    const Json* cases = json->find("cases");
    if (!format || !format->natural() || *format->natural() != 1 || !cases || !cases->array()) {
        return fail(tally, path, "not a file of known answers of format 1");
    }
    for (const Json& item : *cases->array()) check_case(item, path, tally);
}

int check(const std::vector<std::string>& files) {
    Tally tally;
    for (const std::string& file : files) check_file(file, tally);
    std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(tally.passed),
                static_cast<unsigned long long>(tally.failed));
    return tally.failed == 0 && tally.passed != 0 ? 0 : 1;
}

int list_levels() {
    for (const CpuLevel level : cpu_levels()) {
        std::printf("%s%s\n", name_of(level).data(), level == cpu_level() ? " (in use)" : "");
    }
#if defined(RETRACE_WITH_CUDA)
    const auto device = cuda::find_device();
    std::printf("cuda: %s\n", device ? device->name.c_str() : device.error().message.c_str());
#else
    std::printf("cuda: not there (built without it)\n");
#endif
    return 0;
}

int usage(std::FILE* to) {
    std::fputs(
        "usage: retrace-op check FILE.json...   run known answers on every back end of this machine\n"
        "       retrace-op cpu                  list the instruction sets (RETRACE_CPU=NAME forces one), the device\n",
        to);
    return to == stdout ? 0 : 2;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments)
        if (argument == "--help" || argument == "-h") return usage(stdout);
    if (arguments.size() >= 2 && arguments[0] == "check")
        return check({arguments.begin() + 1, arguments.end()});
    if (arguments.size() == 1 && arguments[0] == "cpu") return list_levels();
    return usage(stderr);
}

}  // namespace retrace::kernels::tools

int main(int argc, char** argv) {
    return retrace::kernels::tools::run(std::vector<std::string>(argv + 1, argv + argc));
}
