import { expect, test } from 'vitest';
import { audit, createApp, defineResource, defineUser, f } from '../../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
const note = defineResource('note', { fields: { title: f.string() }, audit: true });

test('the audit option without the extension is a configuration error that names it', () => {
  expect(() => createApp({ resources: [defineUser(), note] }, env)).toThrow('audit: it requires the extension audit()');
});

test.each([0, -1, 1.5, 36_501, '7', null, "1 days'; drop table users; --"])(
  'keepDays %o is a configuration error',
  (keepDays) => {
    const extensions = [audit({ keepDays: keepDays as never })];
    expect(() => createApp({ resources: [defineUser(), note], extensions }, env)).toThrow('audit.keepDays: must be');
  },
);
