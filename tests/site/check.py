#!/usr/bin/env python3
"""check.py SITE METRICS...: what monitoring and Kubernetes are given. Names of metrics in SITE/alerts.yml and SITE/grafana.json are among
those of the METRICS that tools wrote; the manifest has the members that its kinds have. Prints the expressions of the dashboard as rules,
for promtool."""

import json
import re
import sys

import jsonschema
import yaml

TEXT = {"type": "string", "minLength": 1}


def closed(required, optional=None):
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}, "additionalProperties": False}


def many(of):
    return {"type": "array", "items": of, "minItems": 1}


EXPRESSION = closed({"name": TEXT, "expression": TEXT})
RULE = closed({"apiGroups": many({"type": "string"}), "apiVersions": many(TEXT), "resources": many(TEXT),
               "operations": many({"enum": ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]})})
POLICY = closed({"matchConstraints": closed({"resourceRules": many(RULE)}), "reinvocationPolicy": {"enum": ["Never", "IfNeeded"]},
                 "mutations": many(closed({"patchType": {"const": "ApplyConfiguration"}, "applyConfiguration": closed({"expression": TEXT})}))},
                {"failurePolicy": {"enum": ["Ignore", "Fail"]}, "matchConditions": many(EXPRESSION), "variables": many(EXPRESSION)})
SPECS = {"MutatingAdmissionPolicy": POLICY, "MutatingAdmissionPolicyBinding": closed({"policyName": TEXT})}


def manifest(path):
    with open(path, encoding="utf-8") as f:
        documents = list(yaml.safe_load_all(f))
    for d in documents:
        jsonschema.validate(d, closed({"apiVersion": {"const": "admissionregistration.k8s.io/v1"}, "kind": {"enum": list(SPECS)},
                                       "metadata": closed({"name": TEXT}), "spec": SPECS[d["kind"]]}))
    policy, binding = documents
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]


def main():
    site, printed = sys.argv[1], set()
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            text = f.read()  # a counter without a sample has its name without a suffix
            printed.update(re.findall(r"^(gpuprof_\w+)", text, re.M), (n + "_total" for n in re.findall(r"TYPE (\w+) counter", text)))
    with open(site + "/alerts.yml", encoding="utf-8") as f:
        groups = yaml.safe_load(f)["groups"]
    with open(site + "/grafana.json", encoding="utf-8") as f:
        board = json.load(f)
    shown = [t["expr"] for p in board["panels"] for t in p["targets"]]
    expressions = shown + [r["expr"] for g in groups for r in g["rules"]]
    named = set(re.findall(r"\bgpuprof_\w+", "\n".join(expressions)))
    assert named and named <= printed, sorted(named - printed)
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])
    manifest(site + "/kubernetes.yaml")
    filled = [e.replace("$__rate_interval", "5m") for e in shown]
    print(yaml.safe_dump({"groups": [{"name": "board", "rules": [{"record": f"r:{i}", "expr": e} for i, e in enumerate(filled)]}]}))


if __name__ == "__main__":
    main()
