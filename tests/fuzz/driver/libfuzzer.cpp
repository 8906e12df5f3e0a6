// SPDX-License-Identifier: MIT
// The driver of the fuzz preset: entry points of libFuzzer. The seeds are written to the corpus folder before it is
// read.
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/driver/target.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    namespace fs = std::filesystem;
    for (int i = 1; i < *argc; ++i) {
        const fs::path folder = (*argv)[i];
        if (!fs::is_directory(folder)) continue;
        std::size_t number = 0;
        for (const retrace::Bytes& seed : retrace::fuzz::seeds()) {
            std::ofstream out(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
            out.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
        }
        break;  // libFuzzer writes to the first folder only.
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    retrace::fuzz::run({data, size});
    return 0;
}
