// SPDX-License-Identifier: MIT
// Each script has a table of the commands and flags below each place ("retrace task submit"), and follows the words
// that were typed to such a place. A value that is no choice of a list is completed as a file's name.
#include "node/cmd/manual/completion.hpp"

#include <string_view>

namespace retrace::node::cli {
namespace {

constexpr std::string_view kBashBody = R"END(
_retrace() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} place=retrace commands flags i
    COMPREPLY=()
    # Bash makes a word of its own of the "=" in --flag=value.
    if [[ $word == = ]]; then word=
    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    _retrace_words "$place"
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
            place+=" ${COMP_WORDS[i]}"
            _retrace_words "$place"
        fi
    done
    if _retrace_value "$place $before" "$word"; then return; fi
    if [[ $word == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    elif [[ -n $commands ]]; then mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    else _retrace_files "$word"
    fi
}
_retrace_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}
complete -F _retrace retrace
)END";

constexpr std::string_view kZshBody = R"END(
_retrace() {
    local place=retrace i
    local -a commands flags
    _retrace_words "$place"
    for ((i = 2; i < CURRENT; i++)); do
        if ((${commands[(I)${(b)words[i]}:*]})); then
            place+=" ${words[i]}"
            _retrace_words "$place"
        fi
    done
    if _retrace_value "$place ${words[CURRENT-1]}"; then return; fi
    if [[ ${words[CURRENT]} == -* ]]; then _describe -o flag flags
    elif (($#commands)); then _describe command commands
    else _files
    fi
}
# The first completion runs this file as the function's body.
if [[ ${funcstack[1]} == _retrace ]]; then _retrace; else compdef _retrace retrace; fi
)END";

constexpr std::string_view kFishHead = R"END(
function __retrace_at
    set -l place retrace
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        if contains -- "$place $word" $__retrace_places
            set place "$place $word"
        end
    end
    test "$place" = "$argv"
end
)END";

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    }
    return out + "'";
}

/// Fish knows two escapes between single quotes.
std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty()) out += between;
        out += word;
    }
    return out;
}

/// The patterns of a `case` for a flag with a value: its place and each of its names.
std::string value_patterns(const CommandInfo& command, const FlagInfo& flag) {
    std::vector<std::string> patterns;
    for (const std::string& name : flag.names) patterns.push_back(shell_quoted(command.path + " " + name));
    return joined(patterns, " | ");
}

struct Word {
    std::string text, summary;
};

/// What may follow a place without a dash: its commands, or the values of an argument that are listed.
std::vector<Word> words_after(const CommandInfo& command) {
    std::vector<Word> out;
    for (const CommandInfo& each : command.commands) out.push_back({each.name, each.summary});
    for (const FlagInfo& flag : command.flags)
        if (flag.positional)
            for (const std::string& choice : flag.choices) out.push_back({choice, flag.summary});
    return out;
}

bool has_value(const FlagInfo& flag) { return flag.takes_value && !flag.positional; }

std::string bash_script(const CommandInfo& tree) {
    std::string words = "_retrace_words() {\n    commands='' flags=''\n    case $1 in\n",
                values = "_retrace_value() {\n    case $1 in\n";
    for_each_command(tree, [&](const CommandInfo& command) {
        std::vector<std::string> commands, flags;
        for (const Word& word : words_after(command)) commands.push_back(word.text);
        for (const FlagInfo& flag : command.flags) {
            if (!flag.positional) flags.insert(flags.end(), flag.names.begin(), flag.names.end());
            if (!has_value(flag)) continue;
            values += "    " + value_patterns(command, flag) + ") ";
            values += flag.choices.empty() ? std::string("_retrace_files \"$2\"")
                                           : "mapfile -t COMPREPLY < <(compgen -W " +
                                                 shell_quoted(joined(flag.choices, " ")) + " -- \"$2\")";
            values += " ;;\n";
        }
        words += "    " + shell_quoted(command.path) + ")\n        commands=" + shell_quoted(joined(commands, " ")) +
                 "\n        flags=" + shell_quoted(joined(flags, " ")) + "\n        ;;\n";
    });
    return "# Completion of retrace for bash, written by `retrace completion bash`.\n# shellcheck shell=bash\n" +
           words + "    esac\n}\n" + values + "    *) return 1 ;;\n    esac\n}" + std::string(kBashBody);
}

std::string zsh_script(const CommandInfo& tree) {
    std::string words = "_retrace_words() {\n    commands=() flags=()\n    case $1 in\n";
    std::string values = "_retrace_value() {\n    case $1 in\n";
    for_each_command(tree, [&](const CommandInfo& command) {
        words += "    (" + shell_quoted(command.path) + ")\n        commands=(";
        for (const Word& word : words_after(command))
            words += "\n            " + shell_quoted(word.text + ":" + word.summary);
        words += ")\n        flags=(";
        for (const FlagInfo& flag : command.flags) {
            for (const std::string& name : flag.names)
                if (!flag.positional) words += "\n            " + shell_quoted(name + ":" + flag.summary);
            if (has_value(flag))
                values += "    (" + value_patterns(command, flag) + ") " +
                          (flag.choices.empty() ? std::string("_files") : "compadd -- " + joined(flag.choices, " ")) +
                          " ;;\n";
        }
        words += ")\n        ;;\n";
    });
    return "#compdef retrace\n# Completion of retrace for zsh, written by `retrace completion zsh`.\n" + words +
           "    esac\n}\n" + values + "    (*) return 1 ;;\n    esac\n}" + std::string(kZshBody);
}

std::string fish_script(const CommandInfo& tree) {
    std::string places = "set -g __retrace_places", lines;
    for_each_command(tree, [&](const CommandInfo& command) {
        places += " \\\n    " + fish_quoted(command.path);
        const std::string here = "complete -c retrace -n " + fish_quoted("__retrace_at " + command.path);
        for (const Word& word : words_after(command))
            lines += here + " -f -a " + word.text + " -d " + fish_quoted(word.summary) + '\n';
        for (const FlagInfo& flag : command.flags) {
            if (flag.positional) continue;
            lines += here;
            for (const std::string& name : flag.names)
                lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (flag.takes_value) lines += " -r";
            if (!flag.choices.empty()) lines += " -f -a " + fish_quoted(joined(flag.choices, " "));
            lines += " -d " + fish_quoted(flag.summary) + '\n';
        }
    });
    return "# Completion of retrace for fish, written by `retrace completion fish`.\n" + places + '\n' +
           std::string(kFishHead.substr(1)) + lines;
}

}  // namespace

std::optional<Shell> shell_of(const std::string& name) {
    if (name == "bash") return Shell::bash;
    if (name == "zsh") return Shell::zsh;
    if (name == "fish") return Shell::fish;
    return std::nullopt;
}

std::string completion(const CommandInfo& tree, Shell shell) {
    switch (shell) {
        case Shell::bash: return bash_script(tree);
        case Shell::zsh: return zsh_script(tree);
        case Shell::fish: return fish_script(tree);
    }
    return {};
}

}  // namespace retrace::node::cli
