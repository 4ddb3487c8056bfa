// Bundles `@belfry/verify-webhook` for runtimes without node:crypto.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The packages whose code is in a bundle: their names and versions, and the texts of their licences. */
interface BundledPackages {
  names: string[];
  licences: string[];
}

function readBundledPackages(inputs: readonly string[]): BundledPackages {
  const paths = inputs.map((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]);
  const folders = [...new Set(paths)].filter((path) => path !== undefined).sort();
  const names = folders.map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    return `${name} ${version}`;
  });
  const licences = folders.map((folder) => readFileSync(join(root, folder, 'LICENSE'), 'utf8').trim());
  return { names, licences: [...new Set(licences)] };
}

/**
 * Bundles packages/verify-webhook/src/index.ts into one module that imports nothing, with browser-crypto.ts instead of node:crypto.
 * It starts with the licences of the packages in it, which every copy must contain.
 *
 * @throws Error if it would still import something, or a bundled package has no licence
 */
export function bundleVerifyWebhook(): string {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: ['packages/verify-webhook/src/index.ts'],
    alias: { 'node:crypto': './scripts/package/browser-crypto.ts' },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    // Names stay, so that stacks can be read.
    minifyWhitespace: true,
    minifySyntax: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  const { names, licences } = readBundledPackages(Object.keys(output!.inputs));
  const lines = [
    '@belfry/verify-webhook for browsers and other runtimes without node:crypto.',
    `It contains code of ${names.join(' and ')}:`,
    '',
    ...licences.flatMap((licence) => [...licence.split('\n'), '']),
  ];
  const notice = ['/*!', ...lines.map((line) => ` * ${line}`.trimEnd()).slice(0, -1), ' */'].join('\n');
  return `${notice}\n${outputFiles[0]!.text}`;
}
