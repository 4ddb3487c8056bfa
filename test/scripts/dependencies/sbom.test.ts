import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as Spec from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';
import { expect, test } from 'vitest';
import { createSbom } from '../../../scripts/dependencies/sbom.ts';

interface Component {
  name: string;
  group?: string;
  version: string;
  'bom-ref': string;
  scope: string;
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[];
}

interface Sbom {
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const runSbom = () => execFileSync(process.execPath, ['scripts/dependencies/sbom.ts'], { encoding: 'utf8' });
const printed = runSbom();
const sbom: Sbom = JSON.parse(printed);

const fullName = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`);
const names = new Set(sbom.components.map(fullName));

test('the document is valid CycloneDX 1.6', async () => {
  expect(await new JsonStrictValidator(Spec.Version.v1dot6).validate(printed)).toBeNull();
});

test('the document names belfry and each of its dependencies with the version and the licence', () => {
  const { component } = sbom.metadata;
  expect(component).toMatchObject({
    name: 'belfry',
    version: manifest.version,
    licenses: [{ license: { id: 'MIT' } }],
  });
  for (const [name, version] of Object.entries(manifest.dependencies)) {
    const found = sbom.components.find((one) => fullName(one) === name && one.version === version);
    expect.soft(found, name).toMatchObject({ scope: 'required', licenses: [expect.anything()] });
  }
  const direct = sbom.dependencies.find(({ ref }) => ref === component['bom-ref'])!.dependsOn!;
  expect(direct).toHaveLength(Object.keys(manifest.dependencies).length);
});

test('the document names what dependencies depend on, and each reference leads to a component', () => {
  const references = new Set([sbom.metadata.component, ...sbom.components].map((one) => one['bom-ref']));
  expect(references.size).toBe(sbom.components.length + 1);
  for (const { ref, dependsOn = [] } of sbom.dependencies)
    for (const one of [ref, ...dependsOn]) expect(references).toContain(one);
  expect([...names]).toEqual(
    expect.arrayContaining(['pg-protocol', 'body-parser', '@msgpackr-extract/msgpackr-extract-linux-x64']),
  );
});

test('the document names no development dependency and no optional peer', () => {
  const development = Object.keys(manifest.devDependencies).filter((name) => !(name in manifest.dependencies));
  // Packages that a production dependency needs as well: the types of its declarations, and the hashes of otpauth.
  const needed = ['@types/node', '@noble/hashes'];
  expect(development.filter((name) => names.has(name) && !needed.includes(name))).toEqual([]);
});

test('the document contains no time, random number, address or path, so that the same lock file gives the same document', () => {
  expect(runSbom()).toBe(printed);
  expect(Object.keys(sbom)).not.toContain('serialNumber');
  expect(Object.keys(sbom.metadata)).toEqual(['component']);
  expect(printed.match(/https?:\/\/[^"]+/g)).toEqual(['http://cyclonedx.org/schema/bom-1.6.schema.json']);
  expect(printed).not.toContain(process.cwd());
});

test('a lock file without a package that another one needs is refused', () => {
  const packages = { '': { name: 'app', version: '1.0.0', dependencies: { pg: '1.0.0' } } };
  expect(() => createSbom({ packages })).toThrow(
    'package-lock.json lacks pg, which package.json needs. Run: npm install',
  );
});

test('an optional package is marked, unless another package requires it, and may be missing', () => {
  const packages = {
    '': { name: 'app', version: '1.0.0', dependencies: { a: '1' }, optionalDependencies: { b: '1', none: '1' } },
    'node_modules/a': { version: '1.0.0', dependencies: { c: '1' }, peerDependencies: { d: '1' } },
    'node_modules/b': { version: '1.0.0', dependencies: { c: '1', e: '2' } },
    'node_modules/b/node_modules/e': { version: '2.0.0' },
    'node_modules/c': { version: '1.0.0' },
    'node_modules/d': { version: '1.0.0', license: 'Own licence' },
    'node_modules/e': { version: '1.0.0' },
  };
  const { components } = JSON.parse(createSbom({ packages })) as Sbom;
  expect(components.map(({ name, version, scope }) => `${name} ${version} ${scope}`)).toEqual([
    'a 1.0.0 required',
    'b 1.0.0 optional',
    'c 1.0.0 required',
    'd 1.0.0 required',
    'e 2.0.0 optional',
  ]);
  expect(components[3]!.licenses).toEqual([{ license: { name: 'Own licence' } }]);
});
