// SPDX-License-Identifier: MIT
// Fetching a model or replaying a receipt starts from roots only: a state that hashes to a root may still be no state
// of the program.
#include "node/agents/receipt_check.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using kernels::DType;

struct Replay : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path());
    const Hash32 program = *store->put_program(kernels::encode(test::doubling_program()));

    static kernels::State state(std::uint64_t step, kernels::Dims dims, DType dtype = DType::f32) {
        return {step, {kernels::zeros(dtype, std::move(dims))}};
    }
    /// Replays one segment of one step, from `from` to the zeros that the program makes of zeros.
    Result<Replayed> replay(const kernels::State& from, std::vector<Hash32> data = {},
                            const solver::RunnerFactory& runners = solver::honest_runners()) {
        Receipt receipt;
        receipt.program = program;
        receipt.data = std::move(data);
        receipt.steps = receipt.interval = 1;
        receipt.states = {{0, 1, *store->put_state(program, from)},
                          {1, 2, *store->put_state(program, state(1, {4, 3}))}};
        ArtifactClient::Options options;
        options.rounds = 1;
        ArtifactClient fetcher(*store, options);
        return replay_segment(receipt, 0, {}, *store, fetcher, runners);
    }
};

TEST_F(Replay, AnHonestSegmentEndsWhereTheReceiptSays) {
    const auto again = replay(state(0, {4, 3}));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->matches);
}

TEST_F(Replay, AContradictionNamesBothRootsAndTheRemedy) {
    kernels::State other = state(0, {4, 3});
    other.tensors[0].data[3] = 0x3f;
    const auto again = replay(other);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->matches);
    Receipt receipt;
    receipt.task = 7;
    receipt.states = {{3, 1, {}}, {4, 2, Hash32{{5}}}};
    const std::string said = contradiction(receipt, 0, *again);
    for (const std::string& part : {std::string("CONTRADICTION: segment 3 of task 7"), to_0x(view(again->root)),
                                    to_0x(view(Hash32{{5}})), std::string("retrace task challenge 7")})
        EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
}

TEST_F(Replay, AStateOfAnotherProgramIsRefusedBeforeItIsRun) {
    EXPECT_FALSE(replay({0, {}})) << "no tensor where the program reads one";
    EXPECT_FALSE(replay(state(0, {1, 1}))) << "another shape";
    EXPECT_FALSE(replay(state(0, {4, 3}, DType::u8))) << "another type";
    const auto late = replay(state(7, {4, 3}));
    ASSERT_FALSE(late) << "another step";
    EXPECT_NE(late.error().message.find("cannot be fetched"), std::string::npos) << late.error().message;
}

TEST_F(Replay, AWorkerThatEndsIsAnErrorThatSaysSo) {
    const auto ends = [](const solver::TaskTerms&, const kernels::Program&, kernels::Inputs,
                         kernels::ThreadPool&) -> std::unique_ptr<solver::StepRunner> {
        throw std::runtime_error("the worker of task 0 was killed by signal 31");
    };
    const auto again = replay(state(0, {4, 3}), {}, ends);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message, "the worker of task 0 was killed by signal 31");
}

TEST_F(Replay, DataThatTheProgramDoesNotReadAreRefused) {
    const Hash32 data = *store->put_tensor(test::random_tensor(DType::u8, {2, 2}, 1));
    EXPECT_FALSE(replay(state(0, {4, 3}), {data}));
}

}  // namespace
}  // namespace retrace::node
