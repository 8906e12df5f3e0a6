// SPDX-License-Identifier: MIT
#include "node/server/comet/abci_calls.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "server/comet/abci.pb.h"

namespace retrace::node::engine {
namespace {

constexpr std::uint32_t kRefused = 1;
constexpr const char* kAbciVersion = "2.0.0";

thread_local View arriving_tx;

View bytes(const std::string& text) { return view(std::string_view(text)); }
std::string text(View bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

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
                {address(vote.validator().address()), vote.validator().power(), vote_flag(vote.block_id_flag())});
        }
        view.last_commit = votes;
    }

    std::vector<View> txs;
    std::vector<Vote> votes;
    std::vector<Fault> faults;
    BlockView view;
};

/// "0.38.N" with N from 21.
bool is_known(const std::string& version) {
    constexpr std::string_view kLine = "0.38.";
    if (!version.starts_with(kLine)) return false;
    unsigned patch = 0;
    const char* const end = version.data() + version.size();
    const auto read = std::from_chars(version.data() + kLine.size(), end, patch);
    return read.ec == std::errc() && read.ptr == end && patch >= 21;
}

/// What remains of an answer beside its message.
struct Effect {
    std::string fatal;  ///< Why the node cannot go on; empty: it goes on.
};

Effect info(Application& application, const abci::RequestInfo& request, abci::Response& response) {
    const AppInfo info = application.info();
    auto& out = *response.mutable_info();
    out.set_data("retrace");
    out.set_app_version(1);
    out.set_last_block_height(static_cast<std::int64_t>(info.height));
    if (info.height != 0) out.set_last_block_app_hash(text(view(info.app_hash)));
    // Others compute the time of a block differently, so nodes of one chain must not have them (0.40), or have known
    // holes (before 0.38.21). A program that asks over RPC leaves the versions empty.
    if (!request.abci_version().empty() && (request.abci_version() != kAbciVersion || !is_known(request.version()))) {
        return {"this CometBFT is version " + request.version() + " with ABCI " + request.abci_version() +
                "; `./dev comet` makes 0.38.25, and 0.38.21 or a newer 0.38 will do"};
    }
    return {};
}

Effect init_chain(Application& application, const AbciCallsOptions& options, const abci::RequestInitChain& request,
                  abci::Response& response) {
    const AppInfo info = application.info();
    if (request.chain_id() != options.chain_id ||
        request.app_state_bytes() != "\"" + to_hex(view(info.genesis_hash)) + "\"") {
        return {"CometBFT's genesis belongs to another chain (" + request.chain_id() + ", not " + options.chain_id +
                "); choose another --data-dir"};
    }
    if (info.height != 0) {
        return {"CometBFT has no blocks, but the ledger is at height " + std::to_string(info.height) +
                ": a part of the data directory is missing"};
    }
    // The validators stay those of CometBFT's genesis, which was written from ours.
    response.mutable_init_chain()->set_app_hash(text(view(info.app_hash)));
    return {};
}

Effect check_tx(Application& application, const abci::RequestCheckTx& request, abci::Response& response) {
    const bool again = request.type() == abci::RECHECK;
    if (!again) arriving_tx = bytes(request.tx());
    const CheckResult result = application.check_tx(bytes(request.tx()), again);
    arriving_tx = {};
    response.mutable_check_tx()->set_code(result.code);
    response.mutable_check_tx()->set_log(result.log);
    return {};
}

Effect prepare(Application& application, const abci::RequestPrepareProposal& request, abci::Response& response) {
    // The mempool of the application holds what CometBFT's does, in the order of fees, and knows what fits.
    const Block block(request);
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

Effect process(Application& application, const abci::RequestProcessProposal& request, abci::Response& response) {
    Block block(request);
    block.add(request.proposed_last_commit());
    response.mutable_process_proposal()->set_status(application.process(block.view)
                                                        ? abci::ResponseProcessProposal::ACCEPT
                                                        : abci::ResponseProcessProposal::REJECT);
    return {};
}

Effect finalize(Application& application, const abci::RequestFinalizeBlock& request, abci::Response& response) {
    Block block(request);
    block.add(request.decided_last_commit());
    const auto result = application.finalize(block.view);
    if (!result) return {result.error().message};
    if (result->txs.size() != block.txs.size()) return {"the application lost results of transactions"};
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

Effect commit(Application& application, const AbciCallsOptions& options, abci::Response& response) {
    const auto committed = application.commit();
    if (!committed) return {committed.error().message};
    const Height tip = application.info().height;
    const Height retain = options.keep_blocks != 0 && tip > options.keep_blocks ? tip - options.keep_blocks : 0;
    response.mutable_commit()->set_retain_height(static_cast<std::int64_t>(retain));
    if (options.on_commit) options.on_commit(tip);
    return {};
}

Effect dispatch(Application& application, const AbciCallsOptions& options, const abci::Request& request,
                abci::Response& response) {
    using Kind = abci::Request::ValueCase;
    switch (request.value_case()) {
        case Kind::kEcho: *response.mutable_echo() = request.echo(); return {};
        case Kind::kFlush: response.mutable_flush(); return {};
        case Kind::kInfo: return info(application, request.info(), response);
        case Kind::kInitChain: return init_chain(application, options, request.init_chain(), response);
        case Kind::kCheckTx: return check_tx(application, request.check_tx(), response);
        case Kind::kPrepareProposal: return prepare(application, request.prepare_proposal(), response);
        case Kind::kProcessProposal: return process(application, request.process_proposal(), response);
        case Kind::kFinalizeBlock: return finalize(application, request.finalize_block(), response);
        case Kind::kCommit: return commit(application, options, response);
        case Kind::kExtendVote: response.mutable_extend_vote(); return {};
        case Kind::kVerifyVoteExtension:
            response.mutable_verify_vote_extension()->set_status(
                request.verify_vote_extension().vote_extension().empty() ? abci::ResponseVerifyVoteExtension::ACCEPT
                                                                         : abci::ResponseVerifyVoteExtension::REJECT);
            return {};
        case Kind::kQuery:
            response.mutable_query()->set_code(kRefused);
            response.mutable_query()->set_log("this chain is read over the JSON-RPC of `retrace node`");
            return {};
        case Kind::kListSnapshots: response.mutable_list_snapshots(); return {};
        case Kind::kOfferSnapshot:
            response.mutable_offer_snapshot()->set_result(abci::ResponseOfferSnapshot::REJECT);
            return {};
        case Kind::kLoadSnapshotChunk: response.mutable_load_snapshot_chunk(); return {};
        case Kind::kApplySnapshotChunk:
            response.mutable_apply_snapshot_chunk()->set_result(abci::ResponseApplySnapshotChunk::ABORT);
            return {};
        case Kind::VALUE_NOT_SET: break;
    }
    return {"CometBFT sent a request that ABCI 2.0 does not have"};
}

}  // namespace

View AbciCalls::arriving() noexcept { return arriving_tx; }

AbciAnswer AbciCalls::answer(View message) {
    abci::Request request;
    abci::Response response;
    Effect effect;
    if (message.size() > std::numeric_limits<int>::max() ||
        !request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
        effect = {"CometBFT sent a message that does not decode"};
    } else {
        effect = dispatch(application_, options_, request, response);
    }
    AbciAnswer answer;
    answer.flush = request.has_flush();
    if (!effect.fatal.empty()) {
        // CometBFT ends itself at an exception, so no block follows one that could not be executed.
        response.mutable_exception()->set_error(effect.fatal);
        answer.fatal = true;
        if (options_.on_fatal) options_.on_fatal(effect.fatal);
    }
    answer.message.resize(response.ByteSizeLong());
    response.SerializeToArray(answer.message.data(), static_cast<int>(answer.message.size()));
    return answer;
}

}  // namespace retrace::node::engine
