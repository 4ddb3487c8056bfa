import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { checkDeliveries, hasFailed } from '../../scripts/chaos/delivery-check.ts';
import { createSeededRandom, planDisruptions } from '../../scripts/chaos/disruptions.ts';
import type { Receivers } from '../../scripts/chaos/receiver.ts';
import { BARE_ENV } from '../support/processes/app-process.ts';
import { BLOG, cloneProject } from '../support/processes/cloned-project.ts';

const project = cloneProject();
project.writeApp(BLOG);
afterAll(project.remove);

async function chaos(args: string) {
  const script = join(project.folder, 'scripts', 'chaos', 'chaos.ts');
  const child = spawn(process.execPath, [script, ...args.split(' ')], { env: BARE_ENV });
  // On SIGTERM it stops its servers.
  onTestFinished(() => void child.kill('SIGTERM'));
  let output = '';
  let errorOutput = '';
  onTestFailed(() => console.error(errorOutput));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
  const [code] = await once(child, 'close');
  return { code, output, errorOutput };
}

test('with relay and worker killed, Redis flushed and Postgres restarted, each delivery arrives, twice only if it was in flight', {
  timeout: 240_000,
}, async () => {
  const { code, output, errorOutput } = await chaos('--deliveries 200 --kills 1 --seed 5 --hurry --json');
  expect(errorOutput).toMatch(/SIGKILL relay/);
  expect(errorOutput).toMatch(/SIGKILL webhook-worker, \d+ deliveries in flight/);
  expect(errorOutput).toMatch(/FLUSHALL on Redis/);
  expect(errorOutput).toMatch(/Postgres restarted, \d+ deliveries in flight/);
  const result = JSON.parse(output);
  expect(result).toMatchObject({ crashes: 0, lost: 0, unexplained: 0, changedIds: 0, misdirected: 0, refused: 0 });
  expect(result.sent).toBeGreaterThanOrEqual(200);
  expect(result.received).toBe(result.sent);
  expect(code).toBe(0);
});

test('the same seed plans the same disruptions, and another seed plans others', () => {
  const plan = (seed: number) => planDisruptions(3, createSeededRandom(seed));
  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
  expect(plan(1).map(({ kind }) => kind)).toContain('restart Postgres');
  expect(plan(1).map(({ at }) => at)).toEqual(
    plan(1)
      .map(({ at }) => at)
      .toSorted((a, b) => a - b),
  );
});

test('the check finds deliveries that are lost, repeated without reason, sent with another id, or sent to the wrong endpoint', () => {
  const arrived = (entries: Record<string, Record<string, number>>) => ({
    arrivals: () => new Map(Object.entries(entries).map(([record, ids]) => [record, new Map(Object.entries(ids))])),
    refused: () => 0,
  });
  const heldOf = (ids: string[]) => ids.map((messageId) => ({ messageId, attempts: 0 }));
  const books = (entries: Record<string, Record<string, number>>, held: string[][] = []) =>
    checkDeliveries(
      new Map([['here', new Set(['a', 'b'])]]),
      arrived(entries) as unknown as Receivers,
      held.flatMap(heldOf),
    );
  const whole = { a: { m1: 1 }, b: { m2: 1 } };
  expect(hasFailed(books(whole))).toBe(false);
  expect(books({ a: { m1: 1 } })).toMatchObject({ sent: 2, received: 1, lost: 1 });
  expect(books({ ...whole, a: { m1: 2 } })).toMatchObject({ duplicates: 1, unexplained: 1 });
  expect(books({ ...whole, a: { m1: 2 } }, [['m1', 'm9']])).toMatchObject({
    duplicates: 1,
    explained: 1,
    unexplained: 0,
  });
  expect(books({ ...whole, a: { m1: 3 } }, [['m1']])).toMatchObject({ duplicates: 2, explained: 1, unexplained: 1 });
  expect(books({ ...whole, a: { m1: 1, m3: 1 } })).toMatchObject({ changedIds: 1 });
  expect(books({ ...whole, c: { m3: 1 } })).toMatchObject({ misdirected: 1 });
  expect([books({ a: { m1: 1 } }), books({ ...whole, c: { m3: 1 } })].every(hasFailed)).toBe(true);
});
