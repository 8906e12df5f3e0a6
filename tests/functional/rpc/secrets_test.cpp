// SPDX-License-Identifier: MIT
// Secrets remain neither in freed memory nor on the stack. Every block that this process frees is searched for the
// words, the key and the passphrase that the wallet used, which finds secrets that were not wiped before. The stack is
// searched too, since functions that returned may leave seeds and keys there.
#include <gtest/gtest.h>
#include <malloc.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <optional>

#include "node/wallet/keystore.hpp"
#include "node/wallet/mnemonic.hpp"

namespace {

// Plain arrays, because a container would itself be freed and searched.
struct Needle {
    std::array<unsigned char, 64> bytes;
    std::size_t size;
};
std::array<Needle, 4> needles;
std::atomic<std::size_t> needle_count = 0, found = 0;

void search(const void* block) {
    const std::size_t size = ::malloc_usable_size(const_cast<void*>(block));
    for (std::size_t i = 0; i < needle_count; ++i)
        if (::memmem(block, size, needles[i].bytes.data(), needles[i].size) != nullptr) ++found;
}

void look_for(const void* bytes, std::size_t size) {
    Needle& needle = needles.at(needle_count);
    std::memcpy(needle.bytes.data(), bytes, size);
    needle.size = size;
    ++needle_count;
}

/// A separate stack, which can be searched after the function has returned.
alignas(64) std::array<unsigned char, 1 << 20> own_stack;
ucontext_t caller, callee;
const std::function<void()>* on_own_stack = nullptr;

void run_on_own_stack(const std::function<void()>& work) {
    own_stack.fill(0);
    on_own_stack = &work;
    ::getcontext(&callee);
    callee.uc_stack.ss_sp = own_stack.data();
    callee.uc_stack.ss_size = own_stack.size();
    callee.uc_link = &caller;
    ::makecontext(
        &callee, [] { (*on_own_stack)(); }, 0);
    ::swapcontext(&caller, &callee);
}

/// Whether any eight consecutive bytes of the secret are on the stack; a spilled register holds no more.
bool left_on_stack(const unsigned char* secret, std::size_t size) {
    for (std::size_t at = 0; at + 8 <= size; at += 8)
        if (::memmem(own_stack.data(), own_stack.size(), secret + at, 8) != nullptr) return true;
    return false;
}

}  // namespace

void operator delete(void* block) noexcept {
    if (block != nullptr) search(block);
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { ::operator delete(block); }
void* operator new(std::size_t size) {
    void* block = std::malloc(size);
    if (block == nullptr) std::abort();
    return block;
}

namespace retrace::node::wallet {
namespace {

// Secrets of these tests are in arrays that are never freed.
constexpr char kWords[] = "legal winner thank year wave sausage worth useful legal winner thank yellow";
constexpr char kPassphrase[] = "correct horse battery staple, and a good deal more of it";

class Secrets : public testing::Test {
protected:
    void SetUp() override { needle_count = found = 0; }
    void TearDown() override { needle_count = 0; }
};

TEST_F(Secrets, TheSearchFindsWhatIsLeft) {
    look_for(kWords, 20);
    { const std::string copy(kWords); }
    EXPECT_GE(found, 1U);
}

TEST_F(Secrets, WordsAndWhatFollowsFromThemAreWiped) {
    std::array<std::uint8_t, 32> key{};
    {
        const auto made = account_key(kWords, kPassphrase, 0);
        ASSERT_TRUE(made.has_value());
        std::memcpy(key.data(), made->bytes().data(), key.size());
    }
    std::array<std::uint8_t, 16> entropy{};
    entropy.fill(0x7f);  // entropy of these words, from a BIP-39 vector
    look_for(kWords, 20);
    look_for(kPassphrase, 20);
    look_for(key.data(), key.size());
    look_for(entropy.data(), entropy.size());
    {
        const auto again = account_key(kWords, kPassphrase, 0);
        const auto mistyped =
            account_key("legal winner thank year wave sausage worth useful legal winner thank thank", kPassphrase, 0);
        const auto words = mnemonic_of(entropy);
        EXPECT_EQ(words.view(), kWords);
        EXPECT_TRUE(again.has_value() && !mistyped.has_value());
    }
    EXPECT_EQ(found, 0U);
}

/// The seed of kWords under `passphrase`, and its master key.
struct Derived {
    std::array<unsigned char, 64> seed{};
    std::array<unsigned char, 32> master{};
    explicit Derived(const char* passphrase) {
        const auto made = seed_of(kWords, passphrase);
        std::memcpy(seed.data(), View(*made).data(), seed.size());
        const auto key = master_key(*made);
        std::memcpy(master.data(), key->key.bytes().data(), master.size());
    }
};

TEST_F(Secrets, TheStackIsSearched) {
    const Derived derived("");
    run_on_own_stack([] {
        const auto seed = seed_of(kWords, "");
        volatile unsigned char copy[8];
        for (std::size_t i = 0; i < sizeof copy; ++i) copy[i] = View(*seed)[i];
    });
    EXPECT_TRUE(left_on_stack(derived.seed.data(), derived.seed.size()));
}

TEST_F(Secrets, SeedsAndMasterKeysDoNotStayOnTheStack) {
    for (const char* passphrase : {"", "TREZOR", kPassphrase}) {
        const Derived derived(passphrase);
        std::optional<ledger::SecretKey> key;
        run_on_own_stack([&] { key.emplace(std::move(account_key(kWords, passphrase, 0)).value()); });
        ASSERT_TRUE(key.has_value());
        EXPECT_FALSE(left_on_stack(derived.seed.data(), derived.seed.size())) << passphrase;
        EXPECT_FALSE(left_on_stack(derived.master.data(), derived.master.size())) << passphrase;
    }
}

TEST_F(Secrets, KeystoresLeaveNoKeyOnTheStack) {
    const std::array<unsigned char, 32> bytes = [] {
        std::array<unsigned char, 32> out{};
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned char>(0x91 + 5 * i);
        return out;
    }();
    const auto key = ledger::SecretKey::from_bytes(bytes);
    ASSERT_TRUE(key.has_value());
    std::string file;
    std::optional<ledger::SecretKey> opened;
    run_on_own_stack([&] { file = encrypt_keystore(*key, kPassphrase, kLightScrypt); });
    EXPECT_FALSE(left_on_stack(bytes.data(), bytes.size()));
    run_on_own_stack([&] { opened.emplace(std::move(decrypt_keystore(file, kPassphrase)).value()); });
    EXPECT_FALSE(left_on_stack(bytes.data(), bytes.size()));
}

TEST_F(Secrets, KeystoresLeaveNothing) {
    std::array<std::uint8_t, 32> bytes{};
    bytes.fill(0x5a);
    bytes[7] = 0x11;
    look_for(bytes.data(), bytes.size());
    look_for(kPassphrase, 20);
    {
        const auto key = ledger::SecretKey::from_bytes(bytes);
        const std::string file = encrypt_keystore(*key, kPassphrase, kLightScrypt);
        const auto opened = decrypt_keystore(file, kPassphrase);
        ASSERT_TRUE(opened.has_value());
        EXPECT_FALSE(decrypt_keystore(file, "another").has_value());
    }
    EXPECT_EQ(found, 0U);
}

}  // namespace
}  // namespace retrace::node::wallet
