#!/bin/sh
# What clusters are given: samples/site. tests/long.sh has what needs a cluster or npm.
test_description='samples/site: metrics for Prometheus and Grafana, the manifest for Kubernetes'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
site=$samples/site
if python3 -c 'import yaml, jsonschema' 2>/dev/null; then test_set_prereq YAML; fi
if command -v promtool >/dev/null; then test_set_prereq PROMTOOL; fi

test_expect_success 'a recording and a job have metrics' '
    $collect -q --metrics-file=run.prom -o t $app launch 20 1 1 && grep "^gpuprof_launches_total 20" run.prom &&
    "${GP_BIN%/bin}/tests/make_digests" 64 45 20 7 - compute:50:5 >digests && trace-fleet -q -f openmetrics -o fleet.prom digests &&
    trace-hta -q -f openmetrics "$samples/h200/ddp.trace" >report.prom
'
test_expect_success YAML 'rules and dashboard ask for those and no others, and the manifest is well formed' '
    python3 "$GP_SOURCE/tests/site/check.py" "$site" run.prom fleet.prom >board.yml && grep -c expr: board.yml
'
test_expect_success YAML 'planted: a metric that nobody writes, a member that the kind does not have' '
    mkdir bad && cp "$site"/*.json "$site"/*.y*ml bad && sed -i "s/fleet_slow/fleet_slower/" bad/alerts.yml &&
    ! python3 "$GP_SOURCE/tests/site/check.py" bad run.prom fleet.prom 2>err && grep "fleet_slower" err &&
    cp "$site/alerts.yml" bad && sed -i "s/failurePolicy/failPolicy/" bad/kubernetes.yaml &&
    ! python3 "$GP_SOURCE/tests/site/check.py" bad run.prom fleet.prom 2>err && grep "failPolicy" err
'
test_expect_success PROMTOOL 'Prometheus reads what tools write, also as the text of its node exporter' '
    for f in run fleet report; do
        promtool check metrics <$f.prom 2>err >out || ! grep "parsing error" err || return 1
    done
'
test_expect_success PROMTOOL 'the rules hold, and fire when they should' '
    promtool check rules "$site/alerts.yml" && (cd "$site" && promtool test rules alerts.test.yml)
'
test_expect_success PROMTOOL,YAML 'the expressions of the dashboard are valid' 'promtool check rules board.yml'
test_expect_success 'the version is that of CMakeLists.txt' '
    version=$(sed -n "s/^project(gpuprof VERSION \([0-9.]*\).*/\1/p" "$GP_SOURCE/CMakeLists.txt") &&
    grep "version: \"$version\"" "$site/recipe.yaml" && grep "image: .gpuprof:$version." "$site/kubernetes.yaml"
'
test_done
