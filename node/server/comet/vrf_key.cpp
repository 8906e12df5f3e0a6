// SPDX-License-Identifier: MIT
#include "node/server/comet/vrf_key.hpp"

#include "ledger/crypto/secret.hpp"
#include "merkle/base/durable_file.hpp"

namespace retrace::node::engine {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr std::size_t kKeyDigits = 64;

}  // namespace

Result<ledger::VrfSecret> make_vrf_key(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) {
        const ledger::VrfSecret secret = ledger::VrfSecret::random();
        std::string text = to_hex(secret.bytes()) + "\n";
        const auto written = write_durably(path, {view(std::string_view(text))}, kOwnerOnly);
        ledger::wipe(text);
        if (!written) return error(written.error().message);
        return secret;
    }
    auto bytes = read_file(path, kKeyDigits + 2);
    if (!bytes) return error(bytes.error().message);
    std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    auto secret_bytes = from_hex(text);
    const auto secret = secret_bytes ? ledger::VrfSecret::from_bytes(*secret_bytes) : std::nullopt;
    ledger::wipe(*bytes);
    if (secret_bytes) ledger::wipe(*secret_bytes);
    if (!secret) return error(path.string() + " holds no VRF key: 64 hex digits, below the order of P-256");
    return *secret;
}

}  // namespace retrace::node::engine
