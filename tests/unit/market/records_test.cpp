// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "market/params.hpp"
#include "market/record.hpp"
#include "market/types.hpp"

namespace retrace::market {
namespace {

TaskSpec spec() {
    TaskSpec s;
    s.name = "a task";
    s.program_root = to_hash32(Bytes(32, 1));
    s.data_roots = {to_hash32(Bytes(32, 2)), to_hash32(Bytes(32, 3))};
    s.steps = 25;
    s.interval = 10;
    s.price_ceiling = U256::max();
    return s;
}

TEST(Records, ComeBackAsTheyWere) {
    EXPECT_EQ(decode_record<TaskSpec>(encode_record(spec())).value(), spec());
    Task task;
    task.id = 7;
    task.state = TaskState::running;
    task.active = {1, 2};
    task.bidders = {Address{}, Address{}};
    EXPECT_EQ(decode_record<Task>(encode_record(task)).value(), task);
    Audit audit;
    audit.phase = AuditPhase::verdicts;
    audit.seats.resize(2);
    for (Seat& seat : audit.seats) seat.state = SeatState::drawn;
    EXPECT_EQ(decode_record<Audit>(encode_record(audit)).value(), audit);
    Params params;
    EXPECT_EQ(decode_params(encode(params)).value(), params);
}

TEST(Records, TheZeroStateIsInvalid) {
    EXPECT_EQ(decode_record<Task>(encode_record(Task{})).error(), CodecError::not_canonical);
    EXPECT_FALSE(decode_record<Dispute>(encode_record(Dispute{})).has_value());
}

TEST(Records, EveryTruncationAndATrailingByteAreRefused) {
    Bytes bytes = encode_record(spec());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_record<TaskSpec>(View(bytes).first(size)).has_value());
    bytes.push_back(0);
    EXPECT_EQ(decode_record<TaskSpec>(bytes).error(), CodecError::trailing);
}

TEST(Records, HugeCountsAreRefusedBeforeTheyAllocate) {
    Writer out;
    out.u32(0xffffffff);
    EXPECT_EQ(decode_record<TaskSpec>(out.data()).error(), CodecError::too_long);
}

TEST(Records, SegmentsCoverTheStepsExactly) {
    EXPECT_EQ(spec().segments(), 3u);
    EXPECT_EQ(spec().first_step(2), 20u);
    EXPECT_EQ(spec().last_step(2), 25u) << "the last segment may be short";
    EXPECT_EQ(spec().last_step(1), 20u);
}

TEST(Params, BadOnesAreNamed) {
    const auto refused = [](auto change) {
        Params params;
        change(params);
        return !check(params).has_value();
    };
    EXPECT_FALSE(refused([](Params&) {}));
    EXPECT_TRUE(refused([](Params& p) { p.epoch_blocks = 0; }));
    EXPECT_TRUE(refused([](Params& p) { p.moves = 2'000'000'000; }));
    EXPECT_TRUE(refused([](Params& p) { p.audit_fee = U256::max(); }));
    EXPECT_TRUE(refused([](Params& p) { p.challenger_share_bp = 10'000; }));
    EXPECT_TRUE(refused([](Params& p) { p.audit_fee_bp = 10'001; }));
    EXPECT_FALSE(refused([](Params& p) { p.audit_fee_bp = 10'000; }));
    EXPECT_TRUE(refused([](Params& p) { p.safety_bp = 9'999; }));
    EXPECT_TRUE(refused([](Params& p) { p.audit_bond = p.min_verifier_stake + U256(1); }));
    EXPECT_TRUE(refused([](Params& p) { p.rounds = 0; }));
    EXPECT_FALSE(decode_params(Bytes{1, 2, 3}).has_value());
}

TEST(LifeCycle, OnlyTheTablesRowsAreLegal) {
    int legal = 0;
    for (std::uint8_t state = 0; state <= 12; ++state)
        for (std::uint8_t event = 0; event <= 12; ++event)
            legal += next(static_cast<TaskState>(state), static_cast<TaskEvent>(event)).has_value();
    EXPECT_EQ(legal, 22);
    EXPECT_EQ(next(TaskState::running, TaskEvent::cancel), std::nullopt);
    EXPECT_EQ(next(TaskState::settled, TaskEvent::forfeit), std::nullopt);
    for (const TaskState state : {TaskState::settled, TaskState::cancelled, TaskState::expired})
        EXPECT_TRUE(is_final(state)) << slug(state);
    for (const TaskState state : {TaskState::posted, TaskState::bidding, TaskState::assigned, TaskState::running,
                                  TaskState::delivering, TaskState::forfeited})
        EXPECT_FALSE(is_final(state)) << slug(state);
}

}  // namespace
}  // namespace retrace::market
