// SPDX-License-Identifier: MIT
// Reports that a message which a segment takes in is not served. SPEC 16.1.21.
#include "solver/artifacts/availability.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class MessageReports : public GroupTest {
protected:
    /// The segment of run 0 that takes in the messages of round 0 has auditors. That of run 1 has a real tensor.
    void SetUp() override {
        auto terms = small_terms();
        terms.rounds = 8;
        start_group(terms);
        auto spec = views::spec(state, 1).value();
        spec.audit_bp = 10'000;
        store(state, keys::spec(1), spec);
        begin_rounds();
        play_round({0, 1, 2, 3});
        play_round({0, 1, 2, 3});
        // The second segment of run 0 gets auditors when the first ones are done.
        ASSERT_TRUE(serve_until([&] { return seats_of(0, 1); }));
        auto message = views::round_message(state, 1, 0, 1).value();
        message.tensors[1] = kernels::tensor_root(tensor_, pool_);
        store(state, keys::round_message(1, 0, 1), message);
    }
    bool seats_of(std::uint32_t run, std::uint64_t index) const {
        const auto record = views::segment(state, 1, run, index);
        const auto audit = record ? views::audit(state, record->audit) : std::nullopt;
        return audit && audit->phase == AuditPhase::collecting;
    }
    std::string auditor() const { return name_of(views::audit(state, segment(1, 0).audit)->seats.at(0).auditor); }
    std::string report(std::uint64_t round, std::uint32_t author, std::uint32_t tensor = 1, std::uint32_t run = 0) {
        const ReportUnavailable call{6, 1, run, round << 16 | author, tensor, 0};
        return std::string(slug(send(auditor(), call, params.report_fee)));
    }

    kernels::ThreadPool pool_{1};
    kernels::Tensor tensor_ = kernels::zeros(kernels::DType::i32, {2, 32});
};

TEST_F(MessageReports, TheMemberAnswersWithATileOfTheMessage) {
    ASSERT_EQ(report(0, 1), "ok") << last.revert_reason;
    const auto open = views::report(state, 1).value();
    EXPECT_EQ(open.deadline, height + params.answer_blocks) << "messages lie ready: no work is assigned";
    const auto wrong = solver::answer_tensor_tile(kernels::zeros(kernels::DType::i32, {3, 32}), 0, pool_);
    EXPECT_EQ(send("alice", AnswerUnavailable{1, solver::encode(wrong)}), CallStatus::wrong_answer);
    const auto right = solver::answer_tensor_tile(tensor_, 0, pool_);
    EXPECT_EQ(send("bob", AnswerUnavailable{1, solver::encode(right)}), CallStatus::not_solver)
        << "the audited member serves what it took in, not the author";
    EXPECT_EQ(send("alice", AnswerUnavailable{1, solver::encode(right)}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(views::report(state, 1)->state, market::ReportState::answered);
}

TEST_F(MessageReports, WithoutAnAnswerTheMemberLosesItsLock) {
    ASSERT_EQ(report(0, 2, 0), "ok");
    advance(params.answer_blocks + 1);
    EXPECT_EQ(run(0).state, RunState::forfeited);
    EXPECT_EQ(all<Slashed>().back().reason, "not_served");
    EXPECT_EQ(run(2).state, RunState::running);
}

TEST_F(MessageReports, OnlyMessagesOfTheSegmentAreReported) {
    EXPECT_EQ(report(1, 1), "nothing_to_report") << "no segment takes in the record of round 1 yet";
    EXPECT_EQ(report(7, 1), "nothing_to_report");
    EXPECT_EQ(report(std::uint64_t{1} << 40, 1), "nothing_to_report");
    EXPECT_EQ(report(0, 9), "nothing_to_report") << "there is no such run";
    EXPECT_EQ(report(0, 1, 2), "nothing_to_report") << "a message has two tensors";
    auto message = views::round_message(state, 1, 0, 1).value();
    message.recorded = false;
    store(state, keys::round_message(1, 0, 1), message);
    EXPECT_EQ(report(0, 1), "nothing_to_report") << "it was not recorded";
    EXPECT_EQ(std::string(slug(send("frank", ReportUnavailable{6, 1, 0, 2, 0, 0}, params.report_fee))), "not_auditor");
    EXPECT_EQ(std::string(slug(send("frank", ReportUnavailable{7, 1, 0, 2, 0, 0}, params.report_fee))), "bad_kind");
}

}  // namespace
}  // namespace retrace::contracts
