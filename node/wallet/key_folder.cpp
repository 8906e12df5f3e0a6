// SPDX-License-Identifier: MIT
#include "node/wallet/key_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "merkle/base/durable_file.hpp"
#include "node/platform/data_dir.hpp"

namespace retrace::node::wallet {
namespace {

constexpr std::size_t kKeystoreMax = 64 * 1024;

std::optional<std::string> read_text(const std::string& path) {
    const auto bytes = read_file(path, kKeystoreMax);
    if (!bytes) return std::nullopt;
    return std::string(bytes->begin(), bytes->end());
}

}  // namespace

std::string KeyFolder::default_path() {
    const char* home = std::getenv("HOME");
    return std::string(home != nullptr ? home : ".") + "/.retrace/keys";
}

std::vector<KeyFile> KeyFolder::list() const {
    std::vector<KeyFile> out;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(path_, failed)) {
        if (!entry.is_regular_file(failed)) continue;
        const auto text = read_text(entry.path().string());
        if (text && is_keystore(*text)) out.push_back({entry.path().string(), keystore_address(*text)});
    }
    std::sort(out.begin(), out.end(), [](const KeyFile& a, const KeyFile& b) {
        if (!a.address || !b.address) return a.address ? true : !b.address && a.path < b.path;
        return *a.address < *b.address;
    });
    return out;
}

Result<std::string> KeyFolder::add(const ledger::SecretKey& key, std::string_view passphrase,
                                   const ledger::ScryptParams& params) const {
    const ledger::Address address = key.address();
    if (const auto there = find(address)) return error("the account is there already: " + *there);
    std::error_code failed;
    if (std::filesystem::create_directories(path_, failed)) ::chmod(path_.c_str(), 0700);
    if (failed) return error(path_ + ": cannot make the folder of keys: " + failed.message());
    const std::string path = path_ + "/" + ledger::to_0x(address) + ".json";
    const std::string text = encrypt_keystore(key, passphrase, params);
    RETRACE_CHECK(write_durably(path, {view(text)}, 0600));
    return path;
}

std::optional<std::string> KeyFolder::find(const ledger::Address& address) const {
    for (const KeyFile& file : list()) {
        if (file.address == address) return file.path;
    }
    return std::nullopt;
}

std::optional<ledger::Address> address_in(const std::string& path) {
    const auto text = read_text(path);
    return text ? keystore_address(*text) : std::nullopt;
}

Result<ledger::SecretKey> unlock(const std::string& path, std::string_view passphrase) {
    const auto text = read_text(path);
    if (!text) return error("cannot read the keystore " + path);
    auto key = decrypt_keystore(*text, passphrase);
    if (!key) return error(path + ": " + key.error().message);
    return std::move(key).value();
}

}  // namespace retrace::node::wallet
