// SPDX-License-Identifier: MIT
// What validators and engines bring to a block: its entry of shares, the report in its first log, VRF proofs, and the
// validators and their rules in a genesis. What decodes has one spelling.
#include "ledger/block/report_log.hpp"
#include "ledger/chain/genesis.hpp"
#include "ledger/crypto/ed25519.hpp"
#include "market/validator.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/engine/shares.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

ledger::VrfSecret secret() { return *ledger::VrfSecret::from_bytes(Bytes(32, 7)); }

ledger::BeaconShare share(std::uint8_t i) {
    ledger::BeaconShare out;
    out.validator.fill(i);
    out.proof = secret().prove(View(&i, 1));
    return out;
}

Bytes with_kind(std::uint8_t kind, Bytes bytes) {
    bytes.insert(bytes.begin(), kind);
    return bytes;
}

void run_report(View input) {
    ledger::EngineReport given;
    given.missed.push_back({});
    ledger::Log log = ledger::report_log(given);
    log.data = to_bytes(input);
    const auto report = ledger::read_report({&log, 1});
    // An empty report has no log, so nothing writes its bytes.
    if (report && !report->empty()) require(ledger::report_log(*report).data == log.data, "a report has one spelling");
}

void run_proof(View input) {
    const auto size = std::min(input.size(), ledger::VrfProof{}.size());
    const View proof = input.first(size), alpha = input.subspan(size);
    const auto value = ledger::vrf_verify(secret().key(), alpha, proof);
    require(!value || equal(proof, secret().prove(alpha)), "only the owner of a key makes proofs");
    (void)ledger::ed25519_verify(Hash32{}, alpha, proof);
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    const std::vector shares{share(1), share(2)};
    out.push_back(with_kind(0, node::encode_shares(shares)));
    out.push_back(with_kind(1, ledger::report_log({{{1}, {2}}, {{{3}, 9}}, shares}).data));
    Bytes proof = to_bytes(share(5).proof);
    proof.push_back(5);
    out.push_back(with_kind(2, proof));
    out.push_back(with_kind(3, market::encode(market::ValidatorRules{})));
    ledger::Genesis genesis = node::dev_genesis({});
    ledger::Validator founder;
    founder.account.bytes.fill(1);
    founder.vrf_key = secret().key();
    genesis.validators = {founder};
    genesis.validator_rules = market::encode(market::ValidatorRules{});
    out.push_back(with_kind(4, ledger::encode(genesis)));
    return out;
}

void run(View input) {
    if (input.empty()) return;
    const View rest = input.subspan(1);
    switch (input[0] % 5) {
        case 0:
            if (const auto shares = node::decode_shares(rest))
                require(equal(node::encode_shares(*shares), rest), "an entry of shares has one spelling");
            return;
        case 1: return run_report(rest);
        case 2: return run_proof(rest);
        case 3:
            if (const auto rules = market::decode_validator_rules(rest))
                require(equal(market::encode(*rules), rest), "rules of validators have one spelling");
            return;
        default:
            if (const auto genesis = ledger::decode_genesis(rest))
                require(equal(ledger::encode(*genesis), rest), "a genesis has one spelling");
    }
}

}  // namespace retrace::fuzz
