import { expect, test } from 'vitest';
import { defineExtension, defineUser, type FeatureParts } from '../../src/index.ts';
import { startupError } from '../support/startup-error.ts';

const bringing = (name: string, parts: unknown) => defineExtension({ name, setup: () => parts as FeatureParts });

const mistakesOf = (...extensions: unknown[]) =>
  startupError({ resources: [defineUser()], extensions: extensions as never })
    .split('\n')
    .slice(1);

test('what is no extension is refused by its place', () => {
  expect(mistakesOf(null, bringing('one', {}), undefined, 'webhooks')).toEqual([
    '  - extensions[0]: null is no extension; make it with defineExtension',
    '  - extensions[2]: undefined is no extension; make it with defineExtension',
    '  - extensions[3]: webhooks is no extension; make it with defineExtension',
  ]);
  expect(mistakesOf({})).toEqual(['  - extension "undefined": it needs a name and a function setup(host)']);
});
