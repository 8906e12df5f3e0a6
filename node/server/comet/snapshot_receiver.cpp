// SPDX-License-Identifier: MIT
#include "node/server/comet/snapshot_receiver.hpp"

#include <spdlog/spdlog.h>

#include "node/server/comet/abci_codec.hpp"
#include "node/server/comet/snapshot_provider.hpp"

namespace retrace::node::engine {

/// The calls, with the receiver's lock held.
struct SnapshotReceiver::Calls {
    SnapshotReceiver& self;

    using Offer = abci::ResponseOfferSnapshot;
    using Apply = abci::ResponseApplySnapshotChunk;

    bool complete() const { return self.import_ && self.import_->next() == self.import_->parts(); }

    Offer::Result offer(const abci::RequestOfferSnapshot& request) {
        const abci::Snapshot& snapshot = request.snapshot();
        if (snapshot.format() != kSnapshotFormat) return Offer::REJECT_FORMAT;
        auto manifest = ledger::decode_manifest(bytes(snapshot.metadata()));
        if (!manifest || manifest->header.height != snapshot.height() ||
            1 + manifest->chunks.size() != snapshot.chunks() ||
            !equal(view(ledger::snapshot_root(*manifest)), bytes(snapshot.hash()))) {
            return Offer::REJECT_SENDER;
        }
        if (request.app_hash().size() != Hash32::size()) return Offer::REJECT;
        self.header_ = manifest->header;
        self.senders_.clear();
        self.import_.reset();
        auto begun = ledger::SnapshotImport::begin(self.store_, self.genesis_, std::move(*manifest),
                                                   to_hash32(bytes(request.app_hash())));
        if (!begun) {
            spdlog::warn("event=snapshot_refused height={} why=\"{}\"", snapshot.height(), begun.error().message);
            return begun.error().code == ledger::ChainError::store_failed ? Offer::ABORT : Offer::REJECT_SENDER;
        }
        self.import_.emplace(std::move(*begun));
        spdlog::info("event=snapshot_begun height={} parts={}", snapshot.height(), snapshot.chunks());
        return Offer::ACCEPT;
    }

    void reject(Apply& out) {
        out.set_result(Apply::REJECT_SNAPSHOT);
        for (const std::string& sender : self.senders_) out.add_reject_senders(sender);
        self.import_.reset();
    }

    void apply(const abci::RequestApplySnapshotChunk& request, Apply& out) {
        if (!self.import_ || request.index() != self.import_->next()) {
            out.set_result(self.import_ ? Apply::RETRY_SNAPSHOT : Apply::REJECT_SNAPSHOT);
            return;
        }
        if (!self.import_->is_next(bytes(request.chunk()))) {
            // Not what the manifest promises: this sender's fault alone.
            out.set_result(Apply::RETRY);
            out.add_refetch_chunks(request.index());
            out.add_reject_senders(request.sender());
            return;
        }
        self.senders_.insert(request.sender());
        if (const auto added = self.import_->add(bytes(request.chunk())); !added) {
            spdlog::warn("event=snapshot_refused height={} why=\"{}\"", self.header_.height, added.error().message);
            if (added.error().code == ledger::ChainError::store_failed)
                out.set_result(Apply::ABORT);
            else
                reject(out);
            return;
        }
        out.set_result(Apply::ACCEPT);
        if (complete() || self.import_->next() % 64 == 0)
            spdlog::info("event=snapshot_part height={} part={} of={}", self.header_.height, self.import_->next(),
                         self.import_->parts());
    }

    /// CometBFT has stored the state that it has verified, and the block that it brings: it can go on from there.
    std::string finish() {
        if (!complete()) return "CometBFT wants to make blocks before it has fetched a snapshot";
        if (!self.done_) {
            const auto imported = self.import_->finish(self.executor_);
            if (!imported) return imported.error().message;
            self.done_ = true;
            if (self.options_.on_done) self.options_.on_done(*imported);
        }
        return "the ledger has its snapshot: the node goes on with it";
    }

    std::string dispatch(const abci::Request& request, abci::Response& response) {
        using Kind = abci::Request::ValueCase;
        switch (request.value_case()) {
            case Kind::kEcho: *response.mutable_echo() = request.echo(); return {};
            case Kind::kFlush: response.mutable_flush(); return {};
            case Kind::kInfo: {
                const std::uint64_t height = complete() ? self.header_.height : 0;
                return answer_info(request.info(), self.options_.line, height, view(block_hash(self.header_)),
                                   response);
            }
            case Kind::kOfferSnapshot:
                response.mutable_offer_snapshot()->set_result(offer(request.offer_snapshot()));
                return {};
            case Kind::kApplySnapshotChunk:
                apply(request.apply_snapshot_chunk(), *response.mutable_apply_snapshot_chunk());
                return {};
            case Kind::kListSnapshots: response.mutable_list_snapshots(); return {};
            case Kind::kLoadSnapshotChunk: response.mutable_load_snapshot_chunk(); return {};
            case Kind::kCheckTx: response.mutable_check_tx()->set_code(1); return {};
            case Kind::kQuery: response.mutable_query()->set_code(1); return {};
            case Kind::kProcessProposal:
                // Asked of every node that has caught up. Without a validator's key nothing is signed for it.
                response.mutable_process_proposal()->set_status(abci::ResponseProcessProposal::ACCEPT);
                return {};
            case Kind::kFinalizeBlock: return finish();
            default: return "CometBFT sent a request that does not belong to state sync";
        }
    }
};

AbciAnswer SnapshotReceiver::answer(View request) {
    const std::lock_guard lock(mutex_);
    return answer_abci(
        request,
        [this](const abci::Request& decoded, abci::Response& response) {
            return Calls{*this}.dispatch(decoded, response);
        },
        [this](const std::string& why) {
            if (!done_ && options_.on_fatal) options_.on_fatal(why);
        });
}

bool SnapshotReceiver::begin_again() {
    const std::lock_guard lock(mutex_);
    if (!done_) import_.reset();
    return !done_;
}

}  // namespace retrace::node::engine
