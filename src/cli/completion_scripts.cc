// The scripts for the shells. All they do is to hand the words to `weft __complete` and its answer to the shell; the
// protocol is in completion.h.

#include "cli/completion.h"

namespace weft::cli {
namespace {

// bash breaks words at `=`, `:` and `@`, and wants the part behind the last such break completed. So the words are put
// together again (COMP_LINE tells where blanks stood), and what was in front of the break is taken off the candidates.
// Needs nothing of the package bash-completion.
constexpr std::string_view kBash = R"script(# weft completion for bash: source <(weft completion bash)

# Takes the quotes off a word as it was typed; nothing is expanded.
__weft_unquoted() {
    local word=$1 quote= char i
    REPLY=
    for ((i = 0; i < ${#word}; i++)); do
        char=${word:i:1}
        if [[ $char == \\ && $quote != \' ]]; then
            i=$((i + 1))
            REPLY+=${word:i:1}
        elif [[ -n $quote && $char == "$quote" ]]; then
            quote=
        elif [[ -z $quote && ($char == \' || $char == \") ]]; then
            quote=$char
        else
            REPLY+=$char
        fi
    done
}

_weft() {
    local IFS=$' \t\n' line=${COMP_LINE-} words=() word blanks rest i stem= joined=
    [[ -z ${COMP_POINT-} ]] || line=${line:0:COMP_POINT}
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]-}
        if [[ -n $line ]]; then
            # Part of the word before, when no blank is between them.
            blanks=${line%%[![:space:]]*}
            rest=${line#"$blanks"}
            joined=
            [[ $i -eq 0 || -n $blanks ]] || joined=1
            [[ $i -lt COMP_CWORD || $word != "$rest"* ]] || word=$rest
            if [[ $rest == "$word"* ]]; then
                line=${rest#"$word"}
            else
                line= joined=
            fi
        elif [[ $i -gt 0 && $word == [=:@] ]]; then
            joined=1
        fi
        if [[ -n $joined ]]; then
            stem=${words[-1]}
            words[-1]+=$word
            [[ $word != [=:@] ]] || stem+=$word
        else
            stem=
            words+=("$word")
        fi
        [[ -n $line || $word == [=:@] ]] || joined=
    done
    local current=${words[-1]} quoted=
    [[ $current != [\'\"]* ]] || quoted=1
    for i in "${!words[@]}"; do
        __weft_unquoted "${words[i]}"
        words[i]=$REPLY
    done
    current=${words[-1]}
    __weft_unquoted "$stem"
    stem=$REPLY

    local program=weft candidate help files= directories= shown=() helps=() max=0
    [[ ${words[0]} != */* ]] || program=${words[0]/#\~\//$HOME/}
    while IFS= read -r line; do
        candidate=${line%%$'\t'*}
        help=${line#"$candidate"}
        help=${help#$'\t'}
        if [[ -n $candidate ]]; then
            candidate=${candidate#"$stem"}
            [[ -n $quoted ]] || printf -v candidate %q "$candidate"
            shown+=("$candidate")
            helps+=("$help")
            ((${#candidate} <= max)) || max=${#candidate}
        elif [[ $help == files ]]; then
            files=1
        elif [[ $help == directories ]]; then
            directories=1
        fi
    done < <("$program" __complete "${words[@]:1}" 2>/dev/null)

    # Several, and they are only listed: say what each is.
    if [[ ${#shown[@]} -gt 1 && (${COMP_TYPE-} == 63 || ${COMP_TYPE-} == 33) ]]; then
        for i in "${!shown[@]}"; do
            [[ -z ${helps[i]} ]] || printf -v "shown[$i]" '%-*s  (%s)' "$max" "${shown[i]}" "${helps[i]:0:60}"
        done
    fi
    COMPREPLY=("${shown[@]}")
    if [[ -n $files || -n $directories ]]; then
        compopt -o filenames 2>/dev/null
        if [[ -n $files ]]; then
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${current#"$stem"}")
        else
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${current#"$stem"}")
        fi
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/:=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -o nosort -F _weft weft 2>/dev/null || complete -F _weft weft
)script";

constexpr std::string_view kZsh = R"script(#compdef weft
# weft completion for zsh: a file _weft in $fpath, or `source <(weft completion zsh)` behind compinit.

_weft() {
    local -a plain goes_on with_files lines typed
    local line candidate help files directories program=weft found=1
    typed=("${(@Q)words[2,CURRENT - 1]}" "${(Q)PREFIX}")
    [[ $words[1] != */* ]] || program=${(Q)words[1]/#\~\//$HOME/}
    lines=("${(@f)$("$program" __complete "${typed[@]}" 2>/dev/null)}")
    for line in "${lines[@]}"; do
        candidate=${line%%$'\t'*}
        help=
        [[ $line != *$'\t'* ]] || help=${line#*$'\t'}
        if [[ -z $candidate ]]; then
            [[ $help != files ]] || files=1
            [[ $help != directories ]] || directories=1
            continue
        fi
        candidate=${candidate//:/\\:}
        [[ -z $help ]] || candidate+=:$help
        case ${line%%$'\t'*} in
            *[/:=]) goes_on+=("$candidate") ;;
            *) plain+=("$candidate") ;;
        esac
    done
    (( ! ${#plain} )) || { _describe -V weft plain && found=0 }
    (( ! ${#goes_on} )) || { _describe -V weft goes_on -S '' && found=0 }
    if [[ -n $files ]]; then
        _files && found=0
    elif [[ -n $directories ]]; then
        _files -/ && found=0
    fi
    return found
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _weft "$@"
else
    compdef _weft weft
fi
)script";

constexpr std::string_view kFish = R"script(# weft completion for fish: weft completion fish | source

function __weft_complete
    set -l words (commandline --tokenize --current-process --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l program weft
    if string match --quiet '*/*' -- $words[1]
        set program (string replace --regex '^~/' "$HOME/" -- $words[1])
    end
    set -e words[1]
    for line in ($program __complete $words $current 2>/dev/null)
        switch $line
            case \tfiles
                __fish_complete_path $current
            case \tdirectories
                __fish_complete_directories $current
            case '*'
                printf '%s\n' $line
        end
    end
end

complete --command weft --no-files --keep-order --arguments '(__weft_complete)'
)script";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return {};
}

}  // namespace weft::cli
