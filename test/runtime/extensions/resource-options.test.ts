import { expect, test } from 'vitest';
import { z } from 'zod';
import { audit, createApp, defineExtension, defineResource, f, softDelete } from '../../../src/index.ts';
import { getStartupError } from '../../support/startup-error.ts';

declare module '../../../src/index.ts' {
  interface ExtensionResourceOptions {
    /** Days after which records are removed. */
    retention?: number;
  }
}

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };
const days: [resource: string, retention: number | undefined][] = [];

const retention = () =>
  defineExtension({
    name: 'retention',
    resourceOptions: { retention: z.number({ error: 'must be a number of days' }).positive('must be above 0') },
    setup({ resources }) {
      days.push(...resources.map(({ name, declaration }): (typeof days)[number] => [name, declaration.retention]));
      return {};
    },
  });

const fields = { title: f.string() };
const errorsOf = (options: object, ...extensions: unknown[]) =>
  getStartupError({
    resources: [defineResource('note', { fields, ...options })],
    extensions: extensions as never,
  })
    .split('\n')
    .slice(1);

test('an extension reads the option that it adds to resources', () => {
  createApp(
    {
      resources: [defineResource('note', { fields, retention: 30 }), defineResource('task', { fields })],
      extensions: [retention()],
    },
    env,
  );
  expect(days).toEqual([
    ['note', 30],
    ['task', undefined],
  ]);
});

test('the schema of the extension validates the option, and the error names the resource', () => {
  expect(errorsOf({ retention: 'long' }, retention())).toEqual([
    '  - resource "note": retention: must be a number of days',
  ]);
  expect(errorsOf({ retention: -1 }, retention())).toEqual(['  - resource "note": retention: must be above 0']);
});

test('an option that no extension provides is refused, and the error suggests the closest option', () => {
  expect(errorsOf({ retention: 30 }).join()).toContain(
    'resource "note": "retention" is not an option; options: fields',
  );
  expect(errorsOf({ retentoin: 30 }, retention())).toEqual([
    '  - resource "note": "retentoin" is not an option. Did you mean "retention"?',
  ]);
  expect(errorsOf({ softdelete: true })).toEqual([
    '  - resource "note": "softdelete" is not an option. Did you mean "softDelete"?',
  ]);
});

test('an extension may not add an option that every resource already has, or one without a schema', () => {
  const bringing = (resourceOptions: object) => defineExtension({ name: 'probe', resourceOptions, setup: () => ({}) });
  expect(errorsOf({}, bringing({ path: z.string(), kept: true }))).toEqual([
    '  - extension "probe": resourceOptions: "path": every resource already has this option. Rename it',
    '  - extension "probe": resourceOptions: "kept": needs a zod schema, for example { retention: z.number() }',
  ]);
});

test.each([
  ['softDelete', 'yes', softDelete()],
  ['audit', 1, audit()],
])('the option %s is refused when it is not true or false', (option, value, extension) => {
  expect(errorsOf({ [option]: value }, extension)).toEqual([`  - resource "note": ${option}: must be true or false`]);
});
