#!/bin/sh
test_description='completion scripts, made from the option tables'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
tools=$(cd "$GP_BIN" && ls)

# complete WORD... -- what bash offers for the last word, sorted.
cat >ask.bash <<'END'
tool=$1
source <("$tool" --completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
"_gpuprof_${tool//-/_}"
printf '%s\n' "${COMPREPLY[@]}" | sort
END
complete() { bash ask.bash "$@"; }

for tool in $tools; do
    test_expect_success "$tool: each shell can read its script" '
        for shell in bash zsh fish; do $tool --completion $shell >$shell.$tool || return 1; done &&
        bash -n bash.$tool &&
        { ! command -v zsh >/dev/null || zsh -n zsh.$tool; } &&
        { ! command -v fish >/dev/null || fish -n fish.$tool; }
    '
    test_expect_success "$tool: bash completes exactly the options that --help names" '
        $tool --help | grep -oE "^ {2,6}(-., )?--[a-z0-9-]+=?" | sed "s/.*--/--/" | sort >expect &&
        complete $tool -- >out && test_cmp expect out
    '
done

test_expect_success 'choices, after a blank and after =' '
    printf "%s\n" folded hatchet html pprof speedscope svg >expect &&
    complete trace2flame --format "" >out && test_cmp expect out &&
    complete trace2flame -f "" >out && test_cmp expect out &&
    complete trace2flame --format = "" >out && test_cmp expect out &&
    complete trace2flame --format = >out && test_cmp expect out &&
    echo svg >expect && complete trace2flame -f sv >out && test_cmp expect out
'

test_expect_success 'files as operands and as values' '
    mkdir here && cd here && : >run.trace && : >run.json && cp ../ask.bash . &&
    printf "%s\n" run.json run.trace >expect &&
    complete trace-hta run >out && test_cmp expect out && complete trace-hta -o run >out && test_cmp expect out; code=$?; cd .. && test $code = 0
'

test_expect_success 'an unknown shell is refused' '
    status_of trace-hta --completion tcsh && test $status = 2 && grep "not one of bash|zsh|fish" err
'

test_done
