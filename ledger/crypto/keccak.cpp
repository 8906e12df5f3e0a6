// SPDX-License-Identifier: MIT
#include "ledger/crypto/keccak.hpp"

#include <cryptopp/keccak.h>

namespace retrace::ledger {

Hash32 keccak256(View bytes) { return keccak256({bytes}); }

Hash32 keccak256(std::initializer_list<View> parts) {
    CryptoPP::Keccak_256 keccak;
    for (const View part : parts) keccak.Update(part.data(), part.size());
    Hash32 out;
    keccak.Final(out.data());
    return out;
}

}  // namespace retrace::ledger
