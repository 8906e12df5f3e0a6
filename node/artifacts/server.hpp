// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "node/artifacts/provider.hpp"
#include "node/artifacts/store.hpp"
#include "node/net/http_types.hpp"
#include "solver/rounds/message_store.hpp"

namespace retrace::node {

/// Serves a store and takes uploads:
///   GET /artifact/{root}/info                     wire::Info
///   GET /artifact/{root}/tiles?first=F&count=N    wire::TileRange, at most 1024 tiles
///   GET /artifact/{root}/leaves?first=F&count=N   hashes of these tiles, at most 65536
///   GET /artifact/{root}/program?at=A&count=N     bytes A … of the program file, at most N; fewer at its end
///   GET /artifact/{root}/packed?at=A&count=N      bytes A … of a message's tensor in transport form, as for programs
///   GET /artifact/{root}/packed?at=A&count=N&then=R,R   the same of that tensor and at most 15 others, one after another
///   GET /artifact/{root}/state                    wire::StateManifest
///   GET /reach/{nonce}                            of an agent: see node/net/reach.hpp
///   GET /task-log/{task}?…                        of an agent: see node/agents/task_journal_wire.hpp
///   PUT /artifact/{root}/tiles|program|state      the same messages; 204
///   PUT /artifact/{root}/program?at=A&of=N&upload=U   bytes A … of a program of N bytes, in order; 204.
///       U: 32 hex digits chosen by the sender; every piece but the last has at least 1 MiB
/// `root` is 64 lower-case hex digits. Answers of 400 and above carry a wire::Refusal.
///
/// Uploads: a root is wanted when the owner says so (the node: a live task names it) or a stored, wanted state names
/// it. Other uploads are refused before their body is read. Every piece is verified before it is stored, so an upload
/// can resume at any tile; `info` lists the missing ones. Only a tensor without tiles is uploaded by its header alone.
/// An upload over a quota is refused before it is stored.
class ArtifactServer {
public:
    using Wanted = std::function<bool(const Hash32&)>;

    /// `store` outlives the server. `wanted` must answer at once; it is called from the serving threads.
    ArtifactServer(Store& store, Wanted wanted);

    /// Size of an upload, which follows from what the root commits to or from the file itself.
    struct Size {
        std::uint64_t file_bytes = 0;
        std::uint64_t charge = 0;  ///< Bytes to charge for it (charge.hpp).
    };
    /// Charging for uploads. `charge` is called before bytes are written under a root that is not stored, with the
    /// names by which it is wanted: the root itself and the states that hold it; its failure is the answer. `done` is
    /// called once for all concurrent uploads of a root, and says whether anything is stored now. Set it before the
    /// first request; it is called from the serving threads, one call at a time.
    struct QuotaHooks {
        std::function<Status<Failure>(const Hash32& root, const std::vector<Hash32>& names, const Size& size)> charge;
        std::function<void(const Hash32& root, bool is_here)> done;
    };
    void set_quota_hooks(QuotaHooks hooks) { quota_hooks_ = std::move(hooks); }

    /// Adds a second source for artifacts that the store does not have. Call it before the first request; the provider
    /// outlives this.
    void add_provider(CheckpointProvider& provider) { provider_ = &provider; }
    /// Adds the messages of groups that this party has. Call it before the first request; `messages` outlives this.
    void add_messages(const solver::MessageStore& messages) { messages_ = &messages; }
    /// Neither serves nor takes these, whatever the store has. Call it before the first request.
    void refuse(std::set<Hash32> roots) { refused_ = std::move(roots); }
    /// Answers GET /party/{challenge}, by which an account's owner finds its agents; nullopt: malformed. Set it before
    /// the first request; it is called from the serving threads.
    using PartyAnswer = std::function<std::optional<std::string>(std::string_view challenge)>;
    void answer_party(PartyAnswer answer) { party_ = std::move(answer); }
    /// Answers GET of targets that begin with `prefix`, in the same way: what an agent serves beside artifacts.
    using MoreAnswer = std::function<Result<Bytes, Failure>(std::string_view target)>;
    void answer_more(std::string prefix, MoreAnswer answer) {
        more_prefix_ = std::move(prefix);
        more_ = std::move(answer);
    }
    /// Changes answers before they are sent, for frauds on developer chains. Set it before the first request; it is
    /// called from the serving threads.
    using Tamper = std::function<void(const HttpRequest& request, HttpReply& reply)>;
    void tamper_with_answers(Tamper tamper) { tamper_ = std::move(tamper); }

    /// Whether the target is an artifact path.
    static bool owns(std::string_view target) noexcept { return target.starts_with("/artifact/"); }
    /// Maximum body size, known from the request line; 0 for uploads that will be refused.
    std::size_t body_limit(std::string_view method, std::string_view target);
    /// Forgets the tensors of states that are not stored any more, so that the names of deleted states take no memory.
    void forget_gone_states();
    /// What an answer waits for.
    enum class Wait : std::uint8_t {
        nothing = 0,      ///< It needs this store and what a provider has in memory.
        checkpoints = 1,  ///< The lock of the provider's checkpoints, which their owner may hold for seconds.
        tensor = 2,       ///< As well as a whole tensor that is read and hashed first.
    };
    Wait wait_for(const HttpRequest& request) const;
    /// `client`: who sent it, by address.
    HttpReply handle(const HttpRequest& request, const std::string& client = {});

private:
    bool wanted(const Hash32& root);
    std::vector<Hash32> names_of(const Hash32& root);
    /// Charges for the artifact, then runs `store`.
    Status<Failure> store_charged(const Hash32& root, const Size& size, const std::function<Status<Failure>()>& store);
    void remember(const Hash32& state_root, const wire::StateManifest& manifest);
    Result<HttpReply, Failure> get(const Hash32& root, std::string_view what, std::string_view query,
                                   const std::string& client);
    Result<HttpReply, Failure> put(const Hash32& root, std::string_view what, std::string_view query, View body);

    Result<wire::Info, Failure> info(const Hash32& root, const std::string& client);
    Result<wire::TileRange, Failure> tiles(const Hash32& root, const wire::Range& range, const std::string& client);
    Result<Bytes, Failure> leaves(const Hash32& root, const wire::Range& range, const std::string& client);
    Result<wire::StateManifest, Failure> manifest(const Hash32& root);

    Store& store_;
    Wanted wanted_;
    CheckpointProvider* provider_ = nullptr;
    const solver::MessageStore* messages_ = nullptr;
    std::set<Hash32> refused_;
    Tamper tamper_;
    PartyAnswer party_;
    std::string more_prefix_;
    MoreAnswer more_;
    QuotaHooks quota_hooks_;
    std::mutex mutex_;
    std::multimap<Hash32, Hash32> states_of_;  ///< Tensor root → uploaded states that name it.
    std::mutex quota_mutex_;                   ///< Locked before `mutex_`, never while it is held.
    std::map<Hash32, std::size_t> arriving_;   ///< Charged roots → number of their uploads in progress.
};

HttpReply refusal(const Failure& failure);

}  // namespace retrace::node
