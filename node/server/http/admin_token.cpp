// SPDX-License-Identifier: MIT
#include "node/server/http/admin_token.hpp"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "ledger/crypto/secret.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/platform/data_dir.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::size_t kDigits = 64;

Result<std::string> read_token(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return error(path + ": cannot be read");
    if ((info.st_mode & 077) != 0) return error(path + ": others may read the token; chmod 600 it, or remove it");
    const auto bytes = read_file(path, 1024);
    std::string text = bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.size() != kDigits || !from_hex(text)) return error(path + ": holds no token; remove it to get a new one");
    return text;
}

}  // namespace

Result<std::string> load_admin_token(const std::string& path) {
    if (std::filesystem::exists(path)) return read_token(path);
    std::array<std::uint8_t, kDigits / 2> bytes{};
    ledger::random_bytes(bytes);
    const std::string text = to_hex(bytes);
    RETRACE_CHECK(write_durably(path, {view(std::string_view(text + "\n"))}, 0600));
    return text;
}

bool shows_token(std::string_view authorization, std::string_view token) {
    constexpr std::string_view kScheme = "Bearer ";
    if (token.empty() || !authorization.starts_with(kScheme)) return false;
    // Digests have a fixed length, so the time does not even reveal the token's length.
    const Hash32 shown = merkle::sha256(view(authorization.substr(kScheme.size())));
    const Hash32 wanted = merkle::sha256(view(token));
    return CRYPTO_memcmp(shown.data(), wanted.data(), Hash32::size()) == 0;
}

}  // namespace retrace::node::rpc
