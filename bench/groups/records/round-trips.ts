import { request } from 'undici';
import type { Bench, Figure, Group } from '../../figure.ts';
import type { Shot } from '../../measure/load.ts';
import { createWireTap, type WireTap } from '../../measure/wire-tap.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { cleanUp } from '../../setup/database.ts';
import { OPERATIONS, type Operation } from './operations.ts';

const REQUESTS = 10;
const DELAY_MS = 10;

const LIST = OPERATIONS.list(0);
/** The counted requests: every measured operation, and lists that do more. */
const SHOTS: Record<string, () => Shot> = {
  ...Object.fromEntries((Object.keys(OPERATIONS) as Operation[]).map((name) => [name, () => OPERATIONS[name](0)])),
  'list.include': () => ({ ...LIST, path: `${LIST.path}&include=author` }),
  'list.uncounted': () => ({ ...LIST, path: `${LIST.path}&count=none` }),
};

async function send(url: string, name: string): Promise<void> {
  const { method, path, token, body, status } = SHOTS[name]!();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await request(url + path, { method, headers, body: body ?? null });
  await answer.body.dump();
  if (answer.statusCode !== status) throw new Error(`${method} ${path} answered ${answer.statusCode}`);
}

/** Returns the maximum over a few requests, sent one at a time. */
async function count(url: string, tap: WireTap, name: string): Promise<{ roundTrips: number; statements: number }> {
  // The first requests also open connections.
  for (let i = 0; i < 3; i++) await send(url, name);
  const most = { roundTrips: 0, statements: 0 };
  for (let i = 0; i < REQUESTS; i++) {
    tap.reset();
    await send(url, name);
    const { roundTrips, statements } = tap.counts();
    most.roundTrips = Math.max(most.roundTrips, roundTrips);
    most.statements = Math.max(most.statements, statements);
  }
  return most;
}

/** Counts the database round trips of one request on the wire, session look-up included. */
export const queries: Group = {
  name: 'records',
  async run(bench: Bench) {
    const names = Object.keys(SHOTS).filter((name) => bench.wants(`records.${name}.queries`));
    if (names.length === 0) return [];
    bench.say('records.*.queries …');
    const tap = await createWireTap(bench.servers.databaseUrl, DELAY_MS);
    const servers = { ...bench.servers, databaseUrl: tap.url };
    const belfry = await startBelfry({ ...bench, servers }, 'web');
    const figures: Figure[] = [];
    for (const name of names) {
      const { roundTrips, statements } = await count(belfry.url, tap, name);
      const note = `${statements} statements, session look-up included`;
      figures.push({ name: `records.${name}.queries`, value: roundTrips, unit: 'round trips', note });
    }
    await belfry.stop();
    await tap.close();
    await cleanUp(bench.servers.databaseUrl);
    return figures;
  },
};
