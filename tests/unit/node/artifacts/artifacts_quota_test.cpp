// SPDX-License-Identifier: MIT
// Quotas for data on a node's disk: as much as an escrow covers and a requester's and operator's limits allow, for as
// long as a task needs it.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "kernels/program/codec.hpp"
#include "node/artifacts/charge.hpp"
#include "node/artifacts/quota.hpp"
#include "node/server/artifact_extension.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/rpc_market_world.hpp"

namespace retrace::node {
namespace {

using kernels::DType;
using testing::HasSubstr;
using Owner = ArtifactQuota::Owner;

Hash32 root_at(std::uint8_t n) { return Hash32{{n}}; }
Fault quota_fault(const Status<Failure>& status) { return status ? Fault{} : status.error().fault; }

TEST(ArtifactQuota, ATaskHasWhatItsEscrowStandsFor) {
    ArtifactQuota quota({.total = 10'000, .requester = 10'000});
    const std::vector<Owner> owner{{1, "alice", 100}};
    EXPECT_TRUE(quota.charge(root_at(1), 60, owner));
    EXPECT_TRUE(quota.charge(root_at(1), 60, owner)) << "once, however often it is asked";
    EXPECT_EQ(quota.of_task(1), 60u);
    const auto refused = quota.charge(root_at(2), 41, owner);
    EXPECT_EQ(quota_fault(refused), Fault::over_quota);
    EXPECT_THAT(refused.error().message, HasSubstr("the escrow of task 1"));
    EXPECT_THAT(refused.error().message, HasSubstr("higher price ceiling"));
    EXPECT_TRUE(quota.charge(root_at(2), 40, owner));
    quota.release(root_at(1));
    EXPECT_EQ(quota.of_requester("alice"), 40u);
    EXPECT_TRUE(quota.charge(root_at(3), 60, owner));
    EXPECT_EQ(quota_fault(quota.charge(root_at(4), UINT64_MAX, owner)), Fault::over_quota) << "sums do not wrap";
}

TEST(ArtifactQuota, ARequesterHasSoMuchHoweverManyItsTasks) {
    ArtifactQuota quota({.total = 1'000, .requester = 100});
    for (std::uint8_t task = 1; task <= 4; ++task)
        EXPECT_TRUE(quota.charge(root_at(task), 25, {{task, "alice", 1'000}}));
    const auto refused = quota.charge(root_at(5), 1, {{5, "alice", 1'000}});
    EXPECT_EQ(quota_fault(refused), Fault::over_quota);
    EXPECT_THAT(refused.error().message, HasSubstr("one requester"));
    EXPECT_TRUE(quota.charge(root_at(5), 100, {{6, "bob", 1'000}})) << "which is not another's affair";
}

TEST(ArtifactQuota, AllHaveSoMuch) {
    ArtifactQuota quota({.total = 100, .requester = 100});
    EXPECT_TRUE(quota.charge(root_at(1), 60, {{1, "alice", 1'000}}));
    const auto refused = quota.charge(root_at(2), 41, {{2, "bob", 1'000}});
    EXPECT_EQ(quota_fault(refused), Fault::over_quota);
    EXPECT_THAT(refused.error().message, HasSubstr("--artifact-quota"));
    EXPECT_EQ(quota.total(), 60u);
}

// A requester that names another's data cannot keep the other from storing it: an owner with room is charged.
TEST(ArtifactQuota, AnOwnerWithRoomPaysForWhatSeveralName) {
    ArtifactQuota quota({.total = 1'000, .requester = 100});
    const std::vector<Owner> both{{1, "mallory", 5}, {2, "alice", 50}};
    EXPECT_TRUE(quota.charge(root_at(1), 50, both));
    EXPECT_EQ(quota.of_requester("mallory"), 0u);
    EXPECT_EQ(quota.of_requester("alice"), 50u);
    EXPECT_EQ(quota_fault(quota.charge(root_at(2), 10, {})), Fault::not_wanted);
}

TEST(ArtifactQuota, WhatAnEndedTaskLeavesIsKeptByALiveOneWithRoomOnly) {
    ArtifactQuota quota({1000, 1000});
    const Owner large{1, "alice", 500}, small{2, "bob", 100};
    for (const int n : {1, 2}) ASSERT_TRUE(quota.charge(root_at(n), 80, {large, small}));
    const std::map<Hash32, std::uint64_t> stored{{root_at(1), 80}, {root_at(2), 80}};
    EXPECT_TRUE(quota.settle(stored, [&](const Hash32&) { return std::vector<Owner>{large, small}; }).empty());
    const auto unpaid = quota.settle(stored, [&](const Hash32&) { return std::vector<Owner>{small}; });
    ASSERT_EQ(unpaid.size(), 1u);
    EXPECT_EQ(quota.of_task(2), 80u);
    EXPECT_EQ(quota.of_requester("alice"), 80u) << "until it is gone";
    EXPECT_EQ(quota.settle(stored, [&](const Hash32&) { return std::vector<Owner>{small}; }), unpaid)
        << "nor is it paid for later";
}

/// An operator may start a node again with a smaller quota than its store holds.
TEST(ArtifactQuota, WhatIsStoredMovesToATaskWithRoomThoughTheNodesLimitsAreLower) {
    const Owner ended{1, "alice", 500}, alive{2, "bob", 500};
    const std::map<Hash32, std::uint64_t> stored{{root_at(1), 80}, {root_at(2), 80}};
    for (const ArtifactQuota::Limits limits : {ArtifactQuota::Limits{100, 1000}, ArtifactQuota::Limits{1000, 100}}) {
        ArtifactQuota quota(limits);
        EXPECT_TRUE(quota.settle(stored, [&](const Hash32&) { return std::vector<Owner>{ended, alive}; }).empty());
        ASSERT_EQ(quota.of_task(1), 160u);
        EXPECT_TRUE(quota.settle(stored, [&](const Hash32&) { return std::vector<Owner>{alive}; }).empty());
        EXPECT_EQ(quota.of_task(2), 160u);
        EXPECT_EQ(quota_fault(quota.charge(root_at(3), 30, {alive})), Fault::over_quota) << "nothing new is stored";
    }
}

TEST(ArtifactQuota, WhatIsOverIsItsRequestersUntilItIsGone) {
    ArtifactQuota quota({.total = 1'000, .requester = 100});
    EXPECT_TRUE(quota.charge(root_at(1), 80, {{1, "alice", 100}}));
    EXPECT_TRUE(quota.charge(root_at(2), 10, {{1, "alice", 100}}));
    const auto nobody = [](const Hash32&) { return std::vector<Owner>{}; };
    quota.settle({{root_at(1), 80}, {root_at(9), 7}}, nobody);
    EXPECT_EQ(quota.of_requester("alice"), 80u) << "the second was never written";
    EXPECT_EQ(quota.of_task(1), 0u);
    EXPECT_EQ(quota.total(), 87u) << "what an earlier process left counts";
    EXPECT_EQ(quota_fault(quota.charge(root_at(3), 21, {{2, "alice", 100}})), Fault::over_quota);
    quota.settle({{root_at(1), 80}}, [](const Hash32&) { return std::vector<Owner>{{2, "bob", 100}}; });
    EXPECT_EQ(quota.of_requester("alice"), 0u) << "another's task needs it now";
    EXPECT_EQ(quota.of_task(2), 80u);
    quota.settle({}, nobody);
    EXPECT_EQ(quota.total(), 0u);
    quota.release(root_at(1));
    EXPECT_TRUE(quota.charge(root_at(4), 10, {{1, "alice", 100}}));
    quota.settle({}, nobody, {root_at(4)});
    EXPECT_EQ(quota.of_task(1), 10u) << "it is about to be written";
}

/// A node's store and a chain on which tasks are posted and cancelled.
class NodeArtifacts : public test::MarketWorld {
protected:
    void open(const ArtifactsConfig& config,
              std::chrono::milliseconds garbage_interval = ArtifactExtension::kGarbageInterval) {
        extension_ = std::make_unique<ArtifactExtension>(test::open_store(folder_.path() / "node"), *world.chain,
                                                         *world.application, config, garbage_interval);
    }
    market::TaskSpec spec_of(const std::vector<Hash32>& data) const {
        market::TaskSpec out = spec();
        out.program_root = *program_;
        out.program_bytes = kernels::encode(test::doubling_program()).size();
        out.data_roots = data;
        return out;
    }
    ledger::U256 post(const market::TaskSpec& task, std::uint32_t requester = 0) {
        const auto escrow = market::escrow_of(task, params())->total();
        send(requester, contracts::PostTask{task}, escrow);
        world.mine();
        return escrow;
    }
    void cancel(std::uint64_t task) {
        send(0, contracts::CancelTask{task});
        world.mine();
    }
    /// Settles the task as if it had been trained and delivered.
    void settle(std::uint64_t id) {
        executor.beside_the_rules = [id](ledger::State& state) {
            auto over = *contracts::views::task(state, id);
            if (over.state == market::TaskState::settled) return;
            over.state = market::TaskState::settled;
            contracts::store(state, contracts::keys::task(id), over);
            contracts::remove_from_list(state, contracts::keys::active_tasks(), id);
        };
        mine_to(world.chain->height() + 1);
        executor.beside_the_rules = nullptr;
    }
    HttpReply put(const Hash32& root, const std::string& what, Bytes body) {
        return extension_->server().handle({"PUT", "/artifact/" + to_hex(view(root)) + "/" + what, std::move(body)});
    }
    HttpReply put_tensor(const Hash32& root) {
        return put(root, "tiles", wire::encode(*source_->tiles(root, 0, 1024)));
    }
    unsigned status_of(const Hash32& root) {
        const std::string target = "/artifact/" + to_hex(view(root)) + "/tiles?first=0&count=1";
        return extension_->server().handle({"GET", target, {}}).status;
    }
    static std::string message_of(const HttpReply& reply) {
        const auto refusal = wire::decode_refusal(reply.body);
        return refusal ? refusal->slug + ": " + refusal->message : "";
    }
    static bool comes(const std::function<bool()>& what) {
        for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
             std::chrono::steady_clock::now() < end;) {
            if (what()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return false;
    }

    test::TemporaryFolder folder_;
    std::unique_ptr<Store> source_ = test::open_store(folder_.path() / "source");
    Result<Hash32, Failure> program_ = source_->put_program(kernels::encode(test::doubling_program()));
    Hash32 small_ = *source_->put_tensor(test::random_tensor(DType::u8, {64, 64}, 1));
    Hash32 other_ = *source_->put_tensor(test::random_tensor(DType::u8, {64, 64}, 2));
    Hash32 large_ = *source_->put_tensor(test::random_tensor(DType::u8, {1024, 1024}, 3));
    std::unique_ptr<ArtifactExtension> extension_;
};

TEST_F(NodeArtifacts, TakeWhatAnEscrowStandsFor) {
    open({.quota_mib = 100, .requester_quota_mib = 100, .mib_per_coin = 1});
    const ledger::U256 escrow = post(spec_of({small_, large_}));
    const std::uint64_t room = ArtifactExtension::bytes_of(escrow, 1);
    ASSERT_GT(room, 10'000u);
    ASSERT_LT(room, 1u << 20) << "or the large one fits";
    EXPECT_EQ(put_tensor(small_).status, 204u);
    const HttpReply refused = put_tensor(large_);
    EXPECT_EQ(refused.status, 507u);
    EXPECT_THAT(message_of(refused), HasSubstr("over_quota: an artifact of 2 MiB does not fit: the escrow of task 1"));
    EXPECT_EQ(status_of(large_), 404u) << "nothing of it was begun";
    EXPECT_EQ(put(*program_, "program", *source_->program_file(*program_)).status, 204u);
}

/// Numbers of four bytes take two blocks and two inodes each: charged by their bytes, they fill a disk for a coin.
TEST_F(NodeArtifacts, AreChargedTheMinimumEachHoweverSmall) {
    constexpr std::uint64_t kQuota = 2 << 20;
    open({.quota_mib = 100, .requester_quota_mib = kQuota >> 20, .mib_per_coin = 1024});
    kernels::State numbers{0, {}};
    for (unsigned i = 0; i < 64; ++i) numbers.tensors.push_back(test::random_tensor(DType::f32, {1}, i));
    const Hash32 state = *source_->put_state(*program_, numbers);
    const wire::StateManifest manifest = *source_->manifest(state);
    const Bytes file = wire::encode(manifest);
    market::TaskSpec task = spec_of({small_});
    task.initial_state_root = state;
    post(task);
    ASSERT_EQ(put(state, "state", file).status, 204u);
    const std::uint64_t fit = (kQuota - state_charge(file.size())) / kArtifactBytesMin;
    ASSERT_LT(fit, numbers.tensors.size());
    for (std::uint64_t i = 0; i < fit; ++i) ASSERT_EQ(put_tensor(manifest.tensor_roots[i]).status, 204u) << i;
    EXPECT_THAT(message_of(put_tensor(manifest.tensor_roots[fit])), HasSubstr("over_quota"));
    extension_ = nullptr;  // After a restart the charges follow from the files.
    open({.quota_mib = 100, .requester_quota_mib = kQuota >> 20, .mib_per_coin = 1024});
    EXPECT_THAT(message_of(put_tensor(manifest.tensor_roots[fit])), HasSubstr("over_quota"));
}

/// The names stay in the node's memory, whether or not the tensors ever come.
TEST_F(NodeArtifacts, OfAStateAreChargedForTheTensorsThatItNames) {
    open({.quota_mib = 100, .requester_quota_mib = 1, .mib_per_coin = 1024});
    wire::StateManifest manifest{{}, *program_, 0, {}};
    while (manifest.tensor_roots.size() < 100)
        manifest.tensor_roots.push_back(root_at(static_cast<std::uint8_t>(manifest.tensor_roots.size() + 1)));
    market::TaskSpec task = spec_of({small_});
    task.initial_state_root = manifest.root();
    post(task);
    EXPECT_THAT(message_of(put(manifest.root(), "state", wire::encode(manifest))), HasSubstr("one requester"));
    manifest.tensor_roots.resize(50);
    task.initial_state_root = manifest.root();
    post(task);
    EXPECT_EQ(put(manifest.root(), "state", wire::encode(manifest)).status, 204u);
}

TEST_F(NodeArtifacts, TakeNoLongerProgramThanATaskDeclares) {
    open({.quota_mib = 100, .requester_quota_mib = 100, .mib_per_coin = 1024});
    market::TaskSpec lies = spec_of({small_});
    lies.program_bytes -= 1;
    post(lies);
    EXPECT_THAT(message_of(put(*program_, "program", *source_->program_file(*program_))), HasSubstr("too_large"));
    post(spec_of({other_}));
    EXPECT_EQ(put(*program_, "program", *source_->program_file(*program_)).status, 204u) << "of whom says it rightly";
}

TEST_F(NodeArtifacts, OfACancelledTaskGoAtOnce) {
    open({.quota_mib = 100, .requester_quota_mib = 100, .mib_per_coin = 1024});
    post(spec_of({small_, large_}));
    post(spec_of({small_, other_}));
    for (const Hash32& root : {small_, other_}) ASSERT_EQ(put_tensor(root).status, 204u);
    ASSERT_EQ(put_tensor(large_).status, 204u);
    ASSERT_EQ(put(*program_, "program", *source_->program_file(*program_)).status, 204u);
    cancel(1);
    const auto known = [&](const Hash32& root) {
        const auto reply = extension_->server().handle({"GET", "/artifact/" + to_hex(view(root)) + "/info", {}});
        const auto info = wire::decode_info(reply.body);
        return reply.status == 200 && info && info->kind != wire::Kind::unknown;
    };
    EXPECT_TRUE(comes([&] { return !known(large_); }));
    EXPECT_TRUE(known(small_)) << "which the second task needs";
    EXPECT_TRUE(known(*program_));
    EXPECT_EQ(put_tensor(large_).status, 403u) << "nor is it taken any more";
    cancel(2);
    EXPECT_TRUE(comes([&] { return !known(small_) && !known(other_) && !known(*program_); }));
}

TEST_F(NodeArtifacts, OfACancelledTaskCountNoMore) {
    open({.quota_mib = 2, .requester_quota_mib = 2, .mib_per_coin = 1024});
    const Hash32 state = *source_->put_state(*program_, {0, {test::random_tensor(DType::u8, {1024, 1024}, 4)}});
    market::TaskSpec task = spec_of({small_});
    task.initial_state_root = state;
    const Hash32 tensor = source_->manifest(state)->tensor_roots[0];
    post(task);
    ASSERT_EQ(put(state, "state", wire::encode(*source_->manifest(state))).status, 204u);
    ASSERT_EQ(put_tensor(tensor).status, 204u);
    post(spec_of({large_}));
    EXPECT_THAT(message_of(put_tensor(large_)), HasSubstr("over_quota"));
    cancel(1);
    EXPECT_TRUE(comes([&] { return status_of(tensor) == 404u; }));
    EXPECT_EQ(put_tensor(large_).status, 204u);
}

/// A small task that names the data of a large one does not keep them when the large one takes its escrow back.
TEST_F(NodeArtifacts, OfACancelledTaskGoWhereNoEscrowStandsForThem) {
    open({.quota_mib = 100, .requester_quota_mib = 100, .mib_per_coin = 1}, std::chrono::milliseconds(20));
    market::TaskSpec large = spec_of({large_});
    large.price_ceiling = large.price_ceiling * ledger::U256(1'000);
    post(large);
    post(spec_of({large_}), 1);
    ASSERT_EQ(put_tensor(large_).status, 204u);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(status_of(large_), 200u);
    cancel(1);
    EXPECT_TRUE(comes([&] { return status_of(large_) == 404u; }));
    EXPECT_THAT(message_of(put_tensor(large_)), HasSubstr("the escrow of task 2"));
}

/// Who names a tensor of another's state and cancels does not delete it.
TEST_F(NodeArtifacts, OfAStateStayWhenAnotherThatNamedThemCancels) {
    open({.quota_mib = 100, .requester_quota_mib = 100, .mib_per_coin = 1024});
    const Hash32 state = *source_->put_state(*program_, {0, {test::random_tensor(DType::f32, {4, 3}, 1)}});
    const Hash32 tensor = source_->manifest(state)->tensor_roots[0];
    market::TaskSpec task = spec_of({small_});
    task.initial_state_root = state;
    post(spec_of({tensor, other_}));
    post(task, 1);
    ASSERT_EQ(put(state, "state", wire::encode(*source_->manifest(state))).status, 204u);
    for (const Hash32& root : {tensor, other_}) ASSERT_EQ(put_tensor(root).status, 204u);
    cancel(1);
    EXPECT_TRUE(comes([&] { return status_of(other_) == 404u; }));
    EXPECT_EQ(put_tensor(other_).status, 403u) << "answered once everything of the cancelled task is gone";
    EXPECT_EQ(status_of(tensor), 200u);
}

TEST_F(NodeArtifacts, OfOneRequesterAreBounded) {
    open({.quota_mib = 100, .requester_quota_mib = 1, .mib_per_coin = 1024});
    post(spec_of({small_}));
    post(spec_of({large_}));
    EXPECT_EQ(put_tensor(small_).status, 204u);
    EXPECT_THAT(message_of(put_tensor(large_)), HasSubstr("one requester"));
    cancel(1);
    EXPECT_TRUE(comes([&] { return status_of(small_) == 404u; }));
    EXPECT_THAT(message_of(put_tensor(large_)), HasSubstr("one requester")) << "with its head it is over a mebibyte";
    extension_ = nullptr;
    open({.quota_mib = 1, .requester_quota_mib = 2, .mib_per_coin = 1024});
    EXPECT_THAT(message_of(put_tensor(large_)), HasSubstr("--artifact-quota"));
}

TEST_F(NodeArtifacts, OfASettledTaskAreKeptWhateverAStrangerUploads) {
    open({.quota_mib = 2, .requester_quota_mib = 2, .mib_per_coin = 1024});
    post(spec_of({small_, large_}));
    for (const Hash32& root : {small_, large_}) ASSERT_EQ(put_tensor(root).status, 204u);
    settle(1);
    const Hash32 another = *source_->put_tensor(test::random_tensor(DType::u8, {1024, 1024}, 4));
    post(spec_of({another}), 1);
    const HttpReply refused = put_tensor(another);
    EXPECT_THAT(message_of(refused), HasSubstr("over_quota"));
    for (const Hash32& root : {small_, large_}) EXPECT_EQ(status_of(root), 200u);
}

TEST_F(NodeArtifacts, OfASettledTaskGiveWayToTheirRequestersNext) {
    open({.quota_mib = 100, .requester_quota_mib = 2, .mib_per_coin = 1024});
    post(spec_of({small_}));
    ASSERT_EQ(put_tensor(small_).status, 204u);
    settle(1);
    post(spec_of({large_}));
    ASSERT_EQ(put_tensor(large_).status, 204u);
    settle(2);
    post(spec_of({other_}));
    ASSERT_EQ(put_tensor(other_).status, 204u);
    const Hash32 huge = *source_->put_tensor(test::random_tensor(DType::u8, {2048, 1024}, 4));
    post(spec_of({huge}));
    EXPECT_THAT(message_of(put_tensor(huge)), HasSubstr("one requester"));
    for (const Hash32& root : {small_, large_}) EXPECT_EQ(status_of(root), 200u) << "it would go in vain";
    const Hash32 next = *source_->put_tensor(test::random_tensor(DType::u8, {1024, 1024}, 5));
    post(spec_of({next}));
    EXPECT_EQ(put_tensor(next).status, 204u);
    for (const Hash32& root : {small_, large_}) EXPECT_EQ(status_of(root), 404u) << "what settled first at first";
    EXPECT_EQ(status_of(other_), 200u) << "its task is alive";
}

}  // namespace
}  // namespace retrace::node
