// SPDX-License-Identifier: MIT
#include "node/artifacts/server.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "node/artifacts/charge.hpp"
#include "node/artifacts/tensor_layout.hpp"
#include "node/net/reach.hpp"

namespace retrace::node {
namespace {

struct Target {
    Hash32 root;
    std::string_view what, query;
};

/// 64 lower-case hex digits.
std::optional<Hash32> read_root(std::string_view name) {
    if (name.size() != 64 || name.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
    return to_hash32(*from_hex(name));
}

/// Accepts only this exact spelling: an artifact has no second name, and no escapes can lead to another file.
std::optional<Target> parse_target(std::string_view target) {
    constexpr std::string_view kPrefix = "/artifact/";
    if (!target.starts_with(kPrefix)) return std::nullopt;
    target.remove_prefix(kPrefix.size());
    if (target.size() < 66 || target[64] != '/') return std::nullopt;
    const auto root = read_root(target.substr(0, 64));
    if (!root) return std::nullopt;
    Target out{*root, target.substr(65), {}};
    if (const auto at = out.what.find('?'); at != std::string_view::npos) {
        out.query = out.what.substr(at + 1);
        out.what = out.what.substr(0, at);
    }
    return out;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return out;
}

/// Parses "first=F&count=N" (or two other names), in this order.
std::optional<wire::Range> parse_range(std::string_view query,
                                       std::string_view first_name = "first=", std::string_view count_name = "count=") {
    const auto at = query.find('&');
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view first = query.substr(0, at), count = query.substr(at + 1);
    if (!first.starts_with(first_name) || !count.starts_with(count_name)) return std::nullopt;
    const auto a = number(first.substr(first_name.size())), n = number(count.substr(count_name.size()));
    if (!a || !n) return std::nullopt;
    return wire::Range{*a, *n};
}

/// Reads "&then=R,R" (at most kPackedTensorsMax - 1 roots) off the end of `query`. Nullopt: it is malformed.
std::optional<std::vector<Hash32>> take_further_roots(std::string_view& query) {
    constexpr std::string_view kThen = "&then=";
    std::vector<Hash32> out;
    const auto at = query.find(kThen);
    if (at == std::string_view::npos) return out;
    std::string_view rest = query.substr(at + kThen.size());
    query = query.substr(0, at);
    for (bool more = true; more;) {
        const auto root = read_root(rest.substr(0, 64));
        if (!root || out.size() + 1 == kPackedTensorsMax) return std::nullopt;
        out.push_back(*root);
        rest.remove_prefix(64);
        more = rest.starts_with(',');
        if (more) rest.remove_prefix(1);
    }
    if (!rest.empty()) return std::nullopt;
    return out;
}

unsigned status_of(Fault fault) noexcept {
    switch (fault) {
        case Fault::not_found: return 404;
        case Fault::incomplete: return 409;
        case Fault::not_wanted: return 403;
        case Fault::malformed: return 400;
        case Fault::too_large: return 413;
        case Fault::wrong_root:
        case Fault::wrong_proof:
        case Fault::bad_tile:
        case Fault::no_tiles: return 422;
        case Fault::out_of_range: return 416;
        case Fault::no_space:
        case Fault::over_quota: return 507;
        case Fault::busy: return 503;
        case Fault::corrupt:
        case Fault::io:
        case Fault::in_use:
        case Fault::unreachable:
        case Fault::timeout:
        case Fault::refused:
        case Fault::wrong_shape: return 500;
    }
    return 500;
}

template <class T>
Result<T, Failure> decoded(Result<T, wire::WireError> result) {
    if (result) return std::move(result).value();
    const auto fault = result.error() == wire::WireError::too_long ? Fault::too_large : Fault::malformed;
    return failure(fault, "the message is refused: " + std::string(wire::slug(result.error())));
}

ArtifactServer::Size file_of(std::uint64_t bytes) { return {bytes, artifact_charge({bytes})}; }

template <class T>
bool is_elsewhere(const Result<T, Failure>& result) {
    return !result && result.error().fault == Fault::not_found;
}

}  // namespace

HttpReply refusal(const Failure& failure) {
    // The message of a failed file operation names a local path, which must not leave this machine.
    const bool ours = failure.fault == Fault::io || failure.fault == Fault::corrupt || failure.fault == Fault::no_space;
    const wire::Refusal body{std::string(slug(failure.fault)), ours ? "the store failed" : failure.message};
    return {status_of(failure.fault), "application/octet-stream", wire::encode(body)};
}

ArtifactServer::ArtifactServer(Store& store, Wanted wanted) : store_(store), wanted_(std::move(wanted)) {
    for (const Hash32& root : store_.states()) {
        if (const auto manifest = store_.manifest(root)) remember(root, *manifest);
    }
}

void ArtifactServer::remember(const Hash32& state_root, const wire::StateManifest& manifest) {
    const std::lock_guard lock(mutex_);
    for (const Hash32& tensor : manifest.tensor_roots) {
        const auto [begin, end] = states_of_.equal_range(tensor);
        const auto same = [&](const auto& entry) { return entry.second == state_root; };
        if (std::none_of(begin, end, same)) states_of_.emplace(tensor, state_root);
    }
}

void ArtifactServer::forget_gone_states() {
    // The lock is held from the question to the use of its answer: `remember` comes after it for a state that is stored
    // again meanwhile.
    const std::lock_guard lock(mutex_);
    std::map<Hash32, bool> gone;
    std::erase_if(states_of_, [&](const auto& entry) {
        const auto [state, is_new] = gone.try_emplace(entry.second);
        if (is_new) state->second = !store_.known(entry.second);
        return state->second;
    });
}

bool ArtifactServer::wanted(const Hash32& root) {
    if (wanted_(root)) return true;
    const std::lock_guard lock(mutex_);
    auto [at, end] = states_of_.equal_range(root);
    while (at != end) {
        if (wanted_(at->second)) return true;
        at = states_of_.erase(at);
    }
    return false;
}

std::size_t ArtifactServer::body_limit(std::string_view method, std::string_view target) {
    if (method != "PUT") return 0;
    const auto parsed = parse_target(target);
    if (!parsed || !wanted(parsed->root)) return 0;
    return parsed->what == "program" ? store_.options().program_bytes : wire::kMessageBytesMax;
}

std::vector<Hash32> ArtifactServer::names_of(const Hash32& root) {
    std::vector<Hash32> out{root};
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = states_of_.equal_range(root);
    for (auto at = begin; at != end; ++at) out.push_back(at->second);
    return out;
}

Status<Failure> ArtifactServer::store_charged(const Hash32& root, const Size& size,
                                              const std::function<Status<Failure>()>& store) {
    if (!quota_hooks_.charge || store_.known(root)) return store();
    {
        const std::lock_guard lock(quota_mutex_);
        RETRACE_CHECK(quota_hooks_.charge(root, names_of(root), size));
        ++arriving_[root];
    }
    // The last of several concurrent uploads decides: where one fails, another may still store.
    const auto leave = [&](void*) {
        const std::lock_guard lock(quota_mutex_);
        const auto here = arriving_.find(root);
        if (--here->second != 0) return;
        arriving_.erase(here);
        quota_hooks_.done(root, store_.known(root));
    };
    const std::unique_ptr<void, decltype(leave)> guard(this, leave);  // also after an exception
    return store();
}

ArtifactServer::Wait ArtifactServer::wait_for(const HttpRequest& request) const {
    const auto target = parse_target(request.target);
    if (provider_ == nullptr || !target || request.method != "GET" || target->what == "program" ||
        target->what == "packed")
        return Wait::nothing;
    if (provider_->is_open(target->root) || store_.known(target->root)) return Wait::nothing;
    return target->what == "state" ? Wait::checkpoints : Wait::tensor;
}

HttpReply ArtifactServer::handle(const HttpRequest& request, const std::string& client) {
    constexpr std::string_view kParty = "/party/";
    if (party_ && request.method == "GET" && request.target.starts_with(kParty)) {
        const auto answer = party_(std::string_view(request.target).substr(kParty.size()));
        if (!answer) return refusal({Fault::malformed, "a challenge has 64 hex digits"});
        return {200, "text/plain", to_bytes(view(std::string_view(*answer)))};
    }
    if (const std::string answer = reach_answer_to(request.target);
        party_ && request.method == "GET" && !answer.empty())
        return {200, "text/plain", to_bytes(view(answer))};
    if (more_ && request.method == "GET" && request.target.starts_with(more_prefix_)) {
        auto answer = more_(request.target);
        return answer ? HttpReply{200, "application/jsonl", std::move(*answer)} : refusal(answer.error());
    }
    const auto target = parse_target(request.target);
    if (!target) return refusal({Fault::malformed, "no such path; artifacts are at /artifact/{root}/…"});
    if (refused_.contains(target->root)) return refusal({Fault::not_found, "nothing here has this root"});
    auto reply = request.method == "GET"   ? get(target->root, target->what, target->query, client)
                 : request.method == "PUT" ? put(target->root, target->what, target->query, request.body)
                                           : failure(Fault::malformed, "only GET and PUT are understood");
    HttpReply out = reply ? std::move(*reply) : refusal(reply.error());
    if (tamper_) tamper_(request, out);
    return out;
}

Result<wire::Info, Failure> ArtifactServer::info(const Hash32& root, const std::string& client) {
    auto out = store_.info(root);
    if (is_elsewhere(out) && provider_ != nullptr) out = provider_->info(root, client);
    if (is_elsewhere(out) && wanted(root)) return wire::Info{};
    return out;
}

Result<wire::TileRange, Failure> ArtifactServer::tiles(const Hash32& root, const wire::Range& range,
                                                       const std::string& client) {
    auto out = store_.tiles(root, range.first, range.count);
    if (is_elsewhere(out) && provider_ != nullptr) return provider_->tiles(root, range.first, range.count, client);
    return out;
}

Result<Bytes, Failure> ArtifactServer::leaves(const Hash32& root, const wire::Range& range, const std::string& client) {
    auto out = store_.leaves(root, range.first, range.count);
    if (is_elsewhere(out) && provider_ != nullptr) return provider_->leaves(root, range.first, range.count, client);
    return out;
}

Result<wire::StateManifest, Failure> ArtifactServer::manifest(const Hash32& root) {
    auto out = store_.manifest(root);
    if (!is_elsewhere(out) || provider_ == nullptr) return out;
    if (auto found = provider_->state(root)) return std::move(*found);
    return out;
}

Result<HttpReply, Failure> ArtifactServer::get(const Hash32& root, std::string_view what, std::string_view query,
                                               const std::string& client) {
    HttpReply reply;
    if (what == "tiles" || what == "leaves") {
        const auto range = parse_range(query);
        if (!range) return failure(Fault::malformed, std::string(what) + " need ?first=F&count=N");
        if (what == "leaves") {
            RETRACE_TRY(hashes, leaves(root, *range, client));
            reply.body = std::move(hashes);
            return reply;
        }
        RETRACE_TRY(cut, tiles(root, *range, client));
        reply.body = wire::encode(cut);
        return reply;
    }
    if (what == "program" || what == "packed") {
        std::vector<Hash32> roots{root};
        if (what == "packed") {
            const auto further = take_further_roots(query);
            if (!further)
                return failure(Fault::malformed, "&then= is followed by at most " +
                                                     std::to_string(kPackedTensorsMax - 1) + " roots, with commas");
            roots.insert(roots.end(), further->begin(), further->end());
        }
        const auto range = parse_range(query, "at=");
        if (!range || range->count > wire::kMessageBytesMax)
            return failure(Fault::malformed, std::string(what) + " is served in pieces of at most " +
                                                 std::to_string(wire::kMessageBytesMax) + " bytes: ?at=A&count=N");
        if (what == "packed") {
            auto piece = messages_ != nullptr ? messages_->piece(roots, range->first, range->count) : std::nullopt;
            if (!piece)
                return failure(Fault::not_found, "no message here has tensor " + to_hex(view(root)) +
                                                     (roots.size() > 1 ? " and the others" : ""));
            reply.body = std::move(*piece);
            return reply;
        }
        RETRACE_TRY(piece, store_.program_piece(root, range->first, range->count));
        reply.body = std::move(piece);
        return reply;
    }
    if (!query.empty()) return failure(Fault::malformed, "this path takes no query");
    if (what == "info") {
        RETRACE_TRY(known, info(root, client));
        reply.body = wire::encode(known);
    } else if (what == "state") {
        RETRACE_TRY(found, manifest(root));
        reply.body = wire::encode(found);
    } else {
        return failure(Fault::malformed, "artifacts have info, tiles, leaves, program, packed and state");
    }
    return reply;
}

Result<HttpReply, Failure> ArtifactServer::put(const Hash32& root, std::string_view what, std::string_view query,
                                               View body) {
    if (!wanted(root)) {
        return failure(Fault::not_wanted, "no live task names " + to_hex(view(root)));
    }
    if (what == "program" && !query.empty()) {
        constexpr std::string_view kUpload = "&upload=";
        const auto at = query.find(kUpload);
        const auto place = at == std::string_view::npos ? std::nullopt : parse_range(query.substr(0, at), "at=", "of=");
        if (!place) return failure(Fault::malformed, "a piece of a program needs ?at=A&of=N&upload=U");
        const PartialProgramUploads::Place piece{place->first, place->count, query.substr(at + kUpload.size())};
        // The charge is tried before the first piece too, so that nobody sends bytes that will not be kept. It is
        // released after every piece but the last: until then the bytes may be anything.
        RETRACE_CHECK(
            store_charged(root, file_of(piece.total), [&] { return store_.add_program_piece(root, piece, body); }));
        return HttpReply{204, "application/octet-stream", {}};
    }
    if (!query.empty()) return failure(Fault::malformed, "this path takes no query");
    if (what == "tiles") {
        RETRACE_TRY(range, decoded(wire::decode_tile_range(body)));
        // The size follows from the header that the root commits to, not from the sender's claim.
        RETRACE_CHECK(check_header(root, range.header));
        const Size size{kTensorFileHead + data_bytes(range.header), tensor_charge(range.header)};
        RETRACE_CHECK(store_charged(root, size, [&] { return store_.add_tiles(root, range); }));
    } else if (what == "program") {
        RETRACE_CHECK(store_charged(root, file_of(body.size()), [&] { return store_.add_program(root, body); }));
    } else if (what == "state") {
        RETRACE_TRY(manifest, decoded(wire::decode_state_manifest(body)));
        // The stored file is this encoding, whatever longer or shorter one the sender has chosen.
        const std::uint64_t bytes = wire::encode(manifest).size();
        const Size size{bytes, state_charge(bytes)};
        RETRACE_CHECK(store_charged(root, size, [&] { return store_.add_manifest(root, manifest); }));
        remember(root, manifest);
    } else {
        return failure(Fault::malformed, "uploads go to tiles, program and state");
    }
    return HttpReply{204, "application/octet-stream", {}};
}

}  // namespace retrace::node
