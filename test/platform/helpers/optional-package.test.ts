import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { findMissingPackage } from '../../../src/platform/helpers/optional-package.ts';

test('packages that are installed are not missing, whatever they export', () => {
  for (const name of ['web-push', 'firebase-admin', '@parse/node-apn', 'jose', '@opentelemetry/sdk-trace', 'sharp'])
    expect(findMissingPackage('A feature', { [name]: '0.1' })).toBeUndefined();
});

test('the error names the packages that are missing or too old, and the command that installs them', () => {
  expect(findMissingPackage('FCM', { 'belfry-does-not-exist': '14' })).toBe(
    'FCM needs belfry-does-not-exist 14 or newer. Run: npm install belfry-does-not-exist@14',
  );
  expect(findMissingPackage('Tracing', { 'web-push': '3', '@belfry/none': '0.301', semver: '99' })).toMatch(
    /^Tracing needs @belfry\/none 0\.301 or newer, semver 99 or newer \(installed: 7\.[\d.]+\)\. Run: npm install @belfry\/none@0\.301 semver@99$/,
  );
});

test('packages are searched where the module that needs them finds them; an empty folder is no package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'optional-'));
  const from = pathToFileURL(join(folder, 'extension.js')).href;
  const installed = join(folder, 'node_modules/own-dependency');
  for (const each of [installed, join(folder, 'node_modules/empty')]) mkdirSync(each, { recursive: true });
  const manifest = { name: 'own-dependency', version: '2.0.0', exports: './main.js' };
  writeFileSync(join(installed, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(installed, 'main.js'), '');
  expect(findMissingPackage('It', { 'own-dependency': '2' }, from)).toBeUndefined();
  expect(findMissingPackage('It', { 'own-dependency': '2' })).toMatch(/^It needs own-dependency 2 or newer\. /);
  expect(findMissingPackage('It', { empty: '2' }, from)).toMatch(/^It needs empty 2 or newer\. /);
});
