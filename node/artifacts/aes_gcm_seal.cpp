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

constexpr std::size_t kChunk = solver::kSealChunk, kTag = 16, kRandom = 8, kNonce = 12;
constexpr std::size_t kHead = solver::kSealMagic.size() + kRandom;
constexpr const char* kRefused = "it does not decrypt: changed, cut, or sealed under another name or key";

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

std::uint64_t chunks_of(std::uint64_t sealed) { return (sealed - kHead + kChunk + kTag - 1) / (kChunk + kTag); }

/// Decrypts one chunk, `part` with its tag, to `out`.
bool decrypt(EVP_CIPHER_CTX* context, const Hash32& key, View random, std::size_t index, bool last,
             std::string_view name, View part, std::uint8_t* out) {
    const View text = part.first(part.size() - kTag);
    std::array<std::uint8_t, kTag> tag{};
    std::copy_n(part.end() - kTag, kTag, tag.begin());
    int none = 0;
    return context != nullptr && begin(context, false, key, random, index, last, name) && update(context, out, text) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1 &&
           EVP_CipherFinal_ex(context, tag.data(), &none) == 1;
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

std::optional<std::uint64_t> AesGcmSeal::plain_size(std::uint64_t sealed) const {
    if (sealed < kHead + kTag) return std::nullopt;
    const std::uint64_t chunks = chunks_of(sealed), before = (chunks - 1) * (kChunk + kTag);
    if (sealed - kHead - before < kTag) return std::nullopt;
    return sealed - kHead - chunks * kTag;
}

Result<Bytes> AesGcmSeal::open(View sealed, std::string_view name) const {
    const auto size = plain_size(sealed.size());
    if (!size) return error(kRefused);
    const View random = sealed.subspan(kHead - kRandom, kRandom);
    const std::size_t chunks = chunks_of(sealed.size());
    Bytes out(*size);
    const Context context(EVP_CIPHER_CTX_new());
    View rest = sealed.subspan(kHead);
    for (std::size_t i = 0; i < chunks; ++i) {
        const View part = rest.first(std::min(kChunk + kTag, rest.size()));
        if (!decrypt(context.get(), key_, random, i, i + 1 == chunks, name, part, out.data() + i * kChunk))
            return error(kRefused);
        rest = rest.subspan(part.size());
    }
    return out;
}

Result<Bytes> AesGcmSeal::open_chunk(const solver::ReadAt& read, std::uint64_t sealed, std::uint64_t index,
                                     std::string_view name) const {
    if (!plain_size(sealed) || index >= chunks_of(sealed)) return error(kRefused);
    const std::uint64_t at = kHead + index * (kChunk + kTag);
    RETRACE_TRY(head, read(0, kHead));
    RETRACE_TRY(part, read(at, std::min<std::uint64_t>(kChunk + kTag, sealed - at)));
    if (!equal(View(head).first(solver::kSealMagic.size()), view(solver::kSealMagic))) return error(kRefused);
    Bytes out(part.size() - kTag);
    const Context context(EVP_CIPHER_CTX_new());
    if (!decrypt(context.get(), key_, View(head).subspan(kHead - kRandom), index, index + 1 == chunks_of(sealed), name,
                 part, out.data()))
        return error(kRefused);
    return out;
}

}  // namespace retrace::node
