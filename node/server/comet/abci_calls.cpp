// SPDX-License-Identifier: MIT
#include "node/server/comet/abci_calls.hpp"

#include <algorithm>

#include "node/server/comet/abci_codec.hpp"
#include "node/server/comet/snapshot_provider.hpp"

namespace retrace::node::engine {
namespace {

constexpr std::uint32_t kRefused = 1;

thread_local View arriving_tx;

Address20 address(const std::string& raw) {
    Address20 out{};
    if (raw.size() == out.size()) std::copy(raw.begin(), raw.end(), out.begin());
    return out;
}

Height height(std::int64_t value) { return value < 0 ? 0 : static_cast<Height>(value); }

/// 0 for a time before 1970.
TimeNs time_ns(const google::protobuf::Timestamp& time) {
    if (time.seconds() < 0 || time.nanos() < 0) return 0;
    return static_cast<TimeNs>(time.seconds()) * 1'000'000'000 + static_cast<TimeNs>(time.nanos());
}

VoteFlag vote_flag(int flag) {
    return flag == static_cast<int>(VoteFlag::commit) || flag == static_cast<int>(VoteFlag::nil)
               ? static_cast<VoteFlag>(flag)
               : VoteFlag::absent;
}

/// A block of a request, with the memory that its view refers to.
struct Block {
    template <class Request>
    explicit Block(const Request& request) {
        for (const std::string& tx : request.txs()) txs.push_back(bytes(tx));
        for (const abci::Misbehavior& m : request.misbehavior()) {
            faults.push_back(
                {m.type() == static_cast<int>(FaultKind::light_client_attack) ? FaultKind::light_client_attack
                                                                              : FaultKind::duplicate_vote,
                 address(m.validator().address()), m.validator().power(), height(m.height()), time_ns(m.time())});
        }
        view.height = height(request.height());
        view.time = time_ns(request.time());
        view.proposer = address(request.proposer_address());
        view.txs = txs;
        view.faults = faults;
    }
    void add(const abci::CommitInfo& commit) {
        for (const abci::VoteInfo& vote : commit.votes()) {
            votes.push_back(
                {address(vote.validator().address()), vote.validator().power(), vote_flag(vote.block_id_flag()), {}});
        }
        view.last_commit = votes;
    }
    void add(const abci::ExtendedCommitInfo& commit) {
        for (const abci::ExtendedVoteInfo& vote : commit.votes()) {
            votes.push_back({address(vote.validator().address()), vote.validator().power(),
                             vote_flag(vote.block_id_flag()), to_bytes(bytes(vote.vote_extension()))});
        }
        view.last_commit = votes;
    }

    std::vector<View> txs;
    std::vector<Vote> votes;
    std::vector<Fault> faults;
    BlockView view;
};

/// Why the node cannot go on; empty: it goes on.
using Fatal = std::string;

Fatal init_chain(Application& application, const AbciCallsOptions& options, const abci::RequestInitChain& request,
                 abci::Response& response) {
    const AppInfo info = application.info();
    if (request.chain_id() != options.chain_id ||
        request.app_state_bytes() != "\"" + to_hex(view(info.genesis_hash)) + "\"") {
        return "CometBFT's genesis belongs to another chain (" + request.chain_id() + ", not " + options.chain_id +
               "); choose another --data-dir";
    }
    if (info.height != 0) {
        return "CometBFT has no blocks, but the ledger is at height " + std::to_string(info.height) +
               ": a part of the data directory is missing";
    }
    // The validators stay those of CometBFT's genesis, which was written from ours.
    response.mutable_init_chain()->set_app_hash(text(view(info.app_hash)));
    return {};
}

Fatal check_tx(Application& application, const abci::RequestCheckTx& request, abci::Response& response) {
    const bool again = request.type() == abci::RECHECK;
    if (!again) arriving_tx = bytes(request.tx());
    const CheckResult result = application.check_tx(bytes(request.tx()), again);
    arriving_tx = {};
    response.mutable_check_tx()->set_code(result.code);
    response.mutable_check_tx()->set_log(result.log);
    return {};
}

Fatal prepare(Application& application, const abci::RequestPrepareProposal& request, abci::Response& response) {
    // The mempool of the application holds what CometBFT's does, in the order of fees, and knows what fits.
    Block block(request);
    block.add(request.local_last_commit());
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(request.max_tx_bytes(), 0));
    auto& out = *response.mutable_prepare_proposal();
    std::size_t size = 0;
    for (const Bytes& tx : application.propose(block.view, most)) {
        // In a block each transaction is preceded by a tag and its length.
        size += tx.size() + 1 + 5;
        if (size > most) break;
        out.add_txs(text(tx));
    }
    return {};
}

Fatal process(Application& application, const abci::RequestProcessProposal& request, abci::Response& response) {
    Block block(request);
    block.add(request.proposed_last_commit());
    response.mutable_process_proposal()->set_status(application.process(block.view)
                                                        ? abci::ResponseProcessProposal::ACCEPT
                                                        : abci::ResponseProcessProposal::REJECT);
    return {};
}

Fatal finalize(Application& application, const abci::RequestFinalizeBlock& request, abci::Response& response) {
    Block block(request);
    block.add(request.decided_last_commit());
    const auto result = application.finalize(block.view);
    if (!result) return result.error().message;
    if (result->txs.size() != block.txs.size()) return "the application lost results of transactions";
    auto& out = *response.mutable_finalize_block();
    for (const TxResult& tx : result->txs) {
        abci::ExecTxResult& made = *out.add_tx_results();
        made.set_code(tx.code);
        made.set_data(text(tx.data));
        made.set_gas_wanted(tx.gas_wanted);
        made.set_gas_used(tx.gas_used);
    }
    for (const ValidatorPower& validator : result->validator_updates) {
        abci::ValidatorUpdate& made = *out.add_validator_updates();
        made.set_power(validator.power);
        if (validator.type == KeyType::ed25519)
            made.mutable_pub_key()->set_ed25519(text(validator.key));
        else
            made.mutable_pub_key()->set_secp256k1(text(validator.key));
    }
    out.set_app_hash(text(view(result->app_hash)));
    return {};
}

Fatal commit(Application& application, const AbciCallsOptions& options, abci::Response& response) {
    const auto committed = application.commit();
    if (!committed) return committed.error().message;
    const Height tip = application.info().height;
    const Height retain = options.keep_blocks != 0 && tip > options.keep_blocks ? tip - options.keep_blocks : 0;
    response.mutable_commit()->set_retain_height(static_cast<std::int64_t>(retain));
    if (options.snapshots != nullptr) options.snapshots->on_commit(tip);
    if (options.on_commit) options.on_commit(tip);
    // CometBFT stores this block first; with only such programs nobody would vote for the next one, and the chain would
    // stand still without a word.
    if (const auto why = application.obstacle(); why && options.on_fatal) options.on_fatal(*why);
    return {};
}

/// CometBFT asks for any chunk that a peer named; an empty one tells the peer that there is none.
void load_chunk(const AbciCallsOptions& options, const abci::RequestLoadSnapshotChunk& request,
                abci::Response& response) {
    auto& out = *response.mutable_load_snapshot_chunk();
    if (options.snapshots == nullptr || request.format() != kSnapshotFormat) return;
    if (const auto part = options.snapshots->load(request.height(), request.chunk())) out.set_chunk(text(*part));
}

void list_snapshots(const AbciCallsOptions& options, abci::Response& response) {
    auto& out = *response.mutable_list_snapshots();
    if (options.snapshots == nullptr) return;
    for (const ledger::SnapshotManifest& kept : options.snapshots->list()) {
        abci::Snapshot& made = *out.add_snapshots();
        made.set_height(kept.header.height);
        made.set_format(kSnapshotFormat);
        made.set_chunks(static_cast<std::uint32_t>(1 + kept.chunks.size()));
        made.set_hash(text(view(ledger::snapshot_root(kept))));
        made.set_metadata(text(ledger::encode(kept)));
    }
}

/// The proof leads from the app hash over the header to the leaf of the state tree.
void query(const Application& application, const abci::RequestQuery& request, abci::Response& response) {
    const QueryAnswer answer = application.query(request.path(), bytes(request.data()), height(request.height()));
    abci::ResponseQuery& out = *response.mutable_query();
    out.set_height(static_cast<std::int64_t>(answer.height));
    if (!answer.refusal.empty()) {
        out.set_code(kRefused);
        out.set_log(answer.refusal);
        return;
    }
    out.set_key(text(answer.key));
    out.set_value(text(answer.value));
    if (!request.prove()) return;
    const auto add = [&](const char* type, const Bytes& data) {
        abci::ProofOp& op = *out.mutable_proof_ops()->add_ops();
        op.set_type(type);
        op.set_key(text(answer.key));
        op.set_data(text(data));
    };
    add("retrace/header/1", answer.header);
    add("retrace/state-proof/1", answer.proof);
}

Fatal dispatch(Application& application, const AbciCallsOptions& options, const abci::Request& request,
               abci::Response& response) {
    using Kind = abci::Request::ValueCase;
    switch (request.value_case()) {
        case Kind::kEcho: *response.mutable_echo() = request.echo(); return {};
        case Kind::kFlush: response.mutable_flush(); return {};
        case Kind::kInfo: {
            const AppInfo info = application.info();
            return answer_info(request.info(), options.line, info.height, view(info.app_hash), response);
        }
        case Kind::kInitChain: return init_chain(application, options, request.init_chain(), response);
        case Kind::kCheckTx: return check_tx(application, request.check_tx(), response);
        case Kind::kPrepareProposal: return prepare(application, request.prepare_proposal(), response);
        case Kind::kProcessProposal: return process(application, request.process_proposal(), response);
        case Kind::kFinalizeBlock: return finalize(application, request.finalize_block(), response);
        case Kind::kCommit: return commit(application, options, response);
        case Kind::kExtendVote:
            response.mutable_extend_vote()->set_vote_extension(
                text(application.extend_vote(height(request.extend_vote().height()))));
            return {};
        case Kind::kVerifyVoteExtension: {
            const abci::RequestVerifyVoteExtension& asked = request.verify_vote_extension();
            const bool good = application.verify_extension(height(asked.height()), address(asked.validator_address()),
                                                           bytes(asked.vote_extension()));
            response.mutable_verify_vote_extension()->set_status(good ? abci::ResponseVerifyVoteExtension::ACCEPT
                                                                      : abci::ResponseVerifyVoteExtension::REJECT);
            return {};
        }
        case Kind::kQuery: query(application, request.query(), response); return {};
        case Kind::kListSnapshots: list_snapshots(options, response); return {};
        case Kind::kOfferSnapshot:
            response.mutable_offer_snapshot()->set_result(abci::ResponseOfferSnapshot::REJECT);
            return {};
        case Kind::kLoadSnapshotChunk: load_chunk(options, request.load_snapshot_chunk(), response); return {};
        case Kind::kApplySnapshotChunk:
            response.mutable_apply_snapshot_chunk()->set_result(abci::ResponseApplySnapshotChunk::ABORT);
            return {};
        case Kind::VALUE_NOT_SET: break;
    }
    return "CometBFT sent a request that ABCI 2.0 does not have";
}

}  // namespace

View AbciCalls::arriving() noexcept { return arriving_tx; }

AbciAnswer AbciCalls::answer(View message) {
    return answer_abci(
        message,
        [this](const abci::Request& request, abci::Response& response) {
            return dispatch(application_, options_, request, response);
        },
        options_.on_fatal);
}

}  // namespace retrace::node::engine
