// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "kernels/commit/contract.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

TEST(NumericsContract, HashIsThatOfTheFrozenText) {
    std::ifstream file(RETRACE_VECTORS "/../../kernels/contract-v1.txt", std::ios::binary);
    ASSERT_TRUE(file) << "contract-v1.txt not found";
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(to_hex(view(contract_hash())), to_hex(view(merkle::sha256(view(std::string_view(text.str()))))))
        << "the text of a released contract is never edited; before a release, update kernels/commit/contract.cpp";
}

}  // namespace
}  // namespace retrace::kernels
