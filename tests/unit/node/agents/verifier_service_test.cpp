// SPDX-License-Identifier: MIT
// A verifier reads the chain through an untrusted node: unreadable records give no view, impossible records cause no
// moves, and the next block is read anew.
#include "node/agents/verifier_service.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "contracts/records/store.hpp"
#include "kernels/commit/contract.hpp"
#include "market/types.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/artifacts/aes_gcm_seal.hpp"
#include "node/server/config/params_json.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/fake_node.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using Ids = contracts::ListOf<std::uint64_t>;

struct ToldVerifier : testing::Test {
    test::TemporaryFolder folder;
    test::FakeNode chain;
    const ledger::SecretKey key = ledger::SecretKey::random();
    market::Params params = [] {
        market::Params out = default_params();
        out.contract_hash = kernels::contract_hash();
        return out;
    }();
    const std::string endpoint = "http://verifier.example:1";

    ToldVerifier() {
        chain.put(keys::params(), params);
        market::Stake stake;
        stake.bonded = params.min_verifier_stake;
        chain.put(keys::stake(key.address()), stake);
        market::VerifierInfo info;
        info.endpoint = endpoint;
        info.member = true;
        info.joined_epoch = 1'000'000;  // It owes no reveal.
        chain.put(keys::verifier(key.address()), info);
    }
    std::unique_ptr<VerifierService> open() {
        VerifierOptions options;
        options.agent.node_url = chain.url();
        options.agent.data_dir = folder.path() / "verifier";
        options.agent.endpoint = endpoint;
        options.agent.threads = 1;
        options.agent.poll = std::chrono::milliseconds(5);
        options.watch_bp = 10'000;
        auto service = VerifierService::open(options, *ledger::SecretKey::from_bytes(key.bytes()));
        EXPECT_TRUE(service.has_value()) << (service ? "" : service.error().message);
        return service ? std::move(*service) : nullptr;
    }
    /// The checkpoints as the service sees them; not to be called while it runs.
    std::unique_ptr<solver::CheckpointStore> checkpoints() {
        const Hash32 secret = merkle::sha256({view(std::string_view("retrace/party-secret/1")), key.bytes()});
        return *solver::CheckpointStore::open(folder.path() / "verifier" / "checkpoints",
                                              std::make_unique<AesGcmSeal>(secret));
    }
    /// Runs the service for so many blocks. Each is read anew.
    void run(int blocks) {
        const auto service = open();
        ASSERT_NE(service, nullptr);
        std::atomic<bool> stop{false};
        std::thread running([&] { EXPECT_TRUE(service->run(stop)); });
        for (int block = 0; block < blocks; ++block) {
            const int before = chain.asked_for_slots;
            ++chain.height;
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            while (chain.asked_for_slots == before && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            EXPECT_GT(chain.asked_for_slots, before) << "block " << block;
        }
        stop = true;
        running.join();
    }
};

TEST_F(ToldVerifier, ReadsBlockAfterBlockAndSendsNothingUnasked) {
    run(3);
    EXPECT_EQ(chain.sent, 0);
}

TEST_F(ToldVerifier, OutlivesRecordsThatNobodyWrote) {
    const market::Stake nonsense;  // Stored in place of another record.
    market::Task task;
    task.id = 1;
    task.state = market::TaskState::running;
    task.active = {0, 7};
    chain.put(keys::active_tasks(), Ids{{1, 2, UINT64_MAX}});
    chain.put(keys::task(1), task);
    chain.put(keys::spec(1), nonsense);
    market::TaskSpec spec;
    spec.program_root = spec.init_root = Hash32{{1}};
    spec.program_bytes = spec.steps = spec.interval = spec.finish_blocks = 1;
    spec.price_ceiling = ledger::U256(1);
    spec.audit_bp = spec.auditors = spec.replicas = 1;
    market::Run endless;
    endless.task = task.id = 2;
    endless.solver = ledger::Address{{1}};
    endless.state = market::RunState::running;
    endless.next_state = UINT64_MAX;
    chain.put(keys::task(2), task);
    chain.put(keys::spec(2), spec);
    chain.put(keys::run(2, 0), endless);
    chain.put(keys::run(1, 0), nonsense);
    chain.put(keys::audit_count(), contracts::Counter{UINT64_MAX});
    chain.put(keys::retention_count(), contracts::Counter{3});
    chain.put(keys::retention(3), nonsense);
    chain.put(keys::open_audits(key.address()), Ids{{5, 6}});
    chain.put(keys::audit(5), nonsense);
    chain.put(keys::open_disputes(key.address()), Ids{{9}});
    chain.put(keys::dispute(9), nonsense);
    chain.put(keys::game(9), nonsense);
    run(3);
    EXPECT_EQ(chain.sent, 0);
}

/// A failed read deletes nothing, while states that no view needs are deleted.
TEST_F(ToldVerifier, DeletesNothingForWhatCannotBeRead) {
    kernels::State state;
    state.tensors.push_back(test::random_tensor(kernels::DType::f32, {4, 3}, 1));
    kernels::ThreadPool pool(1);
    const solver::CheckpointKey kept{1, 0, 3};
    {
        const auto store = checkpoints();
        ASSERT_TRUE(store->save(kept, kernels::commit_state({}, state, pool), state).has_value());
        ASSERT_TRUE(store->retain(kept, true).has_value());
    }
    chain.unreadable_from = chain.height + 1;
    run(3);
    EXPECT_TRUE(checkpoints()->load(kept, pool).has_value());
    chain.unreadable_from = UINT64_MAX;
    run(3);
    EXPECT_FALSE(checkpoints()->load(kept, pool).has_value()) << "the chain knows of no such task";
    EXPECT_EQ(chain.sent, 0);
}

}  // namespace
}  // namespace retrace::node
