// SPDX-License-Identifier: MIT
#include "node/server/comet/consensus_key.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>

#include "ledger/exec/validator.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/base64.hpp"

namespace retrace::node::engine {
namespace {

namespace json = boost::json;

constexpr std::size_t kKeyFileMax = 16U << 10;
constexpr const char* kPrivateType = "tendermint/PrivKeyEd25519";
constexpr const char* kPublicType = "tendermint/PubKeyEd25519";
constexpr mode_t kOwnerOnly = 0600;

struct KeyPair {
    std::array<std::uint8_t, 64> secret{};  // seed, then public key: Go's form
    Hash32 public_key;
    ~KeyPair() { OPENSSL_cleanse(secret.data(), secret.size()); }
};

Result<KeyPair> generate() {
    using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
    const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
    KeyPair pair;
    std::size_t seed = 32, point = 32;
    if (!key || EVP_PKEY_get_raw_private_key(key.get(), pair.secret.data(), &seed) != 1 ||
        EVP_PKEY_get_raw_public_key(key.get(), pair.public_key.data(), &point) != 1) {
        return error("OpenSSL could not make an ed25519 key");
    }
    std::copy_n(pair.public_key.data(), 32, pair.secret.begin() + 32);
    return pair;
}

json::object private_json(const KeyPair& pair) { return {{"type", kPrivateType}, {"value", to_base64(pair.secret)}}; }

/// The "priv_key" of a key file of CometBFT.
Result<KeyPair> read_key(const std::filesystem::path& path) {
    const auto bytes = read_file(path, kKeyFileMax);
    if (!bytes) return error(bytes.error().message);
    boost::system::error_code failed;
    const json::value file = json::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, failed);
    const json::object* object = failed ? nullptr : file.if_object();
    const json::value* key = object != nullptr ? object->if_contains("priv_key") : nullptr;
    const json::value* type = key != nullptr && key->is_object() ? key->get_object().if_contains("type") : nullptr;
    const json::value* value = type != nullptr ? key->get_object().if_contains("value") : nullptr;
    std::optional<Bytes> secret;
    if (value != nullptr && type->is_string() && type->get_string() == kPrivateType && value->is_string())
        secret = from_base64(value->get_string(), 64);
    if (!secret) return error(path.string() + " holds no ed25519 key of CometBFT");
    KeyPair out;
    std::ranges::copy(*secret, out.secret.begin());
    out.public_key = to_hash32(View(*secret).subspan(32));
    OPENSSL_cleanse(secret->data(), secret->size());
    return out;
}

Status<> write_json(const std::filesystem::path& path, const json::object& object) {
    std::string text = json::serialize(object) + "\n";
    const auto written = write_durably(path, {view(std::string_view(text))}, kOwnerOnly);
    OPENSSL_cleanse(text.data(), text.size());
    if (!written) return error(written.error().message);
    return Unit{};
}

}  // namespace

Result<Hash32> make_validator_key(const std::filesystem::path& path, const std::filesystem::path& state_path) {
    if (std::filesystem::exists(path)) {
        if (std::filesystem::exists(state_path)) {
            RETRACE_TRY(kept, read_key(path));
            return kept.public_key;
        }
        return error(state_path.string() +
                     " is missing, which says what the validator's key beside it has signed: with "
                     "an empty one the key would sign twice. Restore it together with the key, or wait until no block "
                     "that the key may have signed can come again, and delete the key to make a new one");
    }
    RETRACE_TRY(pair, generate());
    // The state first: a key without a record of what it signed may sign twice.
    if (!std::filesystem::exists(state_path))
        RETRACE_CHECK(write_json(state_path, {{"height", "0"}, {"round", 0}, {"step", 0}}));
    RETRACE_CHECK(
        write_json(path, {{"address", to_hex(ledger::consensus_address(pair.public_key))},
                          {"pub_key", json::object{{"type", kPublicType}, {"value", to_base64(view(pair.public_key))}}},
                          {"priv_key", private_json(pair)}}));
    return pair.public_key;
}

Result<SignedMessage> sign_with_validator_key(const std::filesystem::path& path, View message) {
    RETRACE_TRY(pair, read_key(path));
    const View seed = View(pair.secret).first(32);
    if (ledger::ed25519_public_key(seed) != pair.public_key)
        return error(path.string() + ": the public half of the key is not that of its private half");
    return SignedMessage{pair.public_key, ledger::ed25519_sign(seed, message)};
}

Result<std::string> make_node_key(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) {
        RETRACE_TRY(pair, generate());
        RETRACE_CHECK(write_json(path, {{"priv_key", private_json(pair)}}));
    }
    RETRACE_TRY(kept, read_key(path));
    return to_hex(ledger::consensus_address(kept.public_key));
}

}  // namespace retrace::node::engine
