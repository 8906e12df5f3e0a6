// SPDX-License-Identifier: MIT
// One application, two engines: `solo` (embedded, one process) and `comet` (an adapter to CometBFT over ABCI). An engine decides the order of transactions and the time of blocks; the application executes them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::engine {

/// Address of a consensus key; on a chain without validators, of the account that receives the tips.
using Address20 = std::array<std::uint8_t, 20>;
using Height = std::uint64_t;
/// Block time in nanoseconds since 1970, UTC; taken from the block, never from the wall clock.
using TimeNs = std::uint64_t;

enum class KeyType : std::uint8_t { ed25519 = 1, secp256k1 = 2 };
struct ValidatorPower {
    KeyType type{};
    Bytes key;               ///< 32 or 33 bytes.
    std::int64_t power = 0;  ///< 0 removes.
};

enum class VoteFlag : std::uint8_t { absent = 1, commit = 2, nil = 3 };
struct Vote {
    Address20 validator{};
    std::int64_t power = 0;
    VoteFlag flag = VoteFlag::absent;
    Bytes extension;  ///< Only for `propose`.
};

enum class FaultKind : std::uint8_t { duplicate_vote = 1, light_client_attack = 2 };
struct Fault {
    FaultKind kind{};
    Address20 validator{};
    std::int64_t power = 0;
    Height height = 0;
    TimeNs time = 0;
};

/// Data about a block that every engine must provide.
struct BlockView {
    Height height = 0;
    TimeNs time = 0;
    Address20 proposer{};
    std::span<const View> txs;
    std::span<const Vote> last_commit;  ///< Votes for the block before, one for each of its validators.
    std::span<const Fault> faults;
};

struct TxResult {
    std::uint32_t code = 0;  ///< 0: succeeded.
    Bytes data;
    std::int64_t gas_wanted = 0;
    std::int64_t gas_used = 0;
};
struct BlockResult {
    std::vector<TxResult> txs;  ///< One for each transaction.
    std::vector<ValidatorPower> validator_updates;
    Hash32 app_hash;
};
struct CheckResult {
    std::uint32_t code = 0;  ///< 0: accepted; otherwise the number of a ledger::TxError.
    std::string log;         ///< Why it was refused, in Ethereum's words.
};
/// An account or slot, and what proves it to somebody who trusts the app hash of its height.
struct QueryAnswer {
    std::string refusal;  ///< Empty: there is an answer, which may be that the value is empty.
    Height height = 0;
    Bytes key;  ///< Leaf key in the state tree (ledger 5.5).
    Bytes value;
    Bytes header;  ///< Encoded header of the block; its hash is the app hash.
    Bytes proof;   ///< Encoded ledger::StateProof under the header's state root.
};
struct AppInfo {
    Height height = 0;  ///< Last committed block; 0: genesis only.
    TimeNs time = 0;
    Hash32 app_hash;      ///< Hash of that block, which commits to its header, and with it to everything.
    Hash32 genesis_hash;  ///< Identifies the chain.
};

/// The ledger as an engine sees it. It never calls the engine back from inside a call.
class Application {
public:
    virtual ~Application() = default;
    // Called from any thread.
    virtual AppInfo info() const = 0;
    /// `recheck`: the transaction was accepted before, and a block has been committed since.
    virtual CheckResult check_tx(View tx, bool recheck) = 0;
    /// `path` is "/account" with an address as `data`, or "/slot" with a contract's address and a key; height 0 is the
    /// newest one.
    virtual QueryAnswer query(std::string_view /*path*/, View /*data*/, Height) const {
        QueryAnswer none;
        none.refusal = "this application answers no queries";
        return none;
    }
    /// Why the node must not go on after its tip: it needs another program, or another key. nullopt: it can.
    virtual std::optional<std::string> obstacle() const { return std::nullopt; }
    // Called from the consensus thread, for each height: (propose | process)* finalize commit.
    /// Returns transactions for the next block, at most `max_bytes` in total.
    virtual std::vector<Bytes> propose(const BlockView& raw, std::size_t max_bytes) = 0;
    /// Whether a proposed block is well formed: a pure function of the committed state and the block.
    virtual bool process(const BlockView& block) = 0;
    /// What this node's validator adds to its vote for a block of that height, and whether another one's addition is
    /// right.
    virtual Bytes extend_vote(Height) { return {}; }
    virtual bool verify_extension(Height, const Address20&, View extension) { return extension.empty(); }
    /// Executes the block in memory; may be repeated for the same height.
    virtual Result<BlockResult> finalize(const BlockView& block) = 0;
    /// Stores the result of the last `finalize` with one synced write.
    virtual Status<> commit() = 0;
};

struct EngineStatus {
    Height height = 0;  ///< Last block that the engine decided and the application committed.
    bool catching_up = false;
    /// No block for so long that something is wrong, here or with the chain: the node has no peers, or too few
    /// validators are left. It goes on by itself when that is mended.
    bool stalled = false;
    bool halted = false;  ///< The process runs but makes no more blocks; `reason` says why.
    std::string reason;
    std::size_t peers = 0;  ///< Other nodes that this one is connected to.
};
struct StoredBlock {
    Height height = 0;
    TimeNs time = 0;
    Address20 proposer{};
    std::vector<Bytes> txs;
};

class Engine {
public:
    virtual ~Engine() = default;
    virtual std::string_view name() const noexcept = 0;
    /// Brings the application to the engine's tip before it returns. `application` outlives the engine.
    virtual Status<> start(Application& application) = 0;
    /// Idempotent. The application is not called after it returned.
    virtual void stop() noexcept = 0;
    /// Tells other nodes of a transaction that the application has accepted and could execute. Returns at once; called
    /// from any thread, also before `start` and after `stop`.
    virtual void announce(View tx) = 0;
    virtual EngineStatus status() const = 0;
};

}  // namespace retrace::node::engine
