// SPDX-License-Identifier: MIT
#include "node/artifacts/receipt.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "merkle/base/durable_file.hpp"
#include "node/platform/files.hpp"
#include "node/platform/strict_json.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kReceiptVersion = 1;
constexpr std::size_t kListMax = 100'000;

json::array hash_list(const std::vector<Hash32>& hashes) {
    json::array out;
    for (const Hash32& hash : hashes) out.push_back(json::string(to_0x(view(hash))));
    return out;
}

Result<std::string> read_address(const std::string& text) {
    const auto bytes = from_hex(text);
    if (!text.starts_with("0x") || !bytes || bytes->size() != 20 || to_0x(*bytes) != text) {
        return error("\"" + text + "\" is not an address of 0x and 40 lower-case hex digits");
    }
    return text;
}

Result<Receipt::State> read_state(const json::value& value) {
    RETRACE_TRY(fields, StrictObject::open(value, {"index", "height", "root"}));
    RETRACE_TRY(index, fields.number("index"));
    RETRACE_TRY(height, fields.number("height"));
    RETRACE_TRY(root, fields.hash("root"));
    return Receipt::State{index, height, root};
}

Result<Receipt::Audit> read_audit(const json::value& value) {
    RETRACE_TRY(fields, StrictObject::open(value, {"segment", "height", "auditors"}));
    RETRACE_TRY(segment, fields.number("segment"));
    RETRACE_TRY(height, fields.number("height"));
    RETRACE_TRY(list, fields.array("auditors", 1000));
    Receipt::Audit out{segment, height, {}};
    for (const json::value& entry : *list) {
        if (!entry.is_string()) return error("an auditor is not a string");
        RETRACE_TRY(address, read_address(std::string(entry.get_string())));
        out.auditors.push_back(std::move(address));
    }
    return out;
}

/// Reads states and audits; each list must be strictly ascending.
Status<> read_lists(Receipt& out, const StrictObject& fields) {
    RETRACE_TRY(states, fields.array("states", kListMax));
    for (const json::value& entry : *states) {
        RETRACE_TRY(state, read_state(entry));
        if (!out.states.empty() && state.index <= out.states.back().index) return error("the states do not ascend");
        out.states.push_back(state);
    }
    RETRACE_TRY(audits, fields.array("audits", kListMax));
    for (const json::value& entry : *audits) {
        RETRACE_TRY(audit, read_audit(entry));
        if (!out.audits.empty() && audit.segment <= out.audits.back().segment) {
            return error("the audits do not ascend");
        }
        out.audits.push_back(std::move(audit));
    }
    return Unit{};
}

Status<> check(const Receipt& receipt) {
    if (receipt.steps == 0 || receipt.interval == 0) return error("no steps, or no interval");
    const std::uint64_t segments = (receipt.steps - 1) / receipt.interval + 1;
    if (receipt.states.empty() || receipt.states.front().index != 0) return error("the initial state is missing");
    // A member of a private group has up to twice as many; `check_receipt` asks the ledger which state is the last one.
    const std::uint64_t last = receipt.states.back().index;
    if (last < segments || (last != segments && (!receipt.data.empty() || last > 2 * segments)))
        return error("the last state is not the end of the training");
    if (!receipt.audits.empty() && receipt.audits.back().segment >= last) {
        return error("an audit of a segment that does not exist");
    }
    return Unit{};
}

}  // namespace

std::string to_json(const Receipt& receipt) {
    json::array states, audits;
    for (const Receipt::State& state : receipt.states) {
        states.push_back(
            json::object{{"index", state.index}, {"height", state.height}, {"root", to_0x(view(state.root))}});
    }
    for (const Receipt::Audit& audit : receipt.audits) {
        json::array auditors(audit.auditors.begin(), audit.auditors.end());
        audits.push_back(
            json::object{{"segment", audit.segment}, {"height", audit.height}, {"auditors", std::move(auditors)}});
    }
    return json::serialize(json::object{{"format", kReceiptVersion},
                                        {"chain_id", receipt.chain_id},
                                        {"task", receipt.task},
                                        {"requester", receipt.requester},
                                        {"solver", receipt.solver},
                                        {"contract", to_0x(view(receipt.contract))},
                                        {"program", to_0x(view(receipt.program))},
                                        {"init", to_0x(view(receipt.init))},
                                        {"data", hash_list(receipt.data)},
                                        {"seed", receipt.seed},
                                        {"steps", receipt.steps},
                                        {"interval", receipt.interval},
                                        {"posted_height", receipt.posted_height},
                                        {"settled_height", receipt.settled_height},
                                        {"states", std::move(states)},
                                        {"audits", std::move(audits)}}) +
           "\n";
}

Result<Receipt> receipt_from_json(View text) {
    RETRACE_TRY(value, parse_json(text, "receipt"));
    RETRACE_TRY(fields, StrictObject::open(value, {"format", "chain_id", "task", "requester", "solver", "contract",
                                                   "program", "init", "data", "seed", "steps", "interval",
                                                   "posted_height", "settled_height", "states", "audits"}));
    RETRACE_TRY(format, fields.number("format"));
    if (format != kReceiptVersion) return error("receipt format " + std::to_string(format) + " is unknown");
    Receipt out;
    const std::pair<const char*, std::uint64_t*> numbers[] = {{"chain_id", &out.chain_id},
                                                              {"task", &out.task},
                                                              {"seed", &out.seed},
                                                              {"steps", &out.steps},
                                                              {"interval", &out.interval},
                                                              {"posted_height", &out.posted_height},
                                                              {"settled_height", &out.settled_height}};
    for (const auto& [field, target] : numbers) {
        RETRACE_TRY(number, fields.number(field));
        *target = number;
    }
    const std::pair<const char*, Hash32*> hashes[] = {
        {"contract", &out.contract}, {"program", &out.program}, {"init", &out.init}};
    for (const auto& [field, target] : hashes) {
        RETRACE_TRY(hash, fields.hash(field));
        *target = hash;
    }
    const std::pair<const char*, std::string*> addresses[] = {{"requester", &out.requester}, {"solver", &out.solver}};
    for (const auto& [field, target] : addresses) {
        RETRACE_TRY(address_text, fields.text(field, 42));
        RETRACE_TRY(address, read_address(address_text));
        *target = std::move(address);
    }
    RETRACE_TRY(data, fields.hashes("data", 64));
    out.data = std::move(data);
    RETRACE_CHECK(read_lists(out, fields));
    RETRACE_CHECK(check(out));
    return out;
}

Status<> store_receipt(const Receipt& receipt, const std::filesystem::path& path) {
    RETRACE_CHECK(write_durably(path, {view(to_json(receipt))}));
    return Unit{};
}

Result<Receipt> load_receipt(const std::filesystem::path& path) {
    const auto text = read_file(path, kReceiptBytesMax);
    if (!text) return error(text.error().message);
    auto receipt = receipt_from_json(*text);
    if (!receipt) return error(path.string() + ": " + receipt.error().message);
    return receipt;
}

}  // namespace retrace::node
