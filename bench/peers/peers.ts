import type { Bench } from '../figure.ts';
import { getPackageFolder, getVersion, type PackageFolder } from './packages.ts';
import type { Server } from './side.ts';
import { startBetterAuth } from './sides/better-auth.ts';
import { startDirectus } from './sides/directus.ts';
import { startParse } from './sides/parse.ts';
import { startPayload } from './sides/payload.ts';

const PROJECT = new URL('../../', import.meta.url);

/** What Belfry is compared with. */
export interface Peer {
  /** As on the command line. */
  name: string;
  /** The folder of its packages, and the package whose version is shown. undefined if it is a package of this project. */
  packages?: { folder: PackageFolder; main: string };
  /** As in the table, before its version. */
  title: string;
  /** Starts its server on a database of its own. */
  startServer?(bench: Bench): Promise<Server>;
  /** The program that runs its background jobs. */
  jobs?: URL;
  /** What differs from Belfry, for the notes below the table. */
  notes: string;
}

/** All peers, in the order of the table. */
export const PEERS: readonly Peer[] = [
  {
    name: 'parse',
    packages: { folder: 'parse', main: 'parse-server' },
    title: 'Parse Server',
    startServer: startParse,
    notes:
      'A session is looked up in Postgres every 5 seconds, otherwise in a cache of the process. The client states author and ACL of an article; ' +
      'the server checks the types of its fields, but no lengths. No outbox. Creates and updates return the id and times only. The index of the ' +
      'list was added by hand. Passwords: bcrypt, cost 10.',
  },
  {
    name: 'directus',
    packages: { folder: 'directus', main: 'directus' },
    title: 'Directus',
    startServer: startDirectus,
    notes:
      'The free tier ("Core") has no rules for single rows, so every user may change every article. A session is looked up in Postgres with each ' +
      'request. Each create and update also writes a row of activity and a revision. No lengths are checked. The session look-up returns only ' +
      'the id of the user. The index of the list was added by hand. Passwords: argon2id, 64 MiB, 3 passes, 4 lanes.',
  },
  {
    name: 'payload',
    packages: { folder: 'payload', main: 'payload' },
    title: 'Payload',
    startServer: startPayload,
    notes:
      'Its REST API (`handleEndpoints`) on a bare Node server, without Next.js. `depth=0`, so that it returns the id of the author as the others ' +
      'do. A pool of 41 connections: with the default of 10, updates of 20 clients at once did not end. Tags are rows of a second table. A token ' +
      'names a session, which is looked up in Postgres with each request. The client states the author. Lengths are checked. No outbox. Passwords: ' +
      'PBKDF2 with SHA-256, 600,000 rounds.',
  },
  {
    name: 'better-auth',
    packages: { folder: 'better-auth', main: 'better-auth' },
    title: 'better-auth',
    startServer: startBetterAuth,
    notes:
      "Accounts only, on a bare Node server, without its rate limit (Belfry's is off as well). A session is looked up in Postgres with each " +
      'request. Passwords: scrypt, N=2¹⁴, r=16, p=1.',
  },
  {
    name: 'graphile-worker',
    packages: { folder: 'graphile-worker', main: 'graphile-worker' },
    title: 'graphile-worker',
    jobs: new URL('processes/graphile-worker.ts', import.meta.url),
    notes:
      'Jobs in Postgres; a finished job is deleted. Default settings, without its local queue and batches; no log. Each enqueued job has a ' +
      'transaction of its own; Belfry stores jobs of the same moment in one statement.',
  },
  {
    name: 'pg-boss',
    packages: { folder: 'pg-boss', main: 'pg-boss' },
    title: 'pg-boss',
    jobs: new URL('processes/pg-boss.ts', import.meta.url),
    notes:
      'Jobs in Postgres; a finished job stays as a row. It fetches and finishes 50 jobs in one statement each (`batchSize`, ' +
      '`burstWhenBatchFull`), and the jobs of a batch succeed or fail together. Each enqueued job has a transaction of its own.',
  },
  {
    name: 'bullmq',
    title: 'BullMQ',
    jobs: new URL('../baselines/bullmq.ts', import.meta.url),
    notes: 'Jobs in Redis only, which writes to the disk once per second; a finished job is deleted.',
  },
];

/** Returns the name and version of a peer, as in the table. */
export function getTitle({ name, title, packages }: Peer): string {
  const folder = packages === undefined ? PROJECT : getPackageFolder(packages.folder);
  const version = getVersion(folder, packages?.main ?? name);
  return `${title} ${version}`;
}
