// SPDX-License-Identifier: MIT
// Accounts, slots and state proofs; remote agents read the chain through these methods.
#include <variant>

#include "ledger/chain/state_proof.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::size_t kSlotsMax = 1000;
constexpr std::size_t kSlotKeyMax = 256;
constexpr std::size_t kSlotBytesMax = std::size_t{8} << 20;  // in one answer
constexpr std::uint64_t kChangedBlocksMax = 256;
constexpr std::size_t kChangedSlotsMax = 1 << 14;
constexpr std::size_t kProofWork = 64;  // for the pages of its path; later changes are charged by their size

struct SlotName {
    ledger::Address contract;
    Bytes key;
};

Checked<SlotName> parse_slot(std::size_t arg, const json::value& value) {
    const json::object* object = value.if_object();
    const json::value* contract = object != nullptr ? object->if_contains("contract") : nullptr;
    const json::value* key = object != nullptr ? object->if_contains("key") : nullptr;
    if (contract == nullptr || key == nullptr) return invalid_argument(arg, "a slot is {contract, key}");
    RETRACE_TRY(address, argument(arg, parse_address(*contract)));
    RETRACE_TRY(bytes, argument(arg, parse_data(*key)));
    if (bytes.size() > kSlotKeyMax) return invalid_argument(arg, "a key is at most 256 bytes");
    return SlotName{address, std::move(bytes)};
}

Answer get_slots(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(names, params.array(0));
    if (names->size() > kSlotsMax) return invalid_argument(0, "at most 1000 slots");
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    json::array values;
    std::size_t total = 0;
    for (const json::value& name : *names) {
        RETRACE_TRY(slot, parse_slot(0, name));
        const Bytes value = state.view->slot(slot.contract, slot.key);
        total += value.size();
        if (total > kSlotBytesMax) return server_error("the slots hold more than 8 MiB; ask for fewer");
        values.emplace_back(data(View(value)));
    }
    return json::value(json::object{{"height", state.height}, {"values", std::move(values)}});
}

/// Which slots changed after block `from`, up to block `to`: of each one four bytes of a hash, so that who knows slots of
/// block `from` reads again only those of them whose hash is among these.
Answer get_changed_slots(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(from_ref, params.block(0));
    RETRACE_TRY(to_ref, params.block(1));
    RETRACE_TRY(from, known_height(backend, from_ref));
    RETRACE_TRY(to, known_height(backend, to_ref));
    if (from > to || to - from > kChangedBlocksMax)
        return invalid_argument(0, "a height of the 256 below the second argument");
    Bytes tags;
    for (std::uint64_t height = from + 1; height <= to; ++height) {
        Status<RpcError> spent = Unit{};
        const auto changed = backend.chain.changed_slots(height, [&](std::size_t work) {
            spent = caller.spend(work);
            return spent.has_value();
        });
        RETRACE_CHECK(spent);
        if (!changed) return server_error("the changes of block " + std::to_string(height) + " are not kept");
        for (const Bytes& slot : *changed) {
            const Hash32 hash = merkle::sha256({View(slot)});
            tags.insert(tags.end(), hash.bytes.begin(), hash.bytes.begin() + 4);
        }
        if (tags.size() > 4 * kChangedSlotsMax)
            return server_error("more than 16384 slots changed; ask for fewer blocks");
    }
    const auto before = backend.chain.header(from), after = backend.chain.header(to);
    if (!before || !after) return server_error("the headers of these blocks are not kept");
    return json::value(json::object{{"height", to},
                                    {"from_hash", data(block_hash(*before))},
                                    {"hash", data(block_hash(*after))},
                                    {"changed", data(View(tags))}});
}

Answer get_account(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(address, params.address(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const ledger::Account account = state.view->account(address);
    return json::value(json::object{
        {"height", state.height}, {"nonce", quantity(account.nonce)}, {"balance", quantity(account.balance)}});
}

/// A proof as JSON members for programs in any language, and `encoded` for this project's verify().
json::value proof_json(const ledger::StateProof& proof) {
    json::array siblings;
    for (const Hash32& sibling : proof.proof.siblings) siblings.emplace_back(data(sibling));
    json::object out{{"height", proof.height},           {"state_root", data(proof.state_root)},
                     {"leaf_key", data(proof.leaf_key)}, {"value", data(View(proof.value))},
                     {"siblings", std::move(siblings)},  {"other", nullptr}};
    if (proof.proof.other) {
        out["other"] =
            json::object{{"key", data(proof.proof.other->key)}, {"value_hash", data(proof.proof.other->value_hash)}};
    }
    Writer encoded;
    encode_to(encoded, proof);
    out["encoded"] = data(View(encoded.data()));
    return out;
}

Result<ledger::StateProof, ledger::ChainFailure> prove(const Backend& backend, std::uint64_t height,
                                                       const std::variant<ledger::Address, SlotName>& leaf,
                                                       const ledger::WorkMeter& meter) {
    if (const auto* address = std::get_if<ledger::Address>(&leaf))
        return backend.chain.prove_account(height, *address, meter);
    const SlotName& slot = std::get<SlotName>(leaf);
    return backend.chain.prove_slot(height, slot.contract, slot.key, meter);
}

/// The proof of an account ("0x…") or of a slot ({contract, key}).
Answer get_proof(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_CHECK(caller.spend(kProofWork));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(height, known_height(backend, ref));
    std::variant<ledger::Address, SlotName> leaf;
    if (params.at(0).is_string()) {
        RETRACE_TRY(address, params.address(0));
        leaf = address;
    } else {
        RETRACE_TRY(slot, parse_slot(0, params.at(0)));
        leaf = std::move(slot);
    }
    Status<RpcError> spent = Unit{};
    const auto proof = prove(backend, height, leaf, [&](std::size_t work) {
        spent = caller.spend(work);
        return spent.has_value();
    });
    RETRACE_CHECK(spent);
    if (!proof) return server_error(proof.error().message);
    return proof_json(*proof);
}

/// The header for programs that know its hash from elsewhere.
Answer get_header(const Backend& backend, const Params& params) {
    RETRACE_TRY(ref, params.block(0));
    RETRACE_TRY(height, known_height(backend, ref));
    const auto header = backend.chain.header(height);
    if (!header) return server_error("block " + std::to_string(height) + " is not kept");
    Writer encoded;
    encode_to(encoded, *header);
    return json::value(
        json::object{{"height", height}, {"hash", data(block_hash(*header))}, {"encoded", data(View(encoded.data()))}});
}

}  // namespace

void register_retrace_state(Router& router, const Backend& backend) {
    const ParamInfo block{"block", "BlockTag", false};
    router.add({"retrace_getSlots",
                "Bytes of contracts' slots [{contract, key}…], all at one height.",
                {{"slots", "Slot[]"}, block},
                "Slots",
                [&backend](const Params& params, Caller& caller) { return get_slots(backend, params, caller); }});
    router.add(
        {"retrace_getChangedSlots",
         "Which slots changed after the first block, up to the second: the first four bytes of SHA-256 of each "
         "one's contract and key, one after the other.",
         {{"from", "BlockTag"}, block},
         "ChangedSlots",
         [&backend](const Params& params, Caller& caller) { return get_changed_slots(backend, params, caller); }});
    router.add({"retrace_getAccount",
                "Nonce and balance at one height.",
                {{"address", "Address"}, block},
                "Account",
                [&backend](const Params& params, Caller& caller) { return get_account(backend, params, caller); }});
    router.add({"retrace_getHeader",
                "A block's header in the ledger's encoding, whose hash is the block's.",
                {block},
                "EncodedHeader",
                [&backend](const Params& params, Caller&) { return get_header(backend, params); }});
    router.add({"retrace_getProof",
                "Presence or absence of an account or a slot under a block's state root.",
                {{"leaf", "Leaf"}, block},
                "Proof",
                [&backend](const Params& params, Caller& caller) { return get_proof(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
