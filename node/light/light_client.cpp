// SPDX-License-Identifier: MIT
#include "node/light/light_client.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "node/platform/printable.hpp"

namespace retrace::node::light {
namespace {

namespace json = boost::json;

constexpr std::size_t kReplyMax = 4U << 20;
constexpr std::chrono::seconds kTimeout{20};
constexpr std::size_t kErrorMax = 300;
constexpr unsigned kBusy = 503;
constexpr std::chrono::milliseconds kBusyPause{100};

Time now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    return {seconds.count(), static_cast<std::int32_t>(std::chrono::nanoseconds(since - seconds).count())};
}

/// The result of one of CometBFT's methods.
Result<json::value> ask(HttpConnection& connection, const char* method, json::object params) {
    HttpRequest request;
    request.method = "POST";
    request.target = "/comet";
    request.content_type = "application/json";
    request.body = to_bytes(view(std::string_view(json::serialize(
        json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}}))));
    const kernels::StopToken limit = kernels::StopToken::after(kTimeout);
    auto reply = connection.exchange(request, kReplyMax, limit);
    // A node answers one light client at a time.
    while (reply && reply->status == kBusy && !limit.stop_requested()) {
        std::this_thread::sleep_for(kBusyPause);
        reply = connection.exchange(request, kReplyMax, limit);
    }
    if (!reply) return error("the node's light client interface: " + reply.error().message);
    if (reply->status == 404)
        return error("the node has no light client interface: it does not run on CometBFT, or is of an older version");
    boost::system::error_code failed;
    json::value answer = json::parse({reinterpret_cast<const char*>(reply->body.data()), reply->body.size()}, failed);
    json::object* const object = failed ? nullptr : answer.if_object();
    json::value* const result = object != nullptr ? object->if_contains("result") : nullptr;
    if (result != nullptr) return std::move(*result);
    const json::value* const refused = object != nullptr ? object->if_contains("error") : nullptr;
    return error(std::string("the node has no answer to \"") + method + "\"" +
                 (refused != nullptr ? ": " + printable(json::serialize(*refused).substr(0, kErrorMax)) : ""));
}

}  // namespace

BlockSource node_source(const Url& node) {
    return [connection = std::make_shared<HttpConnection>(node)](std::uint64_t height) -> Result<LightBlock> {
        json::object params;
        if (height != 0) params["height"] = std::to_string(height);
        RETRACE_TRY(commit, ask(*connection, "commit", params));
        if (height == 0) {  // The set of the same height is asked for.
            RETRACE_TRY(newest, commit_height(commit));
            params["height"] = std::to_string(newest);
        }
        params["per_page"] = std::to_string(kValidatorsMax);
        RETRACE_TRY(validators, ask(*connection, "validators", std::move(params)));
        return parse_light_block(commit, validators);
    };
}

Result<LightClient> LightClient::start(BlockSource source, const TrustedBlock& trusted, const TrustRules& rules) {
    const auto hash = from_hex(trusted.hash);
    if (trusted.height == 0 || !hash || hash->size() != 32)
        return error("the trusted block needs a height and a hash of 64 hex digits");
    RETRACE_TRY(block, source(trusted.height));
    if (static_cast<std::uint64_t>(block.header.height) != trusted.height || !equal(*hash, view(hash_of(block.header))))
        return error("the node's block " + std::to_string(trusted.height) +
                     " is not the one that is trusted: its hash is " + to_hex(view(hash_of(block.header))));
    if (const auto good = verify_alone(block); !good) return error(good.error().message);
    if (const auto good = check_age(block, now(), rules); !good) return error(good.error().message);
    return LightClient(std::move(source), std::move(block), rules);
}

Result<LightBlock> LightClient::verified(std::uint64_t height) {
    RETRACE_TRY(target, source_(height));
    const auto at = static_cast<std::uint64_t>(target.header.height);
    if (height != 0 && at != height) return error("the node answered with another block than it was asked for");
    bool is_invalid = false;
    auto followed = follow(target, is_invalid);
    if (followed || height != 0 || !is_invalid || target.header.height <= trusted_.header.height) return followed;
    // The newest commit holds just enough votes, and one of them may count for CometBFT alone (verify.hpp). The one below
    // has all that came in time.
    const auto below = source_(at - 1);
    if (!below || static_cast<std::uint64_t>(below->header.height) != at - 1) return followed;
    auto instead = follow(*below, is_invalid);
    return instead ? instead : followed;
}

Result<LightBlock> LightClient::follow(const LightBlock& target, bool& is_invalid) {
    const auto at = static_cast<std::uint64_t>(target.header.height);
    if (target.header.height == trusted_.header.height) {
        if (const auto good = check_age(trusted_, now(), rules_); !good) return error(good.error().message);
        if (hash_of(target.header) == hash_of(trusted_.header)) return target;
        return error("the node shows another block " + std::to_string(at) + " than before");
    }
    // The last of these is verified next; the first is the target.
    std::vector<LightBlock> ahead{target};
    for (unsigned steps = 0; !ahead.empty(); ++steps) {
        if (steps == kStepsMax)
            return error("the validators change too often: more than " + std::to_string(kStepsMax) +
                         " steps to block " + std::to_string(at));
        const auto good = verify(trusted_, ahead.back(), now(), rules_);
        if (good) {
            trusted_ = std::move(ahead.back());
            ahead.pop_back();
            continue;
        }
        const std::int64_t low = trusted_.header.height, high = ahead.back().header.height;
        is_invalid = good.error().kind == RefusalKind::invalid;
        if (good.error().kind != RefusalKind::not_enough_trust)
            return error("block " + std::to_string(high) + " of the node is not proved: " + good.error().message);
        RETRACE_TRY(middle, source_(static_cast<std::uint64_t>(low + (high - low) / 2)));
        if (middle.header.height != low + (high - low) / 2)
            return error("the node answered with another block than it was asked for");
        ahead.push_back(std::move(middle));
    }
    return trusted_;
}

}  // namespace retrace::node::light
