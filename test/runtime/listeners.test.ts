import { expect, test } from 'vitest';
import { createApp, defineResource, f } from '../../src/index.ts';

const note = defineResource('note', { fields: { text: f.string() } });
const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };

test('a listener for an event that a resource does not have is refused; events of unknown sources are not checked', async () => {
  const app = createApp({ resources: [note] }, env);
  const listen = (name: string) => () => app.on<unknown>(name, () => undefined);
  expect(listen('note.craeted')).toThrow('There is no event "note.craeted". Events of note: created, updated, deleted');
  for (const name of ['note.created', 'auth.login', 'invoice.paid']) expect(listen(name)).not.toThrow();
  await app.close();
});
