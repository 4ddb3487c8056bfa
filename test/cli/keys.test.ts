import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createKeyring } from '../../src/platform/data/crypto/keyring.ts';
import { app } from '../fixtures/blog/app.ts';
import { generateKey, getKeyId } from '../support/database/encrypted-patients.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { BLOG, createAppProject } from '../support/processes/app-project.ts';
import { startCommand } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';
import { getUsageError } from '../support/processes/usage-error.ts';

const project = createAppProject();
project.writeApp(BLOG);
afterAll(project.remove);

/** Runs a command in a process of its own. */
const begin = (command: string, env?: Record<string, string>) => startCommand(project.folder, command, env);

// Each command is a process that loads the whole app.
vi.setConfig({ testTimeout: 240_000 });

const database = await createTestDatabase();
const client = new Client(database.databaseUrl);
await client.connect();
const own = { DATABASE_URL: database.databaseUrl };
const made = (SVC_ENCRYPTION_KEYS: string, DATABASE_URL = database.databaseUrl) => {
  const one = app({ NODE_ENV: 'test', DATABASE_URL, REDIS_URL: database.redisUrl, SVC_ENCRYPTION_KEYS });
  onTestFinished(() => one.close());
  return one;
};
beforeAll(async () => {
  const one = app({ NODE_ENV: 'test', ...own, REDIS_URL: database.redisUrl });
  await one.migrate({ mode: 'sync' });
  await one.close();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Runs a command in this process, with these keys, and returns its output. */
const status = (keys: string, databaseUrl?: string) => runCommand('keys status', () => made(keys, databaseUrl));
const rotate = (keys: string) => runCommand('keys rotate', () => made(keys));

const idAt = (n: number) => n.toString(16).padStart(24, '0');

/** Creates exactly `count` endpoints, with secrets under the older of two keys, in a database that has recorded no key yet. */
async function endpoints(count: number) {
  await client.query('truncate webhook_endpoints, encryption_keys, encryption_processes, outbox cascade');
  const [old, next] = [generateKey(), generateKey()];
  const ids = Array.from({ length: count }, (_, i) => idAt(i));
  const ring = createKeyring([old]);
  const secrets = ids.map((id, i) => ring.encrypt(`whsec_${i}`, `webhook_endpoints/secret/${id}`));
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret, updated_at)
     select id, 'o', 'https://example.com', '{*}', 'own', secret, timestamptz '2020-01-01' from unnest($1::text[], $2::text[]) as e(id, secret)`,
    [ids, secrets],
  );
  const stored = async () =>
    (await client.query<{ id: string; secret: string }>('select id, secret from webhook_endpoints order by id')).rows;
  const both = `${next},${old}`;
  return {
    keys: [old, next] as const,
    both,
    env: { ...own, SVC_ENCRYPTION_KEYS: both },
    /** The number of secrets under each key. */
    async under(key: string) {
      return (await stored()).filter(({ secret }) => secret.split('.')[1] === getKeyId(key)).length;
    },
    /** Whether all secrets can be decrypted with only the newer key. */
    async allReadable() {
      const after = createKeyring([next]);
      const read = (await stored()).map(({ id, secret }) => after.decrypt(secret, `webhook_endpoints/secret/${id}`));
      expect(read).toEqual(ids.map((_, i) => `whsec_${i}`));
    },
  };
}

const waitingAtHeld = `select 1 from pg_locks where locktype = 'advisory' and not granted
  and database = (select oid from pg_database where datname = current_database())`;

/** Makes a rotation stop in the middle of its second batch, until `release` is called. */
async function holdSecondBatch() {
  await client.query(`
    create function wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(1); return new; end $$;
    create trigger held before update on webhook_endpoints for each row when (old.id = '${idAt(750)}')
      execute function wait_for_test();
    select pg_advisory_lock(1)`);
  const release = () => client.query('select pg_advisory_unlock(1)');
  onTestFinished(async () => {
    await client.query('select pg_advisory_unlock_all(); drop function wait_for_test() cascade');
  });
  return {
    release,
    /** Waits until the rotation reaches the second batch; rejects if the command ends before. */
    async reached({ ended }: ReturnType<typeof begin>) {
      const waits = vi.waitUntil(async () => (await client.query(waitingAtHeld)).rowCount === 1, {
        timeout: 60_000,
        interval: 10,
      });
      await Promise.race([waits, ended.then(({ output }) => expect.fail(`it ended: ${output}`))]);
    },
  };
}

test.each([
  ['show', 'Unknown command show.'],
  ['rotat', 'Unknown command rotat. Did you mean rotate?'],
  ['generate x', 'generate takes no arguments, but got: x.'],
  ['status all', 'status takes no arguments, but got: all.'],
  ['rotate now', 'rotate takes no arguments, but got: now.'],
  ['rotate --give-up', '--give-up needs a value: <key id>.'],
  ['rotate --give-up now', '--give-up now is invalid. A key id has 8 hex digits; npx belfry keys status lists them.'],
  ['rotate --giveup 0a1b2c3d', 'Unknown option --giveup. Did you mean --give-up?'],
])('belfry keys %s is refused: %s', async (line, error) => {
  expect(await getUsageError(`keys ${line}`)).toBe(error);
});

test('a rotation needs the keys of the service', async () => {
  expect(await begin('keys rotate').ended).toEqual({
    code: 1,
    output: 'SVC_ENCRYPTION_KEYS is missing. Set it to the keys that the service runs with.',
  });
});

test('the status without the keys of the service counts the values, and says what it cannot know', async () => {
  const { keys } = await endpoints(2);
  const one = app({ NODE_ENV: 'test', ...own, REDIS_URL: database.redisUrl });
  onTestFinished(() => one.close());
  const { code, output } = await runCommand('keys status', one);
  expect(code).toBe(0);
  expect(output.split('\n').filter((line) => /^ {2}[0-9a-f]{8}/.test(line))).toEqual([
    expect.stringMatching(new RegExp(`^ {2}${getKeyId(keys[0])} .* 2 values`)),
  ]);
  expect(output).not.toContain('encrypts');
  expect(output).toMatch(/SVC_ENCRYPTION_KEYS is not set here, so the command cannot say which of the keys/);
});

test('belfry keys generate prints only a key, a different one each time', async () => {
  const [one, other] = [await runCommand('keys generate'), await runCommand('keys generate')];
  expect(one).toMatchObject({ code: 0, errorOutput: '' });
  expect(createKeyring([one.output, other.output]).keyIds).toEqual([getKeyId(one.output), getKeyId(other.output)]);
});

test('a malformed key is refused without being printed; without tables, the error names the command that creates them', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const malformed = await rotate('short-and-secret');
  expect(malformed.code).toBe(1);
  expect(malformed.errorOutput).toContain('SVC_ENCRYPTION_KEYS is malformed');
  expect(malformed.errorOutput).not.toContain('short-and-secret');
  const bare = await status(generateKey(), database.databaseUrl);
  expect(bare).toMatchObject({ code: 1, errorOutput: expect.stringContaining(' migrate') });
});

test('status before and after a rotation shows how much is under which key, and which key may be removed', async () => {
  const { both, keys, allReadable } = await endpoints(1200);
  const [old, next] = keys.map(getKeyId);
  const before = await status(both);
  expect(before.code).toBe(0);
  expect(before.output).toMatch(new RegExp(`${next} +encrypts +never used by a running process +0 values`));
  expect(before.output).toMatch(new RegExp(`${old} +decrypts +never used by a running process +1,200 values`));
  expect(before.output).toMatch(/webhook_endpoints.secret +- +1,200/);

  const rotated = await rotate(both);
  expect(rotated.code).toBe(0);
  expect(rotated.output.split('\n').at(0)).toBe('webhook_endpoints: 500 of 1,200 values');
  expect(rotated.output.split('\n').slice(-3)).toEqual([
    'webhook_endpoints: 1,200 of 1,200 values',
    `1,200 values were encrypted with key ${next}.`,
    `No value is encrypted with key ${old} any more. You can remove it from SVC_ENCRYPTION_KEYS (see docs/build/encryption.md).`,
  ]);
  await allReadable();
  const untouched = await client.query(`select 1 from webhook_endpoints where updated_at <> '2020-01-01'`);
  expect(untouched.rows).toEqual([]);
  expect((await client.query('select 1 from outbox')).rows).toEqual([]);

  const after = await status(keys[1]);
  expect(after.output).toMatch(new RegExp(`${next} +encrypts +in use since \\S+ +1,200 values`));
  expect(after.output).toMatch(
    new RegExp(`${old} +not in SVC_ENCRYPTION_KEYS +in use since \\S+, retired \\S+ +0 values`),
  );
  for (const output of [before.output, rotated.output, after.output]) {
    for (const key of keys) expect(output).not.toContain(key);
    expect(output).not.toContain('whsec_');
  }
  const again = await rotate(both);
  expect(again.code).toBe(0);
  expect(again.output).toContain(`0 values were encrypted with key ${next}.`);
});

test('a rotation killed in the middle loses nothing, and the next one completes it', async () => {
  const { env, both, keys, under, allReadable } = await endpoints(1500);
  const [old, next] = keys;
  const { reached, release } = await holdSecondBatch();
  const killed = begin('keys rotate', env);
  await reached(killed);
  expect(killed.out.output).toContain('500 of 1,500');
  killed.child.kill('SIGKILL');
  expect((await killed.ended).code).toBe('SIGKILL');
  await release();
  // Postgres finishes the statement of a client that has disconnected.
  const others = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend'`;
  await vi.waitUntil(async () => (await client.query(others)).rowCount === 0, { timeout: 60_000, interval: 10 });
  const done = await under(next);
  expect([500, 1000]).toContain(done);
  expect(await under(old)).toBe(1500 - done);

  const nextRotation = await rotate(both);
  expect(nextRotation.code).toBe(0);
  expect(nextRotation.output).toContain(
    `${(1500 - done).toLocaleString('en-US')} values were encrypted with key ${getKeyId(next)}.`,
  );
  await allReadable();
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends a rotation after the current batch', async (signal) => {
  const { env, keys, under } = await endpoints(2000);
  const { reached, release } = await holdSecondBatch();
  const stopped = begin('keys rotate', env);
  await reached(stopped);
  stopped.child.kill(signal);
  await release();
  const { code, output } = await stopped.ended;
  expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
  const done = await under(keys[1]);
  // A busy process may receive the signal only during its next batch.
  expect([1000, 1500]).toContain(done);
  const last = output.split('\n').at(-1);
  expect(last).toBe(`Stopped after ${done.toLocaleString('en-US')} values. Run it again to continue.`);
  expect(await under(keys[0])).toBe(2000 - done);
});

test('values that cannot be decrypted are listed by id, the rest is rotated, and the command fails', async () => {
  const { both, keys, under } = await endpoints(600);
  await client.query(`update webhook_endpoints set secret = 'plain and secret' where id = $1`, [idAt(7)]);
  await client.query(`update webhook_endpoints set secret = $2 where id = $1`, [
    idAt(8),
    createKeyring([generateKey()]).encrypt('x', `webhook_endpoints/secret/${idAt(8)}`),
  ]);
  const { code, output, errorOutput } = await rotate(both);
  expect(code).toBe(1);
  expect(errorOutput).toContain(`webhook_endpoints.secret: 2 values cannot be decrypted: ${idAt(7)}, ${idAt(8)}`);
  expect(output).toContain(`598 values were encrypted with key ${getKeyId(keys[1])}.`);
  expect(output + errorOutput).not.toMatch(/plain and secret|v1\./);
  expect(await under(keys[1])).toBe(598);
});

test('a running process that lacks the newest key prevents a rotation from starting', async () => {
  const { both, keys, under } = await endpoints(10);
  await client.query(`insert into encryption_processes (id, key_ids) values ('one', $1)`, [[getKeyId(keys[0])]]);
  const { code, errorOutput } = await rotate(both);
  expect(code).toBe(1);
  expect(errorOutput).toContain(`Key ${getKeyId(keys[1])} is not available in every running process yet`);
  expect(await under(keys[0])).toBe(10);
});
