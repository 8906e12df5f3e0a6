// SPDX-License-Identifier: MIT
// Keystore files, mnemonics, paths and typed data: what a user pastes into the wallet.
#include "node/wallet/keystore.hpp"

#include "node/wallet/message.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node::wallet;

constexpr std::string_view kPassphrase = "fuzz";
constexpr std::string_view kWords = "test test test test test test test test test test test junk";
constexpr std::string_view kTypedData = R"({"types":{"EIP712Domain":[{"name":"name","type":"string"},{"name":"chainId",
"type":"uint256"}],"Mail":[{"name":"from","type":"address"},{"name":"amounts","type":"uint64[]"},{"name":"text",
"type":"string"}]},"primaryType":"Mail","domain":{"name":"Retrace","chainId":7298},"message":{"from":
"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","amounts":[1,"0x2"],"text":"hello"}})";

void open_keystore(std::string_view text) {
    (void)keystore_address(text);
    const auto key = decrypt_keystore(text, kPassphrase);
    if (!key) return;
    const std::optional<ledger::Address> claimed = keystore_address(text);
    require(!claimed || *claimed == key->address(), "a file holds the key that it claims");
}

}  // namespace

std::vector<Bytes> seeds() {
    // Two rounds of scrypt: the derivation is not what is tested here.
    const auto key = ledger::SecretKey::from_bytes(Bytes(32, 9));
    const std::string file = encrypt_keystore(*key, kPassphrase, {2, 1, 1});
    return {with_kind(0, view(file)), with_kind(1, view(kWords)),
            with_kind(2, view(std::string_view("m/44'/60'/0'/0/0"))), with_kind(3, view(kTypedData))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(4);
    const View bytes = choices.rest();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    switch (kind) {
        case 0: open_keystore(text); break;
        case 1:
            if (const auto entropy = entropy_of(text))
                require(*entropy_of(mnemonic_of(*entropy)) == *entropy, "words and entropy are one");
            break;
        case 2:
            if (const auto path = parse_path(text)) require(path->size() <= 16, "a path is short");
            break;
        default: (void)typed_data_digest(text); break;
    }
}

}  // namespace retrace::fuzz
