// SPDX-License-Identifier: MIT
// lint [ROOT]: checks the source tree (by default the one it was built from) against the house rules.
// Exit code 0: nothing found but advice, 1: findings on standard output, 2: no tree there.
#include <cstdio>
#include <filesystem>

#include "tests/lint/rules.hpp"

int main(int argc, char** argv) {
    using namespace retrace::lint;
    const std::string root = argc > 1 ? argv[1] : RETRACE_SOURCE_DIR;
    if (!std::filesystem::is_directory(root)) {
        std::fprintf(stderr, "lint: %s is not a folder\n", root.c_str());
        return 2;
    }
    const Tree tree = load_tree(root);
    const Findings findings = check_all(tree);
    std::size_t faults = 0;
    for (const Finding& f : findings) {
        const bool advice = is_advice(f);
        std::printf("%s:%zu: %s%s: %s\n", f.path.c_str(), f.line, advice ? "advice: " : "", f.rule.c_str(),
                    f.message.c_str());
        if (!advice) ++faults;
    }
    std::printf("lint: %zu files, %zu findings\n", tree.size(), faults);
    return faults == 0 ? 0 : 1;
}
