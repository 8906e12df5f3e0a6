// SPDX-License-Identifier: MIT
#include "node/server/engine/application.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "ledger/chain/execute.hpp"
#include "ledger/crypto/keccak.hpp"
#include "node/server/engine/shares.hpp"

namespace retrace::node {

using ledger::TxPtr;

namespace {

/// In a block each entry is preceded by a tag and its length.
constexpr std::size_t kEntryOverhead = 1 + 5;

/// The state after a block that is not committed yet.
class ViewAfter final : public ledger::StateView {
public:
    ViewAfter(const ledger::StateView& before, const ledger::StateDiff& diff) : before_(before), diff_(diff) {}
    ledger::Account account(const ledger::Address& address) const override {
        const auto changed = diff_.accounts.find(address);
        return changed != diff_.accounts.end() ? changed->second : before_.account(address);
    }
    Bytes slot(const ledger::Address& contract, View key) const override {
        const auto changed = diff_.slots.find(ledger::SlotRef{contract, key});
        return changed != diff_.slots.end() ? changed->second : before_.slot(contract, key);
    }

private:
    const ledger::StateView& before_;
    const ledger::StateDiff& diff_;
};

/// What changes in the engine's set: powers by key, 0 for a validator that leaves.
std::vector<engine::ValidatorPower> power_changes(const std::vector<ledger::Validator>& before,
                                                  const std::vector<ledger::Validator>& after) {
    std::map<Hash32, std::pair<std::uint64_t, std::uint64_t>> powers;  // before and after, by key
    for (const ledger::Validator& one : before) powers[one.key].first = one.power;
    for (const ledger::Validator& one : after) powers[one.key].second = one.power;
    std::vector<engine::ValidatorPower> out;
    for (const auto& [key, change] : powers) {
        if (change.first == change.second) continue;
        out.push_back({engine::KeyType::ed25519, to_bytes(view(key)), static_cast<std::int64_t>(change.second)});
    }
    return out;
}

ledger::EngineReport report_of(const engine::BlockView& block) {
    ledger::EngineReport out;
    // A vote for nil decides nothing: who always gives one would hold power as if it voted.
    for (const engine::Vote& vote : block.last_commit)
        if (vote.flag != engine::VoteFlag::commit) out.missed.push_back(vote.validator);
    // A validator is punished once, however many proofs a block holds.
    for (const engine::Fault& fault : block.faults) {
        const auto known = std::ranges::find(out.misbehavior, fault.validator, &ledger::Misbehavior::validator);
        if (known == out.misbehavior.end()) out.misbehavior.push_back({fault.validator, fault.height});
    }
    return out;
}

}  // namespace

LedgerApplication::LedgerApplication(ledger::Chain& chain, ledger::Mempool& pool) : chain_(chain), pool_(pool) {}

engine::AppInfo LedgerApplication::info() const {
    const auto tip = chain_.tip();
    return {tip->header.height, tip->header.time_ns, tip->hash, ledger::genesis_hash(chain_.genesis())};
}

Result<Hash32, ledger::TxRefusal> LedgerApplication::submit(View raw) {
    RETRACE_TRY(tx, pool_.read(raw, chain_.genesis().chain_id));
    std::vector<TxPtr> promoted;
    {
        const std::lock_guard lock(accepting_);
        RETRACE_TRY(added, pool_.add(tx, chain_.live(), chain_.next_base_fee(), chain_.genesis().gas_limit));
        if (journal_ != nullptr) {
            if (!added.evicted.empty()) warn(journal_->forget(added.evicted));
            warn(journal_->append(*tx));
            // After the append. Otherwise a restart would restore it if its replacement is dropped later.
            if (added.replaced) warn(journal_->forget(*added.replaced));
        }
        promoted = std::move(added.promoted);
    }
    if (journal_ != nullptr && journal_->has_grown(pool_.bytes())) rewrite_journal();
    notify_pending(promoted);
    return tx->hash;
}

engine::CheckResult LedgerApplication::check_tx(View tx, bool recheck) {
    if (recheck) {
        // What waits for a lower base fee leaves the engine's mempool and stays in ours: `pending` has it again later.
        const TxPtr known = pool_.find(ledger::keccak256(tx));
        if (known != nullptr && known->tx.fee_cap >= chain_.next_base_fee()) return {};
        return {static_cast<std::uint32_t>(ledger::TxError::nonce_too_low), "not executable now"};
    }
    const auto result = submit(tx);
    if (result || result.error().code == ledger::TxError::already_known) return {};
    return {static_cast<std::uint32_t>(result.error().code), result.error().message};
}

engine::QueryAnswer LedgerApplication::query(std::string_view path, View data, engine::Height height) const {
    engine::QueryAnswer out;
    out.height = height != 0 ? height : chain_.height();
    ledger::Address address;
    const bool is_slot = path == "/slot";
    if ((!is_slot && path != "/account") || data.size() < address.bytes.size() ||
        (!is_slot && data.size() > address.bytes.size())) {
        out.refusal = "a query is /account with an address, or /slot with a contract's address and a key";
        return out;
    }
    std::ranges::copy(data.first(address.bytes.size()), address.bytes.begin());
    const auto header = chain_.header(out.height);
    const auto proof = is_slot ? chain_.prove_slot(out.height, address, data.subspan(address.bytes.size()))
                               : chain_.prove_account(out.height, address);
    if (!proof || !header) {
        out.refusal = proof ? "no such block" : proof.error().message;
        return out;
    }
    Writer header_bytes, proof_bytes;
    ledger::encode_to(header_bytes, *header);
    ledger::encode_to(proof_bytes, *proof);
    out.key = to_bytes(view(proof->leaf_key));
    out.value = proof->value;
    out.header = std::move(header_bytes).take();
    out.proof = std::move(proof_bytes).take();
    return out;
}

std::optional<std::string> LedgerApplication::obstacle() const {
    const auto view = chain_.view();
    if (validator_) {
        const auto known = chain_.executor().validator_of(*view, ledger::consensus_address(validator_->first));
        if (known && known->vrf_key != validator_->second.key()) {
            return "the validator's key " + to_hex(retrace::view(validator_->first)) +
                   " is registered with another VRF key than this node's, so other nodes refuse its votes: restore "
                   "comet/config/vrf_key of its data directory. If it is lost, delete priv_validator_key.json there "
                   "(never priv_validator_state.json), start the node, which makes new keys, and name them with "
                   "`retrace validator register`";
        }
    }
    return chain_.executor().missing_rules(*view, chain_.height() + 1);
}

void LedgerApplication::validate_as(const Hash32& key, const ledger::VrfSecret& secret) {
    validator_.emplace(key, secret);
}

Bytes LedgerApplication::extend_vote(engine::Height height) {
    const auto input = chain_.executor().share_input(chain_.genesis().chain_id, height);
    if (!validator_ || !input) return {};
    return to_bytes(validator_->second.prove(*input));
}

bool LedgerApplication::verify_extension(engine::Height height, const engine::Address20& validator, View extension) {
    ledger::BeaconShare share{validator, {}};
    if (extension.size() != share.proof.size()) return false;
    std::ranges::copy(extension, share.proof.begin());
    return is_share(chain_.executor(), *chain_.view(), chain_.genesis().chain_id, height, share);
}

std::vector<Bytes> LedgerApplication::propose(const engine::BlockView& block, std::size_t max_bytes) {
    const auto view = chain_.view();
    std::vector<Bytes> txs;
    if (chain_.executor().takes_shares(*view, block.height)) {
        // A vote that comes after its block was decided is in the commit without that anybody looked at its extension.
        auto shares = shares_of(block.last_commit);
        std::erase_if(shares, [&](const ledger::BeaconShare& share) {
            return !is_share(chain_.executor(), *view, chain_.genesis().chain_id, block.height - 1, share);
        });
        txs.push_back(encode_shares(shares));
        max_bytes -= std::min(max_bytes, txs.front().size() + kEntryOverhead);
    }
    for (const TxPtr& tx : pool_.ready(*view, chain_.next_base_fee(), max_bytes, chain_.genesis().gas_limit)) {
        txs.push_back(tx->raw);
    }
    return txs;
}

bool LedgerApplication::process(const engine::BlockView& block) {
    const auto tip = chain_.tip();
    const std::uint64_t past = tip->header.time_ns;
    const bool later = block.time > past || (tip->header.height == 0 && block.time == past);  // ledger 5.2
    if (block.height != tip->header.height + 1 || !later) return false;
    if (chain_.executor().missing_rules(*chain_.view(), block.height)) return false;
    const auto view = chain_.view();
    std::span<const View> txs = block.txs;
    if (chain_.executor().takes_shares(*view, block.height)) {
        const auto shares = txs.empty() ? std::nullopt : decode_shares(txs.front());
        if (!shares || !are_enough(chain_.executor(), *view, chain_.genesis().chain_id, block.height - 1,
                                   block.last_commit, *shares))
            return false;
        txs = txs.subspan(1);
    }
    // What cannot be admitted by its nonce (ledger 5.3.2) is in a faulty proposer's block only: a repeated transaction,
    // or bytes that cost nothing and are stored for ever. A pure function of the committed state and the block.
    ledger::BlockInput input;
    input.txs = txs;
    input.known = [this](const Hash32& hash) { return pool_.find(hash); };
    std::map<ledger::Address, std::uint64_t> next;
    for (const ledger::BlockTx& read : ledger::read_txs(input, chain_.genesis().chain_id, 0)) {
        if (read.tx == nullptr) return false;
        const auto [nonce, first] = next.try_emplace(read.tx->sender, 0);
        if (first) nonce->second = view->account(read.tx->sender).nonce;
        if (read.tx->tx.nonce != nonce->second++) return false;
    }
    return true;
}

Result<engine::BlockResult> LedgerApplication::finalize(const engine::BlockView& block) {
    outcome_.reset();
    ledger::BlockInput input;
    input.height = block.height;
    input.time_ns = block.time;
    input.proposer.bytes = block.proposer;
    input.txs = block.txs;
    const auto view = chain_.view();
    const ledger::TxExecutor& executor = chain_.executor();
    if (const auto missing = executor.missing_rules(*view, block.height)) return error(*missing);
    if (!chain_.genesis().validators.empty()) {
        const auto proposer = executor.validator_of(*view, block.proposer);
        if (!proposer) {
            return error("block " + std::to_string(block.height) + ": its proposer " + to_hex(block.proposer) +
                         " was never registered as a validator");
        }
        input.proposer = proposer->account;
        input.report = report_of(block);
        auto shares = executor.takes_shares(*view, block.height) && !block.txs.empty()
                          ? decode_shares(block.txs.front())
                          : std::nullopt;
        if (shares) {
            input.report.shares = std::move(*shares);
            input.txs = input.txs.subspan(1);
        }
    }
    input.known = [this](const Hash32& hash) { return pool_.find(hash); };
    auto outcome = chain_.execute_block(input);
    if (!outcome) return error("block " + std::to_string(block.height) + ": " + outcome.error().message);
    outcome_ = std::move(outcome).value();

    engine::BlockResult result;
    result.app_hash = outcome_->block->hash;
    result.validator_updates =
        power_changes(executor.validators(*view), executor.validators(ViewAfter(*view, outcome_->diff)));
    result.txs.resize(block.txs.size() - input.txs.size());  // The shares are no transaction, but have a result.
    for (const ledger::Receipt& receipt : outcome_->block->receipts) {
        result.txs.push_back(
            {receipt.success ? 0U : 1U, receipt.output, 0, static_cast<std::int64_t>(receipt.gas_used)});
    }
    return result;
}

Status<> LedgerApplication::commit() {
    ensure(outcome_.has_value(), "commit follows finalize");
    const auto block = outcome_->block;
    const auto committed = chain_.commit(*outcome_);
    outcome_.reset();
    if (!committed) return error(committed.error().message);
    const auto view = chain_.view();
    ledger::PoolChange change;
    {
        const std::lock_guard lock(accepting_);
        change = pool_.on_block(*block, *view, chain_.next_base_fee());
        if (journal_ != nullptr && !change.dropped.empty()) warn(journal_->forget(change.dropped));
    }
    if (journal_ != nullptr && journal_->wants_rewrite(pool_.bytes())) rewrite_journal();
    notify_block(block);
    notify_pending(change.promoted);
    return Unit{};
}

std::vector<Bytes> LedgerApplication::pending(std::size_t max_bytes) const {
    const auto view = chain_.view();
    std::vector<Bytes> txs;
    for (const TxPtr& tx : pool_.ready(*view, chain_.next_base_fee(), max_bytes, ~std::uint64_t{0}))
        txs.push_back(tx->raw);
    return txs;
}

LedgerApplication::Token LedgerApplication::listen(Listener listener) {
    const std::lock_guard lock(listeners_mutex_);
    listeners_.emplace_back(next_token_, std::move(listener));
    return next_token_++;
}

void LedgerApplication::unlisten(Token token) {
    const std::lock_guard lock(listeners_mutex_);
    std::erase_if(listeners_, [token](const auto& entry) { return entry.first == token; });
}

void LedgerApplication::notify_block(const std::shared_ptr<const ledger::Block>& block) {
    const std::lock_guard lock(listeners_mutex_);
    for (const auto& [token, listener] : listeners_) {
        if (listener.on_block) listener.on_block(block);
    }
}

void LedgerApplication::notify_pending(const std::vector<TxPtr>& txs) {
    if (txs.empty()) return;
    const std::lock_guard lock(listeners_mutex_);
    for (const auto& [token, listener] : listeners_) {
        if (!listener.on_pending) continue;
        for (const TxPtr& tx : txs) listener.on_pending(tx);
    }
}

std::size_t LedgerApplication::attach(ledger::MempoolJournal& journal) {
    // Only the newest record of an account and nonce counts: the others had been replaced or dropped.
    std::vector<TxPtr> newest;
    std::set<std::pair<ledger::Address, std::uint64_t>> places;
    const std::vector<Bytes> recovered = journal.take_recovered();
    for (auto raw = recovered.rbegin(); raw != recovered.rend(); ++raw) {
        const auto tx = ledger::read_tx(*raw, chain_.genesis().chain_id);
        if (tx && places.emplace((*tx)->sender, (*tx)->tx.nonce).second) newest.push_back(*tx);
    }
    std::size_t taken = 0;
    for (auto tx = newest.rbegin(); tx != newest.rend(); ++tx) {
        if (pool_.restore(*tx, chain_.live(), chain_.next_base_fee(), chain_.genesis().gas_limit)) ++taken;
    }
    journal_ = &journal;
    rewrite_journal();
    return taken;
}

// A transaction that could not be written is still in the pool, and the next block tries to write it again.
void LedgerApplication::warn(const Status<>& written) {
    if (!written) spdlog::warn("event=journal_failed why=\"{}\"", written.error().message);
}

void LedgerApplication::rewrite_journal() {
    const std::unique_lock lock(rewriting_, std::try_to_lock);
    if (lock) warn(journal_->rewrite([this] { return pool_.contents(); }));
}

}  // namespace retrace::node
