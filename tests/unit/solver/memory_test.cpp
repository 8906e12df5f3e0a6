// SPDX-License-Identifier: MIT
// A program that needs more memory than a party allows is refused by name before any of its data is fetched.
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::solver {
namespace {

TEST(Memory, ATaskThatFitsIsTakenAndCounted) {
    test::TinyTask task;
    TaskCache task_cache(task.source, task.pool, honest_runners(), std::uint64_t{1} << 30);
    const auto material = task_cache.material(task.terms);
    ASSERT_TRUE(material) << material.error().message;
    EXPECT_GT((*material)->bytes, memory_of(task.train.program())) << "a step takes memory beside the state";
    EXPECT_LT((*material)->bytes, std::uint64_t{1} << 30);
}

TEST(Memory, ATaskThatDoesNotFitNamesWhatItNeeds) {
    test::TinyTask task;
    const std::uint64_t needed = memory_of(task.train.program());
    TaskCache task_cache(task.source, task.pool, honest_runners(), needed - 1);
    task.source.tensors.clear();  // Its data is not even requested.
    const auto refused = task_cache.material(task.terms);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().kind) << "nobody else's fault: nothing to report";
    EXPECT_NE(refused.error().message.find(std::to_string(needed) + " bytes"), std::string::npos);
    EXPECT_NE(refused.error().message.find(std::to_string(needed - 1)), std::string::npos);
}

TEST(Memory, TasksShareWhatIsAllowed) {
    test::TinyTask task;
    TaskCache measure(task.source, task.pool);
    const std::uint64_t whole = (*measure.material(task.terms))->bytes;
    TaskCache task_cache(task.source, task.pool, honest_runners(), whole + whole / 2);
    ASSERT_TRUE(task_cache.material(task.terms));
    TaskTerms second = task.terms;
    second.id = 6;
    EXPECT_FALSE(task_cache.material(second));
    task_cache.keep_only({});
    EXPECT_TRUE(task_cache.material(second));
}

TEST(Memory, AFewKilobytesThatAskForGigabytes) {
    kernels::Program program;
    program.states = 1;
    program.tensors = {{kernels::TensorKind::state, kernels::DType::f32, {60'000, 60'000}, 0, "w"}};
    const std::uint64_t states = 2u * 4 * 60'000ull * 60'000;
    EXPECT_GT(memory_of(program), states);
    EXPECT_LT(memory_of(program), states + states / 50);
}

TEST(Memory, OfManySmallStatesIsMostlyWhatIsKnownAboutThem) {
    kernels::Program program;
    program.states = 100'000;
    program.tensors.assign(program.states, {kernels::TensorKind::state, kernels::DType::u8, {1}, 0, ""});
    EXPECT_GT(memory_of(program), 1'000'000'000u) << "of 100 KB";
}

}  // namespace
}  // namespace retrace::solver
