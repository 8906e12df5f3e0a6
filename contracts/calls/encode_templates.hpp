// SPDX-License-Identifier: MIT
// Definitions of the templates calldata and signature_of, for the files that instantiate them: calls/encode.cpp for
// calls and errors, records/read_encode.cpp for the methods that read.
#pragma once

#include "contracts/abi/typed.hpp"
#include "contracts/calls/encode.hpp"

namespace retrace::contracts {

inline Bytes selector_bytes(std::uint32_t selector) {
    return {static_cast<std::uint8_t>(selector >> 24), static_cast<std::uint8_t>(selector >> 16),
            static_cast<std::uint8_t>(selector >> 8), static_cast<std::uint8_t>(selector)};
}

template <class T>
std::string signature_of() {
    return std::string(T::kName) + abi::type_of<T>().name();
}

template <class Call>
Bytes calldata(const Call& call) {
    static const Bytes prefix = selector_bytes(abi::selector(signature_of<Call>()));
    Bytes out = prefix;
    const Bytes arguments = abi::encode_struct(call);
    out.insert(out.end(), arguments.begin(), arguments.end());
    return out;
}

}  // namespace retrace::contracts
