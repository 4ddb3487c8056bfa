// Bundles `@belfry/verify-webhook` for runtimes without node:crypto.
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { readBundledPackages } from './bundled-packages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

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
