// Exports of personal data with a replica: complete in every case, and read from the replica if it is recent enough.
import { expect, onTestFinished, test } from 'vitest';
import { defineResource, defineUser, f, privacy } from '../../../src/index.ts';
import { fetched, finished } from '../../extensions/privacy/export/app.ts';
import { startTestApp } from '../../support/app.ts';
import { startReplicatedPostgres } from '../../support/database/replicated-postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const servers = await startReplicatedPostgres();
const addresses = await servers.createDatabase();
const diary = defineResource('diary', { fields: { text: f.text().required(), author: f.ref('user').owner() } });
const proxy = await startTcpProxy(new URL(addresses.DATABASE_REPLICA_URL));
const { url, person } = await startTestApp(
  { resources: [defineUser(), diary], extensions: [privacy()] },
  {
    roles: 'all',
    env: () => ({
      ...addresses,
      DATABASE_REPLICA_URL: new URL(new URL(addresses.DATABASE_REPLICA_URL).pathname, proxy.url).href,
      DATABASE_REPLICA_MAX_LAG_MS: '1000',
    }),
  },
);

/** Writes a diary entry and exports the user's data at once. Returns the entries in the export. */
async function writeAndExport(name: string): Promise<string[]> {
  const { call } = await person(name);
  await call('POST', '/api/diaries', { text: `of ${name}` });
  const { url: link } = await finished(call);
  const files = await fetched(link, { url });
  return files['records/diaries.ndjson'].map(({ text }: { text: string }) => text);
}

/** The number of record files that were read from the replica since the last call. */
function countReads(): number {
  const sent = Buffer.concat(proxy.sent.splice(0)).toString('latin1');
  return sent.split('declare scan no scroll cursor').length - 1;
}

test('an export is read from the replica, and includes what the user has just written', async () => {
  // The first attempt may meet a replica that is still catching up with the creation of the tables.
  await servers.waitUntilCaughtUp();
  countReads();
  expect(await writeAndExport('Ann')).toEqual(['of Ann']);
  expect(countReads()).toBeGreaterThan(0);
});

test('an export is read from the primary while the replica lags or is down, and is complete', async () => {
  await servers.pause();
  onTestFinished(() => servers.resume());
  expect(await writeAndExport('Ben')).toEqual(['of Ben']);
  expect(countReads()).toBe(0);
  await servers.resume();
  proxy.shut();
  onTestFinished(() => proxy.reopen());
  expect(await writeAndExport('Cleo')).toEqual(['of Cleo']);
});
