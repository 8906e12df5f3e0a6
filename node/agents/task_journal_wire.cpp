// SPDX-License-Identifier: MIT
#include "node/agents/task_journal_wire.hpp"

#include <algorithm>
#include <charconv>

#include "merkle/hash/sha256.hpp"
#include "node/net/http_client.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node {
namespace {

constexpr std::string_view kHeight = "?height=", kSignature = "&signature=";
constexpr std::size_t kSignatureBytes = 65;

/// What the requester signs. The digest of a transaction is of another function, so no signature counts for both.
Hash32 digest_of(const JournalPlace& at, std::uint64_t task, std::uint64_t height) {
    return merkle::Sha256()
        .update(view(std::string_view("retrace/task-log/1")))
        .update_u64(at.chain_id)
        .update(view(at.solver))
        .update_u64(task)
        .update_u64(height)
        .finish();
}

/// Takes a number without leading zeros off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t out = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (code != std::errc{} || (text.front() == '0' && end != text.data() + 1)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return out;
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

}  // namespace

JournalRequest sign_request(const ledger::SecretKey& key, const JournalPlace& at, std::uint64_t task,
                            std::uint64_t height) {
    return {task, height, key.sign(digest_of(at, task, height))};
}

std::string encode_target(const JournalRequest& request) {
    Bytes signature = to_bytes(view(request.signature.r));
    signature.insert(signature.end(), request.signature.s.bytes.begin(), request.signature.s.bytes.end());
    signature.push_back(request.signature.y_parity);
    return std::string(kJournalPath) + std::to_string(request.task) + std::string(kHeight) +
           std::to_string(request.height) + std::string(kSignature) + to_hex(signature);
}

std::optional<JournalRequest> decode_target(std::string_view target) {
    JournalRequest out;
    if (!take(target, kJournalPath)) return std::nullopt;
    const auto task = take_number(target);
    if (!task || !take(target, kHeight)) return std::nullopt;
    const auto height = take_number(target);
    if (!height || !take(target, kSignature) || target.size() != 2 * kSignatureBytes ||
        target.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    const Bytes bytes = from_hex(target).value();
    std::copy_n(bytes.begin(), 32, out.signature.r.bytes.begin());
    std::copy_n(bytes.begin() + 32, 32, out.signature.s.bytes.begin());
    out.signature.y_parity = bytes.back();
    out.task = *task;
    out.height = *height;
    return out;
}

Result<Bytes, Failure> answer_journal(const TaskJournals& journals, const JournalPlace& at, std::uint64_t height,
                                      std::string_view target) {
    const auto request = decode_target(target);
    if (!request)
        return failure(Fault::malformed, "a task's log is at /task-log/{task}?height=H&signature= and 130 hex digits");
    const auto missing = [&] {
        return failure(Fault::not_found, "no log of task " + std::to_string(request->task) + " is kept here");
    };
    const auto requester = journals.requester_of(request->task);
    if (!requester) return missing();
    const std::uint64_t apart = height > request->height ? height - request->height : request->height - height;
    if (apart > kSignedBlocks)
        return failure(Fault::not_wanted, "the signature is of block " + std::to_string(request->height) +
                                              ", and this solver is at block " + std::to_string(height));
    const auto signer = ledger::recover(digest_of(at, request->task, request->height), request->signature);
    if (!signer || address_of(*signer) != *requester)
        return failure(Fault::not_wanted,
                       "only the requester of task " + std::to_string(request->task) + " may read its log");
    const auto journal = journals.of(request->task);  // Copied for nobody else.
    return journal && journal->requester == *requester ? Result<Bytes, Failure>(encode_journal(request->task, *journal))
                                                       : missing();
}

Result<Journal> fetch_journal(const std::string& endpoint, const JournalRequest& request,
                              std::chrono::milliseconds most) {
    const auto url = parse_public_url(endpoint);
    if (!url) return error("its endpoint is no URL");
    HttpConnection connection(*url);
    const auto reply =
        connection.exchange({"GET", encode_target(request), {}}, kJournalBytesMax, kernels::StopToken::after(most));
    if (!reply) return error(printable(reply.error().message));
    const std::string task = "task " + std::to_string(request.task);
    if (reply->status == 403) return error("only the requester of " + task + " may read its log, at a recent block");
    if (reply->status == 404) return error("no log of " + task + " is kept there");
    if (reply->status != 200) return error("it answers HTTP " + std::to_string(reply->status));
    return decode_journal(reply->body, request.task);
}

}  // namespace retrace::node
