// `npm run --silent sbom`: prints a CycloneDX document of the packages in a production installation, as package-lock.json pins them.
// The same lock file always gives the same document: it contains no time, no random number and nothing about this machine.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ComponentScope, ComponentType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums';
import * as Models from '@cyclonedx/cyclonedx-library/Models';
import { JSON as JsonFormat, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize';
import * as Spdx from '@cyclonedx/cyclonedx-library/SPDX';
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec';
import { type LockedPackage, type LockFile, listProductionPackages } from './production-packages.ts';

/** Returns the address of a package in the notation that vulnerability databases use, such as `pkg:npm/%40scope/name@1.0.0`. */
function toPurl(name: string, version: string): string {
  return `pkg:npm/${name.split('/').map(encodeURIComponent).join('/')}@${encodeURIComponent(version)}`;
}

function toLicense(license: string): Models.License {
  if (Spdx.isSupportedSpdxId(license)) return new Models.SpdxLicense(license);
  if (/ (AND|OR|WITH) /.test(license)) return new Models.LicenseExpression(license);
  return new Models.NamedLicense(license);
}

/** Returns the hashes of a package's tarball, which the lock file has as `<algorithm>-<base64>`. */
function toHashes(integrity: string): Models.HashDictionary {
  return new Models.HashDictionary(
    integrity.split(' ').flatMap((hash) => {
      const [algorithm, content] = hash.split(/-(.*)/) as [string, string];
      return algorithm === 'sha512' ? [[HashAlgorithm['SHA-512'], Buffer.from(content, 'base64').toString('hex')]] : [];
    }),
  );
}

function createComponent(name: string, { version, license, integrity }: LockedPackage): Models.Component {
  const [group, base] = name.startsWith('@') ? (name.split('/') as [string, string]) : [undefined, name];
  const purl = toPurl(name, version);
  return new Models.Component(ComponentType.Library, base, {
    bomRef: purl,
    purl,
    version,
    ...(group !== undefined && { group }),
    ...(license !== undefined && { licenses: new Models.LicenseRepository([toLicense(license)]) }),
    ...(integrity !== undefined && { hashes: toHashes(integrity) }),
  });
}

/**
 * Returns the CycloneDX 1.6 document of a lock file, as JSON.
 *
 * @param lock the parsed package-lock.json
 * @throws Error if the lock file lacks a package
 */
export function createSbom(lock: LockFile): string {
  const packages = listProductionPackages(lock);
  // A package that is installed in several places is one component.
  const components = new Map<string, Models.Component>();
  const byPath = new Map<string, Models.Component>();
  for (const [path, { locked, optional }] of packages) {
    const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const purl = toPurl(name, locked.version);
    const component = components.get(purl) ?? createComponent(name, locked);
    components.set(purl, component);
    byPath.set(path, component);
    if (component.scope !== ComponentScope.Required)
      component.scope = optional ? ComponentScope.Optional : ComponentScope.Required;
  }
  for (const [path, { needs }] of packages)
    for (const target of needs) byPath.get(path)!.dependencies.add(byPath.get(target)!.bomRef);

  const root = byPath.get('')!;
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ component: root }),
    components: new Models.ComponentRepository([...components.values()].filter((component) => component !== root)),
  });
  return new JsonSerializer(new JsonFormat.Normalize.Factory(Spec1dot6)).serialize(bom, { sortLists: true, space: 2 });
}

if (import.meta.main) {
  try {
    const file = fileURLToPath(new URL('../../package-lock.json', import.meta.url));
    console.log(createSbom(JSON.parse(readFileSync(file, 'utf8'))));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
