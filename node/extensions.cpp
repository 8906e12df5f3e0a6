// SPDX-License-Identifier: MIT
#include "node/extensions.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "contracts/views/views.hpp"
#include "node/artifacts/janitor.hpp"
#include "node/artifacts/route.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

/// The artifacts that live tasks name, served and taken on the node's own port. Uploads of anything else are
/// refused, so that the disk of a node is open only to those who have paid an escrow.
class ArtifactExtension final : public Extension {
public:
    ArtifactExtension(std::unique_ptr<Store> store, const ledger::Chain& chain)
        : store_(std::move(store)),
          chain_(chain),
          janitor_(*store_, kAfterlifeBlocks),
          server_(*store_, [this](const Hash32& root) { return wanted(root); }),
          tidying_([this](const std::stop_token& stop) { tidy(stop); }) {}

    ArtifactServer& server() noexcept { return server_; }

private:
    bool wanted(const Hash32& root) {
        const std::lock_guard lock(mutex_);
        if (const std::uint64_t height = chain_.height(); height != height_ || roots_.empty()) {
            height_ = height;
            roots_ = named_roots();
        }
        return !root.is_zero() && roots_.contains(root);
    }

    std::set<Hash32> named_roots() const {
        std::set<Hash32> roots;
        const auto state = chain_.view();
        for (const std::uint64_t id : views::active_tasks(*state)) {
            const auto spec = views::spec(*state, id);
            if (!spec) continue;
            roots.insert({spec->program_root, spec->init_root, spec->initial_state_root});
            roots.insert(spec->data_roots.begin(), spec->data_roots.end());
        }
        return roots;
    }

    /// What settled tasks needed leaves the disk some time later.
    void tidy(const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!wake.wait_for(lock, stop, kTidyEvery, [] { return false; }) && !stop.stop_requested())
            janitor_.sweep(chain_.height(), named_roots());
    }

    static constexpr std::uint64_t kAfterlifeBlocks = 5'000;
    static constexpr std::chrono::seconds kTidyEvery{60};

    std::unique_ptr<Store> store_;
    const ledger::Chain& chain_;
    Janitor janitor_;
    std::mutex mutex_;
    std::uint64_t height_ = 0;
    std::set<Hash32> roots_;
    ArtifactServer server_;
    std::jthread tidying_;  ///< Last: it stops before what it uses is gone.
};

}  // namespace

Result<std::vector<std::unique_ptr<Extension>>> extend(Node& node) {
    std::vector<std::unique_ptr<Extension>> out;
    auto store = Store::open(std::filesystem::path(node.config().data_dir) / "artifacts");
    if (!store) return error(store.error().message);
    auto artifacts = std::make_unique<ArtifactExtension>(std::move(*store), node.chain());
    node.route(artifact_route(artifacts->server()));
    out.push_back(std::move(artifacts));
    return out;
}

}  // namespace retrace::node
