// SPDX-License-Identifier: MIT
// Functions of one argument: equal on every back end, within the error bound of SPEC 2.2, and with its special values.
// The default run samples; with RETRACE_EXHAUSTIVE=1 (ctest slow.kernels.function_NAME) all 2^32 inputs are tried.
#include "tests/unit/kernels/function_sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include "kernels/scalar/scalar.hpp"
#include "tests/unit/kernels/exhaustive.hpp"

namespace retrace::kernels::sweep {

void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

namespace {

/// Error of the exact values, which come from the library in double precision: 2^-29 ulp for each of its own ulps, of
/// which at most 64 are wrong.
constexpr double kDoubt = 64 * 0x1p-29;

/// Prints a line for each eighth, as this takes minutes.
class Progress {
public:
    explicit Progress(const char* name) : name_(name) {}
    void operator()(double done) {
        if (done < next_) return;
        next_ += 0.125;
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
        std::printf("%s: %3.0f %% in %.0f s, %.0f s to go\n", name_, 100 * done, time.count(),
                    time.count() * (1 - done) / done);
        std::fflush(stdout);
    }

private:
    const char* name_;
    double next_ = 0.125;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class FunctionSweep : public ::testing::TestWithParam<Function> {};

TEST_P(FunctionSweep, EveryBackEndGivesTheBitsAndTheyAreNearEnough) {
    const Function& function = GetParam();
    Progress progress(function.name);
    const Outcome outcome = exhaustive() ? sweep(function, loops_generic(), vector_loops(), {1}, std::ref(progress))
                                         : sweep(function, loops_generic(), vector_loops(), {4099});
    if (exhaustive()) {
        EXPECT_EQ(outcome.tried, std::uint64_t{1} << 32);
        std::printf("%s: largest error %.6f ulp, at bits %08x\n", function.name, outcome.worst, outcome.worst_at);
    }
    RecordProperty("worst_ulp", std::to_string(outcome.worst));
    const double doubt = function.library_error != nullptr && function.most_ulps > 0.5 ? kDoubt : 0;
    EXPECT_LE(outcome.worst + doubt, function.most_ulps) << std::hex << "at bits " << outcome.worst_at;
    EXPECT_EQ(outcome.differences.size(), 0u);
    for (std::size_t i = 0; i < std::min<std::size_t>(10, outcome.differences.size()); ++i) {
        const Difference& found = outcome.differences[i];
        ADD_FAILURE() << found.loops << " at bits " << std::hex << found.in << ": " << found.got << ", not "
                      << found.want;
    }
}

TEST_P(FunctionSweep, TheLibraryThatItIsMeasuredWithIsExactEnough) {
    const Function& function = GetParam();
    if (function.library_error == nullptr) return;
    double worst = 0;
    for (std::uint64_t in = 0; in < std::uint64_t{1} << 32; in += exhaustive() ? 4093 : 65521) {
        worst = std::max(worst, function.library_error(static_cast<std::uint32_t>(in)));
    }
    RecordProperty("library_error", std::to_string(worst));
    if (exhaustive()) std::printf("%s: the library's largest error %.2f of 2^-53\n", function.name, worst);
    EXPECT_LE(worst * 0x1p-29, kDoubt);
}

TEST_P(FunctionSweep, EstimatesAreWhatIsComputed) {
    const Function& function = GetParam();
    if (function.estimate == nullptr) return;
    constexpr std::size_t kCount = 4096;
    std::vector<std::uint32_t> in(kCount), stored(kCount);
    std::vector<double> estimates(kCount);
    int estimated = 0;
    for (std::uint32_t first = 0; first < 0xff000000u; first += kCount * 1021) {
        for (std::uint32_t i = 0; i < kCount; ++i) in[i] = first + i;
        function.run(loops_generic(), in.data(), stored.data(), kCount);
        if (!function.estimate(in.data(), stored.data(), kCount, estimates.data())) continue;
        ++estimated;
        for (std::size_t i = 0; i < kCount; i += 7) {
            if (estimates[i] == HUGE_VAL) continue;
            ASSERT_NEAR(estimates[i], function.error(in[i], stored[i]), kEstimate) << std::hex << "bits " << in[i];
        }
    }
    EXPECT_GT(estimated, 100);
}

TEST_P(FunctionSweep, NothingIsEstimatedAcrossBinadesOrGapsOrWithoutAValue) {
    const Function& function = GetParam();
    if (function.estimate == nullptr) return;
    std::vector<std::uint32_t> in(4096), stored(4096);
    std::vector<double> estimates(4096);
    for (const std::uint32_t first : {0u, 0x3f7ff800u, 0x7f7ff800u, 0x7f800000u, 0xffc00000u, 0x807ff800u}) {
        for (std::uint32_t i = 0; i < 4096; ++i) in[i] = first + i;
        EXPECT_FALSE(function.estimate(in.data(), stored.data(), in.size(), estimates.data())) << std::hex << first;
    }
    for (std::uint32_t i = 0; i < 4096; ++i) in[i] = 0x3f000000u + 3 * i;
    EXPECT_FALSE(function.estimate(in.data(), stored.data(), in.size(), estimates.data()));
}

INSTANTIATE_TEST_SUITE_P(All, FunctionSweep, ::testing::ValuesIn(functions()),
                         [](const auto& info) { return std::string(info.param.name); });

// The sweep must find a fault in one of the million inputs of a sample.

const Function& exponential() { return functions().front(); }
constexpr Inputs kSample{4099};
constexpr std::uint32_t kVictim = 4099u * 250'000u;  // 0.036

template <std::uint32_t change>
void faulty_exp(const LoopOperand* in, void* out, std::size_t n) {
    loops_generic().element(OpCode::exp, DType::f32, DType::f32)(in, out, n);
    for (std::size_t i = 0; i < n; ++i) {
        if (static_cast<const std::uint32_t*>(in[0].data)[i] == kVictim) static_cast<std::uint32_t*>(out)[i] += change;
    }
}

/// The scalar loops, except for one result that is `change` units in the last place too large.
template <std::uint32_t change>
Loops faulty() {
    Loops loops = loops_generic();
    loops.element = [](OpCode, DType, DType) -> ElementLoop { return faulty_exp<change>; };
    return loops;
}

TEST(FunctionSweepFaults, ABackEndThatIsRightIsFoundRight) {
    const Outcome outcome = sweep(exponential(), loops_generic(), {{"same", faulty<0>()}}, kSample);
    EXPECT_TRUE(outcome.differences.empty());
    EXPECT_LT(outcome.worst, 0.79);
}

TEST(FunctionSweepFaults, OneUnitInOneResultOfABackEndIsFound) {
    const Outcome outcome = sweep(exponential(), loops_generic(), {{"faulty", faulty<1>()}}, kSample);
    ASSERT_EQ(outcome.differences.size(), 1u);
    EXPECT_EQ(outcome.differences[0].in, kVictim);
    EXPECT_EQ(outcome.differences[0].got, outcome.differences[0].want + 1);
}

TEST(FunctionSweepFaults, OneResultOfTheReferenceThatIsTwoUnitsOffIsFound) {
    const Outcome outcome = sweep(exponential(), faulty<2>(), {}, kSample);
    EXPECT_GT(outcome.worst, 1.0);
    EXPECT_LT(outcome.worst, 3.0);
    EXPECT_EQ(outcome.worst_at, kVictim);
}

TEST(FunctionSweepFaults, AnotherSpecialValueIsFound) {
    for (const Function& function : functions()) {
        for (const std::uint32_t in : {0u, kSignBit, 0x7fc00001u}) {
            std::uint32_t out = 0;
            function.run(loops_generic(), &in, &out, 1);
            EXPECT_EQ(function.error(in, out), 0.0) << function.name << " of bits " << std::hex << in;
            EXPECT_EQ(function.error(in, out ^ kSignBit), HUGE_VAL) << function.name << " of bits " << std::hex << in;
        }
    }
}

}  // namespace
}  // namespace retrace::kernels::sweep
