import { request } from 'undici';
import type { Bench, Figure, Group } from '../../figure.ts';
import type { LoadRequest } from '../../measure/load.ts';
import { createWireTap, type WireTap } from '../../measure/wire-tap.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { resetDatabase } from '../../setup/database.ts';
import { OPERATIONS, type Operation } from './operations.ts';

const REPETITIONS = 10;
const DELAY_MS = 10;

const LIST = OPERATIONS.list(0);
/** The counted requests: every measured operation, and lists that do more. */
const REQUESTS: Record<string, () => LoadRequest> = {
  ...Object.fromEntries((Object.keys(OPERATIONS) as Operation[]).map((name) => [name, () => OPERATIONS[name](0)])),
  'list.include': () => ({ ...LIST, path: `${LIST.path}&include=author` }),
};

async function send(url: string, name: string): Promise<void> {
  const { method, path, token, body, status } = REQUESTS[name]!();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await request(url + path, { method, headers, body: body ?? null });
  await response.body.dump();
  if (response.statusCode !== status)
    throw new Error(`${method} ${path} returned ${response.statusCode} instead of ${status}`);
}

/** Returns the maximum over a few requests, sent one at a time. */
async function countMaximum(
  url: string,
  tap: WireTap,
  name: string,
): Promise<{ roundTrips: number; statements: number }> {
  // The first requests also open connections.
  for (let i = 0; i < 3; i++) await send(url, name);
  const maximum = { roundTrips: 0, statements: 0 };
  for (let i = 0; i < REPETITIONS; i++) {
    tap.reset();
    await send(url, name);
    const { roundTrips, statements } = tap.counts();
    maximum.roundTrips = Math.max(maximum.roundTrips, roundTrips);
    maximum.statements = Math.max(maximum.statements, statements);
  }
  return maximum;
}

/** Counts the database round trips of one request on the wire, session look-up included. */
export const recordsRoundTrips: Group = {
  name: 'records',
  async run(bench: Bench) {
    const names = Object.keys(REQUESTS).filter((name) => bench.isRequested(`records.${name}.queries`));
    if (names.length === 0) return [];
    bench.logProgress('records.*.queries …');
    const tap = await createWireTap(bench.servers.databaseUrl, DELAY_MS);
    const servers = { ...bench.servers, databaseUrl: tap.url };
    const belfry = await startBelfry({ ...bench, servers }, 'web');
    const figures: Figure[] = [];
    for (const name of names) {
      const { roundTrips, statements } = await countMaximum(belfry.url, tap, name);
      const note = `${statements} statements, session look-up included`;
      figures.push({ name: `records.${name}.queries`, value: roundTrips, unit: 'round trips', note });
    }
    await belfry.stop();
    await tap.close();
    await resetDatabase(bench.servers.databaseUrl);
    return figures;
  },
};
