// SPDX-License-Identifier: MIT
// Shared by the tests of the artifact store: a temporary folder, small tensors, a program.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "kernels/ops/opcode.hpp"
#include "node/artifacts/store.hpp"

namespace retrace::node::test {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "retrace-test-XXXXXX").string();
        ensure(::mkdtemp(name.data()) != nullptr, "a temporary folder");
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// The program record of such a tensor.
inline kernels::TensorRecord record_of(const kernels::Tensor& tensor) {
    kernels::TensorRecord record;
    record.dtype = tensor.dtype;
    record.dims = tensor.dims;
    return record;
}

inline kernels::Tensor random_tensor(kernels::DType dtype, kernels::Dims dims, unsigned seed) {
    kernels::Tensor out = kernels::zeros(dtype, std::move(dims));
    std::mt19937 random(seed);
    for (std::uint8_t& byte : out.data) {
        byte = static_cast<std::uint8_t>(dtype == kernels::DType::boolean ? random() & 1 : random());
    }
    return out;
}

inline std::unique_ptr<Store> open_store(const std::filesystem::path& folder, Store::Options options = {}) {
    options.threads = 1;
    auto store = Store::open(folder, options);
    if (!store) ADD_FAILURE() << store.error().message;
    return std::move(store).value();
}

inline Hash32 root_of(const kernels::Tensor& tensor) {
    kernels::ThreadPool pool(1);
    return kernels::tensor_root(tensor, pool);
}

/// A program with one op: the state tensor "w" becomes w + w.
inline kernels::Program doubling_program() {
    kernels::Program out;
    out.states = 1;
    out.tensors = {{kernels::TensorKind::state, kernels::DType::f32, {4, 3}, 0, "w"},
                   {kernels::TensorKind::op_output, kernels::DType::f32, {4, 3}, kernels::kNoWriter, ""}};
    out.ops = {{kernels::OpCode::add, {0, 0}, {}, ""}};
    return out;
}

}  // namespace retrace::node::test
