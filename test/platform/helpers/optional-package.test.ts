import { expect, test } from 'vitest';
import { findMissingPackage } from '../../../src/platform/helpers/optional-package.ts';

test('packages that are installed are not missing, whatever they export', () => {
  for (const name of ['web-push', 'firebase-admin', '@parse/node-apn', 'jose', '@opentelemetry/sdk-trace', 'sharp'])
    expect(findMissingPackage('A feature', [name])).toBeUndefined();
});

test('the error names the packages that are missing, and the command that installs them', () => {
  expect(findMissingPackage('FCM', ['belfry-does-not-exist'])).toBe(
    'FCM needs the package belfry-does-not-exist. Run: npm install belfry-does-not-exist',
  );
  expect(findMissingPackage('Tracing', ['web-push', '@belfry/none', '@belfry/nothing'])).toBe(
    'Tracing needs the packages @belfry/none, @belfry/nothing. Run: npm install @belfry/none @belfry/nothing',
  );
});
