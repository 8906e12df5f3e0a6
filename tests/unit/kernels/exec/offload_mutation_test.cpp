// SPDX-License-Identifier: MIT
// Plans of offloading with one small damage: check_offload accepts none of them that computes anything else in any order
// of transfers and units.
#include <gmock/gmock.h>

#include <random>

#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "tests/unit/kernels/any_programs.hpp"
#include "tests/unit/kernels/exec/offload_player.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels {
namespace {

using Random = std::mt19937_64;

template <class T>
T& any_of(std::vector<T>& all, Random& random) {
    return all[random() % all.size()];
}

/// A step up or down, or now and then several.
void move_number(std::uint32_t& number, Random& random) {
    const auto by = static_cast<std::uint32_t>(1 + (random() % 4 == 0 ? random() % 8 : 0));
    number = random() % 2 == 0 ? number + by : number - std::min(number, by);
}
void move_place(std::uint64_t& place, std::uint64_t alignment, Random& random) {
    place = random() % 2 == 0 ? place + alignment : place - std::min(place, alignment);
}

/// Makes one small change.
void damage(OffloadPlan& plan, std::uint64_t alignment, Random& random) {
    if (plan.units.empty() || plan.blocks.empty()) return;
    const auto block = [&] { return static_cast<std::uint32_t>(random() % plan.blocks.size()); };
    std::vector<Placement>* unit = nullptr;
    while (unit == nullptr || (unit->empty() && random() % 64 != 0)) unit = &any_of(plan.units, random);
    switch (random() % 16) {
        case 0: return move_number(any_of(plan.needed, random), random);
        case 1: return std::swap(any_of(plan.needed, random), any_of(plan.needed, random));
        case 2: return move_place(any_of(plan.blocks, random).spill, alignment, random);
        case 3: return std::swap(any_of(plan.blocks, random).spill, any_of(plan.blocks, random).spill);
        case 4: any_of(plan.block_of, random) = block(); return;
        case 5: return std::swap(any_of(plan.block_of, random), any_of(plan.block_of, random));
        case 6:
            if (!unit->empty()) move_place(any_of(*unit, random).at, alignment, random);
            return;
        case 7:
            if (!unit->empty()) any_of(*unit, random).block = block();
            return;
        case 8:
            if (!unit->empty()) std::swap(any_of(*unit, random).at, any_of(*unit, random).at);
            return;
        default: break;
    }
    if (plan.transfers.empty()) return;
    Transfer& transfer = any_of(plan.transfers, random);
    switch (random() % 8) {
        case 0: return move_number(transfer.after, random);
        case 1: return move_place(transfer.at, alignment, random);
        case 2: transfer.block = block(); return;
        case 3: transfer.next = !transfer.next; return;
        case 4: return std::swap(transfer.at, any_of(plan.transfers, random).at);
        case 5: {
            Transfer* const other = &transfer == &plan.transfers.front() ? &transfer : &transfer - 1;
            std::swap(*other, transfer);
            return std::swap(other->after, transfer.after);
        }
        case 6: {  // one transfer fewer
            const auto at = static_cast<std::uint32_t>(&transfer - plan.transfers.data());
            plan.transfers.erase(plan.transfers.begin() + at);
            for (std::uint32_t& needed : plan.needed) needed -= needed > at ? 1 : 0;
            return;
        }
        default: {  // one more
            const auto at = static_cast<std::uint32_t>(&transfer - plan.transfers.data());
            const Transfer again = transfer;
            plan.transfers.insert(plan.transfers.begin() + at, again);
            for (std::uint32_t& needed : plan.needed) needed += needed > at ? 1 : 0;
        }
    }
}

/// What is wrong in the earliest, the latest and some other orders.
std::optional<std::string> wrong_in_any_order(const testing::OffloadedProgram& of, const OffloadPlan& offload,
                                              Random& random) {
    if (auto wrong = testing::play(of, offload, [] { return true; })) return wrong;
    if (auto wrong = testing::play(of, offload, [] { return false; })) return wrong;
    for (int order = 0; order < 4; ++order)
        if (auto wrong = testing::play(of, offload, [&] { return random() % 2 == 0; })) return wrong;
    return std::nullopt;
}

struct Counts {
    int accepted = 0, refused = 0, wrong = 0;
};

/// Damages plans of the least room and of a larger one.
void expect_sound(const testing::OffloadedProgram& of, int mutations, Random& random, Counts& counts) {
    const std::uint64_t least = least_room(of.program, of.plan, of.alignment);
    for (const std::uint64_t room : {least, least + least / 4}) {
        const auto good = plan_offload(of.program, of.plan, {room, of.alignment});
        ASSERT_TRUE(good);
        const auto fault = wrong_in_any_order(of, *good, random);
        ASSERT_FALSE(fault) << *fault;
        for (int i = 0; i < mutations; ++i) {
            OffloadPlan bad = *good;
            damage(bad, of.alignment, random);
            const auto accepted = check_offload(of.program, of.plan, bad);
            const auto wrong = wrong_in_any_order(of, bad, random);
            ASSERT_FALSE(accepted && wrong) << "accepted, but " << *wrong;
            ++(accepted ? counts.accepted : counts.refused);
            counts.wrong += wrong ? 1 : 0;
        }
    }
}

TEST(OffloadMutation, NoPlanIsAcceptedThatComputesAnythingElse) {
    Random random(21);
    Counts counts;
    for (const char* const name : {"mlp", "gpt"}) {
        SCOPED_TRACE(name);
        const Program program = with_constants_first(rematerialise(golden::programs(golden::recipes().at(name)).train));
        const MemoryPlan plan = plan_memory(program);
        ASSERT_NO_FATAL_FAILURE(expect_sound({program, plan, 4096}, 200, random, counts));
    }
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        const Program deep = testing::random_program(seed), any = testing::any_program(seed).program;
        const MemoryPlan fast = plan_memory(deep), isolated = plan_memory(any, {true, true, Fusion::none});
        ASSERT_NO_FATAL_FAILURE(expect_sound({deep, fast, 64}, 40, random, counts));
        ASSERT_NO_FATAL_FAILURE(expect_sound({any, isolated, 64}, 40, random, counts));
    }
    // Most damages are seen by both, so that neither is blind.
    EXPECT_GT(counts.wrong, counts.refused / 2) << counts.refused << " refused, " << counts.accepted << " accepted";
    EXPECT_GT(counts.refused, counts.accepted);
    RecordProperty("accepted", counts.accepted);
    RecordProperty("refused", counts.refused);
    RecordProperty("wrong", counts.wrong);
}

}  // namespace
}  // namespace retrace::kernels
