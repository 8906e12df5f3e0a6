// SPDX-License-Identifier: MIT
// An auditor whose material does not arrive reports in time, for each of its seats, whatever peers do.
#include <gtest/gtest.h>

#include <new>

#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::verifier {
namespace {

/// Delivers seven tiles of every tensor, then nothing.
struct DrippingSource final : solver::ArtifactSource {
    explicit DrippingSource(test::MemorySource& task) : task_(task) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override {
        if (waits) waits();
        if (no_memory) throw std::bad_alloc();
        if (no_program) return error("timeout: the time for fetching is over");
        return task_.program(root, limit);
    }
    Result<solver::StateRoots> state(const Hash32& root) override { return task_.state(root); }
    Result<kernels::Tensor> tensor(const Hash32&, const kernels::TensorRecord&) override {
        return error("timeout: the peer was too slow");
    }
    std::uint64_t first_missing_tile(const Hash32&) override { return 7; }
    bool no_program = false, no_memory = false;
    std::function<void()> waits;  ///< Called while it waits.

private:
    test::MemorySource& task_;
};

struct FetchTime : ::testing::Test {
    test::TinyTask task;
    DrippingSource source{task.source};
    test::VerifierParty party{task, source, 1, std::nullopt};

    VerifierView view_of(std::uint64_t height, std::size_t seats) const {
        VerifierView view;
        view.height = height;
        for (std::size_t i = 0; i < seats; ++i) {
            AuditView seat;
            seat.id = 10 + i;
            seat.terms = task.terms;
            seat.segment = i;
            seat.start_root = Hash32{{1}};
            seat.may_commit = seat.may_report = true;
            seat.fetch_by = 130;
            view.audits.push_back(seat);
        }
        return view;
    }
    static std::vector<ReportUnavailable> reports_of(const Verifier::Output& out) {
        std::vector<ReportUnavailable> reports;
        for (const VerifierMove& move : out.moves)
            if (const auto* report = std::get_if<ReportUnavailable>(&move)) reports.push_back(*report);
        return reports;
    }
};

TEST_F(FetchTime, SeatsThatWaitShareTheTime) {
    Verifier::Output out = party.agent->on_view(view_of(100, 3));
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->fetch_by, 110u);
    party.agent->on_done(out.work->run());
    out = party.agent->on_view(view_of(104, 3));
    ASSERT_TRUE(out.work);
    EXPECT_EQ(out.work->fetch_by, 117u) << "of the two that were not tried yet";
}

TEST_F(FetchTime, ALateSeatIsGivenATryWithoutWaiting) {
    const Verifier::Output out = party.agent->on_view(view_of(130, 1));
    ASSERT_TRUE(out.work);
    EXPECT_LE(out.work->fetch_by, 130u);
    EXPECT_NE(out.work->fetch_by, 0u) << "0 would be for ever";
}

TEST_F(FetchTime, AProgramThatDoesNotComeIsReportedSoThatEveryDeadlineWaits) {
    source.no_program = true;
    std::vector<ReportUnavailable> reports;
    for (std::uint64_t height = 100; height < 104; ++height) {
        Verifier::Output out = party.agent->on_view(view_of(height, 2));
        for (const ReportUnavailable& report : reports_of(out)) reports.push_back(report);
        if (out.work) party.agent->on_done(out.work->run());
    }
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(reports[0].kind, solver::ReportKind::program) << "counts for the first audit of the run";
    EXPECT_EQ(reports[1].kind, solver::ReportKind::state);
    EXPECT_EQ(reports[1].index, 1u) << "the start of the second one's segment";
}

TEST_F(FetchTime, AReportNamesTheFirstTileThatDidNotCome) {
    Verifier::Output out = party.agent->on_view(view_of(100, 1));
    party.agent->on_done(out.work->run());
    const std::vector<ReportUnavailable> reports = reports_of(party.agent->on_view(view_of(101, 1)));
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].kind, solver::ReportKind::data);
    EXPECT_EQ(reports[0].tile, 7u);
}

TEST_F(FetchTime, NoSecondReportWhileANewTryHasTime) {
    source.no_program = true;
    Verifier::Output out = party.agent->on_view(view_of(100, 1));
    party.agent->on_done(out.work->run());
    EXPECT_EQ(reports_of(party.agent->on_view(view_of(101, 1))).size(), 1u);
    std::optional<VerifierWork> again;
    for (std::uint64_t height = 102; !again && height < 125; ++height)
        again = party.agent->on_view(view_of(height, 1)).work;
    ASSERT_TRUE(again);
    EXPECT_TRUE(reports_of(party.agent->on_view(view_of(129, 1))).empty());
    EXPECT_EQ(reports_of(party.agent->on_view(view_of(130, 1))).size(), 1u) << "the try takes too long";
}

TEST_F(FetchTime, ASlowPeerKeepsNoMoveWithAnEarlierPlaceWaitingAndIsNotReportedForThat) {
    source.no_program = true;
    VerifierView view = view_of(100, 1);
    view.audits[0].due = 300;
    Verifier::Output out = party.agent->on_view(view);
    ASSERT_TRUE(out.work);
    EXPECT_FALSE(out.work->stop.stop_requested());
    source.waits = [&] {
        ++view.height;
        DisputeView dispute;
        dispute.id = 1;
        dispute.terms = task.terms;
        dispute.side = Side::challenger;
        dispute.game = start({}, {false, 0, 4, Hash32{{1}}, Hash32{{2}}});
        PostHashes hashes;
        hashes.hashes.resize(search_positions(dispute.game.search).size());
        ASSERT_TRUE(apply(dispute.game, Side::solver, Move{hashes}).has_value());
        dispute.due = 299;
        view.disputes.push_back(dispute);
        EXPECT_FALSE(party.agent->on_view(view).work);
        EXPECT_TRUE(out.work->stop.stop_requested()) << "whoever fetches asks this";
    };
    party.agent->on_done(out.work->run());
    source.waits = nullptr;
    EXPECT_TRUE(party.agent->take_problems().empty());
    ++view.height;
    const Verifier::Output next = party.agent->on_view(view);
    EXPECT_TRUE(reports_of(next).empty());
    ASSERT_TRUE(next.work);
    EXPECT_EQ(next.work->what, "move in dispute 1");
    view.disputes.clear();
    party.agent->on_done(next.work->run());
    ++view.height;
    const Verifier::Output again = party.agent->on_view(view);
    ASSERT_TRUE(again.work);
    EXPECT_EQ(again.work->what, "replay task 5 segment 0");
}

TEST_F(FetchTime, MemoryThatIsNotToBeHadIsAProblemAndNoEnd) {
    source.no_memory = true;
    const Verifier::Output out = party.agent->on_view(view_of(100, 1));
    ASSERT_TRUE(out.work);
    party.agent->on_done(out.work->run());
    const std::vector<std::string> problems = party.agent->take_problems();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].find("bad_alloc"), std::string::npos) << problems[0];
    EXPECT_TRUE(reports_of(party.agent->on_view(view_of(101, 1))).empty()) << "nobody else's fault";
}

}  // namespace
}  // namespace retrace::verifier
