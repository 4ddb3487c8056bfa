import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { adminConsole } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { API, resources } from './operations-app.ts';

test('the log of all processes is read from a line on', async () => {
  const other = await startTestApp(
    { resources, extensions: [adminConsole()] },
    { env: () => ({ NODE_ENV: 'development', LOG_LEVEL: 'warn' }) },
  );
  other.app.on('note.created', () => {
    throw new Error('this listener fails in a test');
  });
  const lines = async (after = '') => (await other.call('GET', `${API}/log${after}`)).body.data;
  const before = await lines();
  await other.call('POST', '/api/notes', { title: 'x' });
  const after = before.length === 0 ? '' : `?after=${before.at(-1).id}`;
  const added = await vi.waitUntil(async () => {
    const found = await lines(after);
    return found.length > 0 && found;
  });
  expect(added[0].fields).toMatchObject({ level: 'error', process: 'web', time: expect.stringMatching(/Z$/) });
  expect(await lines(`?after=${added.at(-1).id}`)).toEqual([]);
  for (const id of ['- +', '1', '99999999999999999999-0', '0-18446744073709551616', '-1-0'])
    expect([id, (await other.call('GET', `${API}/log?after=${encodeURIComponent(id)}`)).status]).toEqual([id, 400]);
  expect(await lines('?after=18446744073709551615-18446744073709551614')).toEqual([]);
});

test('the line of a request names its record and its user', async () => {
  const other = await startTestApp(
    { resources, extensions: [adminConsole()] },
    { env: () => ({ NODE_ENV: 'development', LOG_LEVEL: 'info' }) },
  );
  const ada = await other.person('Ada');
  const { body } = await other.call('POST', '/api/notes', { title: 'x' });
  await ada.call('GET', `/api/notes/${body.data.id}?fields=title`);
  const line = await vi.waitUntil(async () => {
    const { data } = (await other.call('GET', `${API}/log`)).body;
    return data.find(({ fields }: { fields: { route?: string } }) => fields.route === '/api/notes/:id')?.fields;
  });
  expect(line).toMatchObject({ record: body.data.id, userId: ada.id, method: 'GET', outcome: 'sent', status: 200 });
});

test.each(['null', '5', '[]', '{'])('the entry %s, which is no line, is shown as text', async (entry) => {
  const other = await startTestApp({ resources, extensions: [adminConsole()] });
  const redis = new Redis(other.env.REDIS_URL!);
  onTestFinished(() => redis.disconnect());
  await redis.xadd(`${other.env.REDIS_PREFIX}:log`, '*', 'line', entry);
  const { body } = await other.call('GET', `${API}/log`);
  expect(body.data.at(-1).fields).toEqual({ msg: entry });
});
