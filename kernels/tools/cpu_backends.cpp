// SPDX-License-Identifier: MIT
#include "kernels/tools/cpu_backends.hpp"

#include <cstdlib>

#include "kernels/tools/case_program.hpp"
#include "kernels/tools/child.hpp"
#include "kernels/tools/reference.hpp"

namespace retrace::kernels::tools {

std::string CpuBackend::name() const {
    if (backend == Backend::reference) return "element rules";
    return std::string(name_of(level)) + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::vector<CpuBackend> cpu_backends() {
    // This process calls cpu_level() only if RETRACE_CPU is set, because its children inherit the cached result.
    const char* const wanted = std::getenv("RETRACE_CPU");
    const bool one = wanted != nullptr && *wanted != '\0';
    const std::vector<CpuLevel> levels = one ? std::vector{cpu_level()} : cpu_levels();
    std::vector<CpuBackend> out = {{Backend::reference, levels.front(), 1}};
    for (const CpuLevel level : levels) {
        for (const unsigned threads : {1u, 3u}) out.push_back({Backend::cpu, level, threads});
    }
    return out;
}

std::string difference_on(const CpuBackend& backend, const Program& program, const KnownAnswer& known) {
    return in_child([&]() -> std::string {
        if (setenv("RETRACE_CPU", std::string(name_of(backend.level)).c_str(), 1) != 0) return "setenv failed";
        if (cpu_level() != backend.level) return "ran on " + std::string(name_of(cpu_level()));
        ThreadPool pool(backend.threads);
        Executor executor(program, pool, backend.backend);
        return difference(known, run_program(program, known, executor));
    });
}

}  // namespace retrace::kernels::tools
