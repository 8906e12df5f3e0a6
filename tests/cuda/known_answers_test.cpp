// SPDX-License-Identifier: MIT
// The public known answers as programs, in the form in which `retrace-op check` gives them to a device.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "kernels/cuda/executor.hpp"
#include "kernels/tools/case_program.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"

namespace retrace::kernels::tools {
namespace {

Json cases() {
    std::ifstream file(RETRACE_VECTORS "/numerics/cases.json");
    std::ostringstream text;
    text << file.rdbuf();
    return *parse_json(text.str());
}

/// Whether the emulated device computes it in a few milliseconds.
bool is_small(const KnownAnswer& known) {
    return known.is_matmul() ? known.rows * known.cols * known.depth < 100'000 : known.rows * known.cols < 20'000;
}

TEST(KnownAnswers, HoldAsProgramsOnTheCpuAndTheSmallOnesOnTheEmulatedDevice) {
    emulation::settings = {}, emulation::device = {};
    ThreadPool pool(2);
    int on_cpu = 0, on_device = 0;
    const Json all = cases();
    for (const Json& json : *all.find("cases")->array()) {
        const auto known = read_case(json);
        ASSERT_TRUE(known) << known.error().message;
        const auto program = program_of(*known);
        ASSERT_TRUE(program) << known->name << ": " << program.error().message;
        if (!program->has_value()) continue;
        Executor cpu(**program, pool);
        EXPECT_EQ(digest_of(run_program(**program, *known, cpu)), known->sha256) << known->name;
        ++on_cpu;
        if (!is_small(*known)) continue;
        auto backend = cuda::make_backend(**program);
        ASSERT_TRUE(backend) << backend.error().message;
        emulation::device.turns = 0;
        EXPECT_EQ(digest_of(run_program(**program, *known, **backend)), known->sha256) << known->name;
        EXPECT_GT(emulation::device.turns, 0u) << known->name << " did not run on the device";
        ++on_device;
    }
    EXPECT_GT(on_cpu, 40);
    EXPECT_GT(on_device, 25);
}

}  // namespace
}  // namespace retrace::kernels::tools
