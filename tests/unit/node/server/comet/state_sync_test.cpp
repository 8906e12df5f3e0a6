// SPDX-License-Identifier: MIT
// Snapshots over ABCI: a node that makes and offers them, and one that fetches one from peers that may lie.
#include "node/server/comet/state_sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "ledger/snapshot/snapshot_file.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/server/comet/abci_calls.hpp"
#include "node/server/comet/snapshot_provider.hpp"
#include "node/server/comet/snapshot_receiver.hpp"
#include "node/server/config/dev_chain.hpp"
#include "tests/unit/node/rpc_world.hpp"
#include "tests/unit/node/server/comet/abci_driver.hpp"

namespace retrace::node::test {
namespace {

using namespace std::chrono_literals;
using engine::SnapshotProvider;
using engine::SnapshotReceiver;
using testing::ElementsAre;
using testing::HasSubstr;
using Apply = abci::ResponseApplySnapshotChunk;
using Offer = abci::ResponseOfferSnapshot;

template <class Calls>
abci::Response ask(Calls& calls, const abci::Request& request) {
    const engine::AbciAnswer answer = calls.answer(to_message(request));
    abci::Response response;
    EXPECT_TRUE(response.ParseFromArray(answer.message.data(), static_cast<int>(answer.message.size())));
    return response;
}

std::string to_text(View bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A chain whose newest block has a few transactions, and its snapshots.
class Provider {
public:
    explicit Provider(int blocks) {
        for (int i = 0; i < blocks; ++i) grow();
    }
    void grow() {
        const auto to =
            ledger::parse_address("0x00000000000000000000000000000000000000b" + std::to_string(next_++ % 10));
        world.send(world.make_tx(0, *to, ledger::U256{5}));
        world.mine();
    }
    /// Writes the snapshot of the newest block in small chunks, as if the provider had made it.
    void export_small() {
        ledger::ExportOptions options;
        options.chunk_bytes = 200;
        const std::uint64_t height = world.chain->height();
        std::filesystem::create_directories(folder());
        const auto made = ledger::export_snapshot(world.store, world.chain->genesis(), height,
                                                  folder() + "/" + std::to_string(height), options);
        ASSERT_TRUE(made.has_value()) << made.error().message;
        ASSERT_GT(made->chunks.size(), 3U);
    }
    std::string folder() const { return world.folder.file("snapshots"); }
    std::unique_ptr<SnapshotProvider> start(std::uint64_t every = 1000) {
        return std::make_unique<SnapshotProvider>(world.store, world.chain->genesis(), folder(), every,
                                                  world.chain->height());
    }

    RpcWorld world;

private:
    int next_ = 0;
};

bool soon(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(2ms);
    return condition();
}

TEST(SnapshotOffers, AreMadeAtTheirHeightsAndTheNewestTwoAreKept) {
    Provider chain(3);
    const auto provider = chain.start(4);
    const auto offered = [&] {
        std::vector<std::uint64_t> heights;
        for (const auto& one : provider->list()) heights.push_back(one.header.height);
        return heights;
    };
    for (std::uint64_t height = 4; height <= 14; ++height) {
        chain.grow();
        provider->on_commit(height);
        if (height % 4 != 0) continue;
        ASSERT_TRUE(soon([&] { return provider->load(height, 0).has_value(); })) << height;
    }
    EXPECT_THAT(offered(), ElementsAre(8)) << "the light client needs blocks up to 15 for the newest";
    provider->on_commit(15);
    EXPECT_THAT(offered(), ElementsAre(12, 8));
    EXPECT_TRUE(soon([&] { return !std::filesystem::exists(chain.folder() + "/4"); }));
    const auto parts = static_cast<std::uint32_t>(1 + provider->list()[0].chunks.size());
    EXPECT_TRUE(provider->load(12, parts - 1).has_value());
    EXPECT_FALSE(provider->load(12, parts).has_value());
    EXPECT_FALSE(provider->load(4, 0).has_value());
    EXPECT_FALSE(provider->load(7, 0).has_value());
}

TEST(SnapshotOffers, ShowTheStateOfTheirHeightWhileLaterBlocksAreCommitted) {
    Provider chain(4);
    const auto provider = chain.start(4);
    provider->on_commit(4);
    for (int i = 0; i < 5; ++i) chain.grow();  // while it is made, or after
    provider->on_commit(9);
    ASSERT_TRUE(soon([&] { return !provider->list().empty(); }));
    EXPECT_EQ(provider->list()[0].header.height, 4U);
    ledger::MemoryStore other;
    const auto imported = ledger::import_snapshot(other, chain.world.chain->genesis(), chain.world.executor,
                                                  chain.folder() + "/4", chain.world.chain->block(4)->hash);
    EXPECT_TRUE(imported.has_value()) << imported.error().message;
}

TEST(SnapshotOffers, OutliveARestartUnlessTheyAreDamagedOrUnfinished) {
    Provider chain(3);
    chain.export_small();
    namespace fs = std::filesystem;
    fs::create_directories(chain.folder() + "/2");           // no manifest
    fs::create_directories(chain.folder() + "/9.partial");   // never finished
    fs::copy(chain.folder() + "/3", chain.folder() + "/7");  // of another height
    fs::create_directories(chain.folder() + "/notes");       // somebody else's
    EXPECT_TRUE(chain.start()->list().empty()) << "the light client needs three more blocks";
    for (int i = 0; i < 3; ++i) chain.grow();
    const auto provider = chain.start();  // A node that makes no block offers what it has.
    ASSERT_EQ(provider->list().size(), 1U);
    EXPECT_EQ(provider->list()[0].header.height, 3U);
    for (const char* gone : {"/2", "/9.partial", "/7"}) EXPECT_FALSE(fs::exists(chain.folder() + gone)) << gone;
    EXPECT_TRUE(fs::exists(chain.folder() + "/notes"));
    std::ofstream(chain.folder() + "/3/000001", std::ios::app) << "more";
    EXPECT_TRUE(provider->load(3, 1).has_value());
    EXPECT_FALSE(provider->load(3, 2).has_value()) << "a damaged part is not sent";
}

class StateSync : public testing::Test {
protected:
    StateSync() : chain_(3) {
        chain_.export_small();
        provider_ = chain_.start();
        provider_->on_commit(6);
        engine::AbciCallsOptions offering;
        offering.snapshots = provider_.get();
        offers_ = std::make_unique<engine::AbciCalls>(*chain_.world.application, std::move(offering));
        engine::SnapshotReceiverOptions receiving;
        receiving.on_done = [this](const ledger::Imported& imported) { done_ = imported.height; };
        receiving.on_fatal = [this](const std::string& why) { fatal_ = why; };
        receiver_ = std::make_unique<SnapshotReceiver>(store_, chain_.world.chain->genesis(), chain_.world.executor,
                                                       std::move(receiving));
    }

    abci::Snapshot offered() {
        abci::Request request;
        request.mutable_list_snapshots();
        return ask(*offers_, request).list_snapshots().snapshots(0);
    }
    std::string part(std::uint32_t index) {
        abci::Request request;
        request.mutable_load_snapshot_chunk()->set_height(3);
        request.mutable_load_snapshot_chunk()->set_format(1);
        request.mutable_load_snapshot_chunk()->set_chunk(index);
        return ask(*offers_, request).load_snapshot_chunk().chunk();
    }
    /// What CometBFT's light client verifies: what the chain answered to FinalizeBlock at that height.
    std::string app_hash() const { return to_text(view(chain_.world.application->info().app_hash)); }

    Offer::Result offer(const abci::Snapshot& snapshot, const std::string& app_hash) {
        abci::Request request;
        *request.mutable_offer_snapshot()->mutable_snapshot() = snapshot;
        request.mutable_offer_snapshot()->set_app_hash(app_hash);
        return ask(*receiver_, request).offer_snapshot().result();
    }
    Apply apply(std::uint32_t index, const std::string& bytes, const std::string& sender = "peer") {
        abci::Request request;
        request.mutable_apply_snapshot_chunk()->set_index(index);
        request.mutable_apply_snapshot_chunk()->set_chunk(bytes);
        request.mutable_apply_snapshot_chunk()->set_sender(sender);
        return ask(*receiver_, request).apply_snapshot_chunk();
    }
    void apply_all() {
        for (std::uint32_t i = 0; i < offered().chunks(); ++i)
            EXPECT_EQ(apply(i, part(i)).result(), Apply::ACCEPT) << i;
    }
    abci::ResponseInfo info() {
        abci::Request request;
        request.mutable_info()->set_version("0.38.25");
        request.mutable_info()->set_abci_version("2.0.0");
        return ask(*receiver_, request).info();
    }
    abci::Response finalize() {
        abci::Request request;
        request.mutable_finalize_block()->set_height(4);
        return ask(*receiver_, request);
    }

    Provider chain_;
    std::unique_ptr<SnapshotProvider> provider_;
    std::unique_ptr<engine::AbciCalls> offers_;
    ledger::MemoryStore store_;
    std::unique_ptr<SnapshotReceiver> receiver_;
    std::uint64_t done_ = 0;
    std::string fatal_;
};

TEST_F(StateSync, MakesAChainThatGoesOnToTheSameBlocks) {
    EXPECT_TRUE(engine::wants_state_sync(store_));
    EXPECT_EQ(info().last_block_height(), 0);
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    apply_all();
    EXPECT_EQ(info().last_block_height(), 3);
    EXPECT_EQ(info().last_block_app_hash(), app_hash());
    EXPECT_EQ(done_, 0U);
    EXPECT_TRUE(engine::wants_state_sync(store_)) << "CometBFT may still lose what it has verified";
    EXPECT_THAT(finalize().exception().error(), HasSubstr("has its snapshot"));
    EXPECT_EQ(done_, 3U);
    EXPECT_EQ(fatal_, "");
    EXPECT_FALSE(engine::wants_state_sync(store_));

    const auto chain = ledger::Chain::open(store_, chain_.world.chain->genesis(), chain_.world.executor);
    ASSERT_TRUE(chain.has_value()) << chain.error().message;
    EXPECT_EQ((*chain)->tip()->hash, chain_.world.chain->tip()->hash);
    EXPECT_EQ((*chain)->oldest_block(), 3U);
    chain_.grow();
    const auto next = chain_.world.chain->tip();
    ledger::BlockInput input;
    input.height = 4;
    input.time_ns = next->header.time_ns;
    input.proposer = next->header.proposer;
    const Bytes raw = to_bytes(next->txs[0].bytes());
    const View txs[] = {raw};
    input.txs = txs;
    const auto outcome = (*chain)->execute_block(input);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->block->hash, next->hash);
}

TEST_F(StateSync, BelievesNoManifestBeyondTheAppHash) {
    const abci::Snapshot good = offered();
    EXPECT_EQ(offer(good, std::string(32, 'x')), Offer::REJECT_SENDER);
    EXPECT_EQ(offer(good, ""), Offer::REJECT);
    abci::Snapshot bad = good;
    bad.set_format(2);
    EXPECT_EQ(offer(bad, app_hash()), Offer::REJECT_FORMAT);
    bad = good;
    bad.set_height(4);
    EXPECT_EQ(offer(bad, app_hash()), Offer::REJECT_SENDER);
    bad = good;
    bad.set_chunks(good.chunks() + 1);
    EXPECT_EQ(offer(bad, app_hash()), Offer::REJECT_SENDER);
    bad = good;
    bad.set_hash(std::string(32, 'h'));
    EXPECT_EQ(offer(bad, app_hash()), Offer::REJECT_SENDER);
    bad = good;
    bad.set_metadata("manifest");
    EXPECT_EQ(offer(bad, app_hash()), Offer::REJECT_SENDER);
    // A header with another time: it has the state's root, and another hash.
    auto manifest = provider_->list()[0];
    ++manifest.header.time_ns;
    bad = good;
    bad.set_metadata(to_text(ledger::encode(manifest)));
    bad.set_hash(to_text(view(ledger::snapshot_root(manifest))));
    EXPECT_EQ(offer(bad, app_hash()), Offer::REJECT_SENDER);
    EXPECT_EQ(apply(0, part(0)).result(), Apply::REJECT_SNAPSHOT) << "none was accepted";
    EXPECT_EQ(offer(good, app_hash()), Offer::ACCEPT);
}

TEST_F(StateSync, AsksAnotherPeerForADamagedPart) {
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    EXPECT_EQ(apply(0, part(0)).result(), Apply::ACCEPT);
    for (const std::string& damaged : {part(1) + "x", part(2), std::string()}) {
        const Apply refused = apply(1, damaged, "liar");
        EXPECT_EQ(refused.result(), Apply::RETRY);
        EXPECT_THAT(refused.refetch_chunks(), ElementsAre(1U));
        EXPECT_THAT(refused.reject_senders(), ElementsAre("liar"));
    }
    for (std::uint32_t i = 1; i < offered().chunks(); ++i) EXPECT_EQ(apply(i, part(i)).result(), Apply::ACCEPT);
    EXPECT_EQ(info().last_block_height(), 3);
}

TEST_F(StateSync, RejectsAWrongStateWithAllWhoSentIt) {
    // Its digests are right: only the root of the whole state shows it.
    auto manifest = provider_->list()[0];
    std::string chunk = part(1);
    chunk.back() = static_cast<char>(chunk.back() ^ 1);
    manifest.chunks[0].digest = merkle::sha256(view(std::string_view(chunk)));
    abci::Snapshot bad = offered();
    bad.set_metadata(to_text(ledger::encode(manifest)));
    bad.set_hash(to_text(view(ledger::snapshot_root(manifest))));
    ASSERT_EQ(offer(bad, app_hash()), Offer::ACCEPT);
    EXPECT_EQ(apply(0, part(0), "first").result(), Apply::ACCEPT);
    EXPECT_EQ(apply(1, chunk, "second").result(), Apply::ACCEPT);
    Apply last;
    for (std::uint32_t i = 2; i < bad.chunks(); ++i) last = apply(i, part(i), "second");
    EXPECT_EQ(last.result(), Apply::REJECT_SNAPSHOT);
    EXPECT_THAT(last.reject_senders(), ElementsAre("first", "second"));
    EXPECT_EQ(info().last_block_height(), 0);
    EXPECT_TRUE(engine::wants_state_sync(store_));
    // The next one fills the store anew.
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    apply_all();
    finalize();
    EXPECT_EQ(done_, 3U);
}

TEST_F(StateSync, BeginsAnewWhenPartsComeOutOfOrderOrCometStartsAgain) {
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    EXPECT_EQ(apply(1, part(1)).result(), Apply::RETRY_SNAPSHOT);
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    apply_all();
    EXPECT_EQ(apply(offered().chunks(), "more").result(), Apply::RETRY);
    // CometBFT died before it had stored what it verified.
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    EXPECT_EQ(info().last_block_height(), 0);
    apply_all();
    finalize();
    EXPECT_EQ(done_, 3U);
}

TEST_F(StateSync, WritesNothingWhenItIsAskedToProposeOrToVote) {
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    apply_all();
    abci::Request request;
    request.mutable_process_proposal()->set_height(4);
    EXPECT_EQ(ask(*receiver_, request).process_proposal().status(), abci::ResponseProcessProposal::ACCEPT);
    request.mutable_prepare_proposal()->set_height(4);
    EXPECT_TRUE(ask(*receiver_, request).has_exception()) << "CometBFT has no validator's key here";
    EXPECT_TRUE(engine::wants_state_sync(store_)) << "CometBFT has no block yet from which it could go on";
    EXPECT_EQ(done_, 0U);
}

/// What a data directory looks like to a start with or without --sync-from.
TEST_F(StateSync, AnInterruptedOneIsNamedAndBlocksAreNotThrownAway) {
    namespace fs = std::filesystem;
    engine::CometHome home;
    home.folder = fs::path(chain_.world.folder.file("node")) / "comet";
    home.sync = engine::SyncSource{{"http://127.0.0.1:1", "http://127.0.0.1:2"}, 5, std::string(64, 'a')};
    const auto sync = [&] {
        const auto done =
            engine::sync_state(home, "/bin/false", store_, chain_.world.chain->genesis(), chain_.world.executor);
        return done ? std::string() : done.error().message;
    };
    const fs::path blocks = home.folder / "data" / "blockstore.db", mark = home.folder / "syncing";
    fs::create_directories(blocks);
    EXPECT_THAT(sync(), HasSubstr("from which the ledger can be made again"));
    EXPECT_TRUE(fs::exists(blocks));
    EXPECT_FALSE(fs::exists(mark));
    home.sync->nodes.pop_back();
    std::ofstream(mark) << "";
    EXPECT_THAT(sync(), HasSubstr("at least two nodes"));
    EXPECT_TRUE(fs::exists(blocks)) << "flags are checked first";

    EXPECT_THAT(engine::end_state_sync(home, store_).error().message, HasSubstr("start with --sync-from again"));
    EXPECT_TRUE(fs::exists(mark));
    EXPECT_TRUE(engine::end_state_sync(home, chain_.world.store).has_value());
    EXPECT_FALSE(fs::exists(mark));
    EXPECT_TRUE(engine::end_state_sync(home, store_).has_value());
}

TEST_F(StateSync, ABlockOfACometThatHasEndedFinishesNothing) {
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    apply_all();
    EXPECT_TRUE(receiver_->begin_again());
    EXPECT_TRUE(finalize().has_exception()) << "its home is emptied: the ledger would be ahead of it for ever";
    EXPECT_TRUE(engine::wants_state_sync(store_));
    ASSERT_EQ(offer(offered(), app_hash()), Offer::ACCEPT);
    apply_all();
    finalize();
    EXPECT_EQ(done_, 3U);
    EXPECT_FALSE(receiver_->begin_again());
}

TEST_F(StateSync, MakesNoBlocksWithoutASnapshotAndTakesNoOtherChain) {
    EXPECT_THAT(finalize().exception().error(), HasSubstr("before it has fetched a snapshot"));
    EXPECT_THAT(fatal_, HasSubstr("before it has fetched a snapshot"));
    ledger::Genesis other = dev_genesis({});
    other.chain_id = 77;
    SnapshotReceiver foreign(store_, other, chain_.world.executor, {});
    abci::Request request;
    *request.mutable_offer_snapshot()->mutable_snapshot() = offered();
    request.mutable_offer_snapshot()->set_app_hash(app_hash());
    EXPECT_EQ(ask(foreign, request).offer_snapshot().result(), Offer::REJECT_SENDER);
    request.mutable_init_chain();
    EXPECT_TRUE(ask(foreign, request).has_exception());
}

}  // namespace
}  // namespace retrace::node::test
