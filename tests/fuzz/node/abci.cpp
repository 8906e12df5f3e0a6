// SPDX-License-Identifier: MIT
// The bytes of an ABCI socket: frames, and messages to a node that fetches a snapshot. Frames are the same however the
// stream is cut; each message gets an answer that decodes; the store becomes a chain only by the snapshot's own parts.
#include <unistd.h>

#include <filesystem>

#include "ledger/snapshot/snapshot_file.hpp"
#include "node/server/comet/frame.hpp"
#include "node/server/comet/snapshot_receiver.hpp"
#include "node/server/comet/state_sync.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/rules.hpp"
#include "server/comet/abci.pb.h"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;
namespace fs = std::filesystem;

std::string text(View bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The snapshot of a chain's genesis block, as the messages that bring it.
struct Sample {
    Rules rules = native_rules();
    ledger::Genesis genesis = dev_genesis(rules.dev_genesis);
    std::vector<Bytes> messages;

    Sample() {
        ledger::MemoryStore store;
        const auto chain = ledger::Chain::open(store, genesis, *rules.executor);
        require(chain.has_value(), "the genesis is valid");
        ledger::BlockInput input;
        input.height = 1;
        input.time_ns = genesis.time_ns + 1;
        const auto outcome = (*chain)->execute_block(input);
        require(outcome.has_value() && (*chain)->commit(*outcome).has_value(), "a block follows");
        const fs::path folder = fs::temp_directory_path() / ("retrace-fuzz-abci-" + std::to_string(::getpid()));
        fs::remove_all(folder);
        const auto manifest = ledger::export_snapshot(store, genesis, 1, folder);
        require(manifest.has_value(), "its state is exported");

        abci::Request offer;
        abci::Snapshot& snapshot = *offer.mutable_offer_snapshot()->mutable_snapshot();
        snapshot.set_height(1);
        snapshot.set_format(1);
        snapshot.set_chunks(static_cast<std::uint32_t>(1 + manifest->chunks.size()));
        snapshot.set_hash(text(view(ledger::snapshot_root(*manifest))));
        snapshot.set_metadata(text(ledger::encode(*manifest)));
        offer.mutable_offer_snapshot()->set_app_hash(text(view((*chain)->tip()->hash)));
        add(offer);
        for (std::uint32_t i = 0; i < snapshot.chunks(); ++i) {
            const auto part = ledger::read_snapshot_file(
                folder / (i == 0 ? std::string(ledger::kBlockFile) : ledger::chunk_name(i - 1)),
                i == 0 ? manifest->block : manifest->chunks[i - 1]);
            require(part.has_value(), "its parts are there");
            abci::Request apply;
            apply.mutable_apply_snapshot_chunk()->set_index(i);
            apply.mutable_apply_snapshot_chunk()->set_chunk(text(*part));
            apply.mutable_apply_snapshot_chunk()->set_sender("peer");
            add(apply);
        }
        abci::Request finalize;
        finalize.mutable_finalize_block()->set_height(2);
        add(finalize);
        fs::remove_all(folder);
    }

    void add(const abci::Request& request) {
        const std::string encoded = request.SerializeAsString();
        messages.push_back(to_bytes(view(std::string_view(encoded))));
    }
};

const Sample& sample() {
    static const Sample one;
    return one;
}

Bytes frames_of(const std::vector<Bytes>& messages) {
    Bytes out;
    for (const Bytes& message : messages) {
        engine::append_length(out, message.size());
        out.insert(out.end(), message.begin(), message.end());
    }
    return out;
}

/// The messages of a stream that is fed in pieces.
std::vector<Bytes> cut(View stream, std::size_t piece) {
    engine::FrameReader reader(1U << 20);
    std::vector<Bytes> out;
    while (!stream.empty()) {
        const View next = stream.first(std::min(piece, stream.size()));
        stream = stream.subspan(next.size());
        const bool going = reader.feed(next).has_value();
        while (auto message = reader.next()) out.push_back(*std::move(message));
        if (!going) break;
    }
    return out;
}

}  // namespace

std::vector<Bytes> seeds() {
    const std::vector<Bytes>& all = sample().messages;
    // Offer, block, first chunk; the end alone; all.
    return {frames_of({all[0], all[1]}), frames_of({all.back()}), frames_of(all)};
}

void run(View input) {
    const std::vector<Bytes> messages = cut(input, input.size());
    require(cut(input, 1) == messages && cut(input, 7) == messages, "frames do not depend on how the stream is cut");
    ledger::MemoryStore store;
    std::uint64_t done = 0;
    engine::SnapshotReceiverOptions options;
    options.on_done = [&](const ledger::Imported& imported) { done = imported.height; };
    engine::SnapshotReceiver receiver(store, sample().genesis, *sample().rules.executor, std::move(options));
    for (const Bytes& message : messages) {
        const engine::AbciAnswer answer = receiver.answer(message);
        abci::Response response;
        require(response.ParseFromArray(answer.message.data(), static_cast<int>(answer.message.size())),
                "each message has an answer");
        require(answer.fatal == response.has_exception(), "an exception closes the connection");
        if (answer.fatal) break;
    }
    require(engine::wants_state_sync(store) == (done == 0), "the store is a chain when the snapshot is complete");
    if (done != 0)
        require(ledger::Chain::open(store, sample().genesis, *sample().rules.executor).has_value(), "and opens as one");
}

}  // namespace retrace::fuzz
