// SPDX-License-Identifier: MIT
// retrace-op: known answers on every back end of this machine.
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tools/case_program.hpp"
#include "kernels/tools/cpu_backends.hpp"
#include "kernels/tools/reference.hpp"

#if defined(RETRACE_WITH_CUDA)
#include "kernels/cuda/executor.hpp"
#endif

namespace retrace::kernels::tools {

namespace {

/// Replaces control characters: names come from the file and are printed to a terminal, and one with a line end could
/// imitate the last line.
std::string printable(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return text;
}

struct Tally {
    std::uint64_t passed = 0, failed = 0;

    /// `wrong` is empty if the check passed.
    void count(const std::string& where, const std::string& wrong) {
        ++(wrong.empty() ? passed : failed);
        if (!wrong.empty()) std::printf("FAILED %s\n", printable(where + ": " + wrong).c_str());
    }
};

using CheckCase = std::function<void(const Json& json, const std::string& where)>;

void check_on_cpu(const std::vector<CpuBackend>& backends, const Json& json, const std::string& where, Tally& tally) {
    const auto known = read_case(json);
    if (!known) return tally.count(where, known.error().message);
    const auto program = program_of(*known);
    if (!program) return tally.count(where, program.error().message);
    const auto reference = reference_words(*known);
    if (!reference) return tally.count(where, reference.error().message);
    tally.count(where + " (reference)", difference(*known, *reference));
    if (!program->has_value()) return;
    for (const CpuBackend& backend : backends) {
        tally.count(where + " (" + backend.name() + ")", difference_on(backend, **program, *known));
    }
}

#if defined(RETRACE_WITH_CUDA)
void check_on_device(const Json& json, const std::string& where, Tally& tally) {
    const auto known = read_case(json);
    if (!known) return;  // The error was counted by check_on_cpu.
    const auto program = program_of(*known);
    if (!program || !program->has_value()) return;
    auto device = cuda::make_backend(**program);
    if (!device) return tally.count(where + " (cuda)", device.error().message);
    tally.count(where + " (cuda)", difference(*known, run_program(**program, *known, **device)));
}
#endif

Status<> check_file(const std::string& path, Tally& tally, const CheckCase& check_case) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return error("cannot be read");
    RETRACE_TRY(json, parse_json(text.str()));
    const Json* format = json.find("format");
    const Json* cases = json.find("cases");
    if (!format || !format->natural() || *format->natural() != 1 || !cases || !cases->array()) {
        return error("not a file of known answers of format 1");
    }
    for (const Json& item : *cases->array()) {
        const Json* name = item.find("name");
        const std::string where = path + ": " + (name && name->text() ? *name->text() : "?");
        try {
            check_case(item, where);
        } catch (const std::exception& thrown) {
            tally.count(where, thrown.what());
        }
    }
    return retrace::Unit{};
}

int check(const std::vector<std::string>& files) {
    Tally tally;
    const std::vector<CpuBackend> backends = cpu_backends();
    for (const std::string& file : files) {
        const auto read = check_file(file, tally, [&](const Json& json, const std::string& where) {
            check_on_cpu(backends, json, where, tally);
        });
        if (!read) tally.count(file, read.error().message);
    }
#if defined(RETRACE_WITH_CUDA)
    // The device comes last, because its driver starts threads and the CPU back ends run in forked processes.
    if (cuda::find_device()) {
        for (const std::string& file : files) {
            (void)check_file(file, tally,
                             [&](const Json& json, const std::string& where) { check_on_device(json, where, tally); });
        }
    }
#endif
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
        "                                       (RETRACE_CPU=NAME: of its CPU, that one and the references)\n"
        "       retrace-op cpu                  list the instruction sets (RETRACE_CPU=NAME forces one), the device\n",
        to);
    return to == stdout ? 0 : 2;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments)
        if (argument == "--help" || argument == "-h") return usage(stdout);
    if (arguments.size() >= 2 && arguments[0] == "check") return check({arguments.begin() + 1, arguments.end()});
    if (arguments.size() == 1 && arguments[0] == "cpu") return list_levels();
    return usage(stderr);
}

}  // namespace retrace::kernels::tools

int main(int argc, char** argv) {
    return retrace::kernels::tools::run(std::vector<std::string>(argv + 1, argv + argc));
}
