// SPDX-License-Identifier: MIT
#include "ledger/chain/genesis.hpp"

#include <algorithm>

#include "ledger/tx/transaction.hpp"
#include "ledger/types/codec.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kAllocMax = 1'000'000;
constexpr std::size_t kContractsMax = 16U << 20;
constexpr std::size_t kValidatorRulesMax = 64U << 10;

Status<> check_validators(const std::vector<Validator>& validators) {
    if (validators.size() > kValidatorsMax) return error("genesis: more than 100 validators");
    for (std::size_t i = 0; i < validators.size(); ++i) {
        const std::string name = "genesis: validator " + to_hex(view(validators[i].key));
        if (validators[i].power == 0 || validators[i].power > kPowerMax)
            return error(name + " has a power that is not in 1.." + std::to_string(kPowerMax));
        if (validators[i].account.is_zero()) return error(name + " has no account");
        if (i != 0 && !(validators[i - 1].key < validators[i].key))
            return error(name + " is listed twice or not in the order of the keys");
        if (std::ranges::count(validators, validators[i].account, &Validator::account) != 1)
            return error(name + " has the account of another one");
    }
    return Unit{};
}

}  // namespace

Bytes encode(const Genesis& genesis) {
    Writer out;
    out.u64(genesis.chain_id).u64(genesis.time_ns).u64(genesis.gas_limit);
    encode_to(out, genesis.base_fee);
    out.u32(static_cast<std::uint32_t>(genesis.alloc.size()));
    for (const auto& [address, balance] : genesis.alloc) {
        out.raw(view(address));
        encode_to(out, balance);
    }
    out.bytes(genesis.contracts);
    // A genesis without validators ends here: its bytes are those from before there were any.
    if (genesis.validators.empty()) return std::move(out).take();
    out.u32(static_cast<std::uint32_t>(genesis.validators.size()));
    for (const Validator& validator : genesis.validators) {
        out.raw(view(validator.key)).raw(view(validator.account)).u64(validator.power).raw(validator.vrf_key.bytes);
    }
    out.bytes(genesis.validator_rules);
    return std::move(out).take();
}

Result<Genesis> decode_genesis(View bytes) {
    Reader in(bytes);
    Genesis genesis;
    genesis.chain_id = in.u64();
    genesis.time_ns = in.u64();
    genesis.gas_limit = in.u64();
    genesis.base_fee = decode_u256(in);
    const std::uint32_t count = in.count(kAllocMax, 20 + 32);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        const Address address = decode_address(in);
        // Ascending order is part of the canonical form; otherwise a repeated account would silently get its last
        // balance.
        if (!genesis.alloc.empty() && genesis.alloc.rbegin()->first >= address) in.fail(CodecError::not_canonical);
        genesis.alloc.insert_or_assign(address, decode_u256(in));
    }
    genesis.contracts = to_bytes(in.bytes(kContractsMax));
    if (in.ok() && in.left() != 0) {
        const std::uint32_t validators = in.count(kValidatorsMax, 32 + 20 + 8 + 33);
        if (validators == 0) in.fail(CodecError::not_canonical);
        for (std::uint32_t i = 0; i < validators && in.ok(); ++i) {
            const Hash32 key = in.hash();
            const Address account = decode_address(in);
            const std::uint64_t power = in.u64();
            const View vrf_key = in.raw(VrfKey{}.bytes.size());
            Validator& made = genesis.validators.emplace_back(Validator{key, account, power, {}});
            if (in.ok()) std::ranges::copy(vrf_key, made.vrf_key.bytes.begin());
        }
        genesis.validator_rules = to_bytes(in.bytes(kValidatorRulesMax));
    }
    if (const auto end = in.finish(); !end) {
        return error("genesis: the encoding is refused: " + std::string(slug(end.error())));
    }
    RETRACE_CHECK(check(genesis));
    return genesis;
}

Status<> check(const Genesis& genesis) {
    if (genesis.chain_id == 0 || genesis.chain_id > kChainIdMax) {
        return error("genesis: chain id " + std::to_string(genesis.chain_id) + " is not in 1.." +
                     std::to_string(kChainIdMax));
    }
    if (genesis.gas_limit < 2 * kTransferGas || genesis.gas_limit > kGasLimitMax) {
        return error("genesis: gas limit " + std::to_string(genesis.gas_limit) + " is not in " +
                     std::to_string(2 * kTransferGas) + ".." + std::to_string(kGasLimitMax));
    }
    if (genesis.base_fee.is_zero() || !genesis.base_fee.fits_u64()) {
        return error("genesis: the base fee is not in 1..2^64-1");
    }
    if (genesis.alloc.size() > kAllocMax) return error("genesis: more than 1000000 allocations");
    if (genesis.contracts.size() > kContractsMax) return error("genesis: contract records over 16 MiB");
    RETRACE_CHECK(check_validators(genesis.validators));
    if (genesis.validators.empty() && !genesis.validator_rules.empty())
        return error("genesis: rules of validators without validators");
    U256 sum;
    for (const auto& [address, balance] : genesis.alloc) {
        const auto next = checked_add(sum, balance);
        if (!next) return error("genesis: the allocations sum to more than 256 bits");
        sum = *next;
    }
    return Unit{};
}

Hash32 genesis_hash(const Genesis& genesis) {
    return merkle::sha256({view(std::string_view("retrace/genesis/1")), encode(genesis)});
}

}  // namespace retrace::ledger
