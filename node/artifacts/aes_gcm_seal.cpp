// SPDX-License-Identifier: MIT
#include "node/artifacts/aes_gcm_seal.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <memory>

#include "merkle/hash/sha256.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kChunk = 1 << 20, kTag = 16, kRandom = 8, kNonce = 12;
constexpr std::size_t kHead = solver::kSealMagic.size() + kRandom;

struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

/// Begins chunk `index`: key, nonce and associated data.
bool begin(EVP_CIPHER_CTX* context, bool encrypt, const Hash32& key, View random, std::size_t index, bool last,
           std::string_view name) {
    std::array<std::uint8_t, kNonce> nonce{};
    std::copy(random.begin(), random.end(), nonce.begin());
    store_u32(nonce.data() + kRandom, static_cast<std::uint32_t>(index));
    const std::uint8_t flag = last ? 1 : 0;
    int length = 0;
    return EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nullptr, key.bytes.data(), nonce.data(), encrypt ? 1 : 0) ==
               1 &&
           EVP_CipherUpdate(context, nullptr, &length, &flag, 1) == 1 &&
           EVP_CipherUpdate(context, nullptr, &length, reinterpret_cast<const std::uint8_t*>(name.data()),
                            static_cast<int>(name.size())) == 1;
}

bool update(EVP_CIPHER_CTX* context, std::uint8_t* out, View in) {
    int length = 0;
    return in.empty() || EVP_CipherUpdate(context, out, &length, in.data(), static_cast<int>(in.size())) == 1;
}

}  // namespace

AesGcmSeal::AesGcmSeal(const Hash32& secret)
    : key_(merkle::Sha256().update(view(std::string_view("retrace/at-rest/1"))).update(view(secret)).finish()) {}

Result<Bytes> AesGcmSeal::close(View plain, std::string_view name) const {
    Bytes out(solver::kSealMagic.begin(), solver::kSealMagic.end());
    out.resize(kHead);
    std::uint8_t* const random = out.data() + solver::kSealMagic.size();
    const Context context(EVP_CIPHER_CTX_new());
    if (!context || RAND_bytes(random, kRandom) != 1) return error("cannot encrypt: no random numbers");
    const std::size_t chunks = std::max<std::size_t>(1, (plain.size() + kChunk - 1) / kChunk);
    out.resize(kHead + plain.size() + chunks * kTag);
    std::uint8_t* at = out.data() + kHead;
    for (std::size_t i = 0; i < chunks; ++i) {
        const View part = plain.subspan(i * kChunk, std::min(kChunk, plain.size() - i * kChunk));
        int none = 0;
        const bool done =
            begin(context.get(), true, key_, View(out).subspan(kHead - kRandom, kRandom), i, i + 1 == chunks, name) &&
            update(context.get(), at, part) && EVP_CipherFinal_ex(context.get(), at + part.size(), &none) == 1 &&
            EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag, at + part.size()) == 1;
        if (!done) return error("cannot encrypt");
        at += part.size() + kTag;
    }
    return out;
}

Result<Bytes> AesGcmSeal::open(View sealed, std::string_view name) const {
    constexpr const char* kRefused = "it does not decrypt: changed, cut, or sealed under another name or key";
    if (sealed.size() < kHead + kTag) return error(kRefused);
    const View random = sealed.subspan(kHead - kRandom, kRandom);
    View rest = sealed.subspan(kHead);
    const std::size_t chunks = (rest.size() + kChunk + kTag - 1) / (kChunk + kTag);
    if (rest.size() < chunks * kTag) return error(kRefused);
    Bytes out(rest.size() - chunks * kTag);
    const Context context(EVP_CIPHER_CTX_new());
    std::uint8_t* at = out.data();
    for (std::size_t i = 0; i < chunks; ++i) {
        const View part = rest.first(std::min(kChunk + kTag, rest.size()));
        if (part.size() < kTag) return error(kRefused);
        const View text = part.first(part.size() - kTag);
        std::array<std::uint8_t, kTag> tag{};
        std::copy_n(part.end() - kTag, kTag, tag.begin());
        int none = 0;
        const bool done = context && begin(context.get(), false, key_, random, i, i + 1 == chunks, name) &&
                          update(context.get(), at, text) &&
                          EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1 &&
                          EVP_CipherFinal_ex(context.get(), tag.data(), &none) == 1;
        if (!done) return error(kRefused);
        at += text.size();
        rest = rest.subspan(part.size());
    }
    return out;
}

}  // namespace retrace::node
