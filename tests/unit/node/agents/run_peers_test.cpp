// SPDX-License-Identifier: MIT
// Whom an agent asks for a run's artifacts: nobody gets before its solver by having other runs.
#include "node/agents/run_peers.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Peers : ::testing::Test {
    ledger::test::EmptyView nothing;
    ledger::State state{nothing};

    static ledger::Address address(std::uint8_t n) { return ledger::Address{{n}}; }
    static std::string url(std::uint8_t n) { return "http://192.0.2." + std::to_string(n) + ":80"; }

    void add_task(std::uint64_t id, const std::vector<std::uint8_t>& solvers) {
        market::Task task;
        task.id = id;
        task.state = market::TaskState::running;
        task.runs = static_cast<std::uint32_t>(solvers.size());
        for (std::uint32_t i = 0; i < task.runs; ++i) {
            task.active.push_back(i);
            market::Run run;
            run.task = id;
            run.index = i;
            run.state = market::RunState::running;
            run.solver = address(solvers[i]);
            contracts::store(state, contracts::keys::run(id, i), run);
            market::SolverInfo info;
            info.endpoint = url(solvers[i]);
            contracts::store(state, contracts::keys::solver(address(solvers[i])), info);
        }
        contracts::store(state, contracts::keys::task(id), task);
    }
    void add_verifier(std::uint8_t n) {
        market::VerifierInfo info;
        info.member = true;
        info.endpoint = url(n);
        contracts::store(state, contracts::keys::verifier(address(n)), info);
        auto members = contracts::views::verifiers(state);
        members.push_back(address(n));
        contracts::store_list(state, contracts::keys::verifiers(), members);
    }
};

TEST_F(Peers, OfARunAreItsSolverThenItsTasksOthersAndStrangersLast) {
    add_task(1, {11, 12});  // a stranger's task with an older number
    add_task(2, {21, 22});
    add_verifier(31);
    RunPeers peers;
    for (const std::uint64_t task : {1, 2})
        for (const std::uint32_t run : {0u, 1u}) peers.add(state, {task, run});
    peers.add_verifiers(state);
    const PeerList list = peers.of({2, 1}, "http://self:80");
    EXPECT_THAT(list.first, ElementsAre(url(22), url(21)));
    EXPECT_THAT(list.others, ElementsAre(url(31), url(11), url(12)));
    EXPECT_THAT(peers.of({2, 1}, url(22)).first, ElementsAre(url(21))) << "nobody asks itself";
    EXPECT_THAT(peers.of({7, 0}, "").first, IsEmpty()) << "an unknown run";
}

TEST_F(Peers, OfARunThatStartsAtALaterStateAreItsKeepersAndItsMaker) {
    add_task(1, {11, 12});
    add_verifier(31);
    add_verifier(32);
    auto run = contracts::views::run(state, 1, 1).value();
    run.first_state = 4;
    run.first_root = Hash32{{9}};
    contracts::store(state, contracts::keys::run(1, 1), run);
    market::Checkpoint made;
    made.root = run.first_root;
    made.keepers = {address(32)};
    contracts::store(state, contracts::keys::checkpoint(1, 0, 4), made);
    RunPeers peers;
    peers.add(state, {1, 1});
    peers.add_verifiers(state);
    const PeerList list = peers.of({1, 1}, url(12));
    EXPECT_THAT(list.first, ElementsAre(url(32), url(11)));
    EXPECT_THAT(list.others, ElementsAre(url(31)));
}

}  // namespace
}  // namespace retrace::node
