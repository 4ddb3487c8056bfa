import { setTimeout as sleep } from 'node:timers/promises';
import { failWithUsage } from '../command-line.ts';
import { insertLinks } from '../groups/accounts/sign-ins.ts';
import { OPERATIONS } from '../groups/records/operations.ts';
import { type LoadRequest, runLoad, runRequests } from '../measure/load.ts';
import { createEndpoint } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { resetDatabase } from '../setup/database.ts';
import { countResponseBytes } from './response-bytes.ts';
import { migrate, type Side, startProcess } from './sides.ts';

const CONNECTIONS = 20;
const DELIVERIES_PER_SECOND = 400;
const JOBS_PER_SECOND = 2000;
/** When a receiver has everything, the worker still stores results. Tables differ between commits, so nothing can be awaited there. */
const SETTLE_MS = 300;
const BELFRY = 'bench/processes/belfry.ts';

/** The processes of one side. `children`: those that are measured, by name. */
export interface Processes {
  children: Record<string, Child>;
  /** What receives webhooks. */
  receiver?: Child;
}

/** How much is done: as much as fits into some seconds, or a number of operations, one after the other. */
export type Amount = { seconds: number } | { sequential: number };

interface Done {
  operations: number;
  /** Of the HTTP responses, if they were counted. */
  bytes?: number;
}

/** An operation whose cost is measured. */
export interface Operation {
  name: string;
  /** Restores the database for the next round. */
  reset?(side: Side): Promise<unknown>;
  run(processes: Processes, amount: Amount): Promise<Done>;
}

/** Operations that use the same processes. */
export interface Setup {
  operations: Operation[];
  isHandwritten: boolean;
  /** @throws if the side's commit does not have what is measured */
  start(side: Side): Promise<Processes>;
}

const resetRecords = ({ servers }: Side) => resetDatabase(servers.databaseUrl);

async function request(
  { children: { web } }: Processes,
  amount: Amount,
  createRequest: (connection: number) => LoadRequest,
): Promise<Done> {
  if ('seconds' in amount) {
    const { requests } = await runLoad(web!.url, createRequest, { connections: CONNECTIONS, seconds: amount.seconds });
    return { operations: requests };
  }
  const bytes = await countResponseBytes(web!.url, amount.sequential, () => createRequest(0));
  return { operations: amount.sequential, bytes };
}

const records: Setup = {
  isHandwritten: true,
  async start(side) {
    const program = side.name === 'handwritten' ? 'bench/baselines/handwritten-api.ts' : BELFRY;
    return { children: { web: await startProcess(side, program) } };
  },
  operations: [
    { name: 'read', run: (processes, amount) => request(processes, amount, OPERATIONS.read) },
    { name: 'list', run: (processes, amount) => request(processes, amount, OPERATIONS.list) },
    { name: 'list.uncounted', run: (processes, amount) => request(processes, amount, OPERATIONS['list.uncounted']) },
    { name: 'create', reset: resetRecords, run: (processes, amount) => request(processes, amount, OPERATIONS.create) },
    { name: 'update', reset: resetRecords, run: (processes, amount) => request(processes, amount, OPERATIONS.update) },
  ],
};

/** The next unused link of the side whose turn it is. */
let link = 0;

function createSignIn(): LoadRequest {
  const number = link++;
  const body = JSON.stringify({ token: `token-${number}`, signInToken: `client-${number}` });
  return { method: 'POST', path: '/api/auth/email-sign-in/verify', body, status: 200 };
}

const signIns: Setup = {
  isHandwritten: false,
  async start(side) {
    // The identity provider is never asked, but the setting adds every way to sign in.
    const environment = { BENCH_SIGN_IN_ISSUER: 'http://127.0.0.1:1' };
    await migrate(side, environment);
    return { children: { web: await startProcess(side, BELFRY, 'web', environment) } };
  },
  operations: [
    {
      name: 'sign-in',
      async reset({ servers }) {
        link = 0;
        await insertLinks(servers.databaseUrl);
      },
      run: (processes, amount) => request(processes, amount, createSignIn),
    },
  ],
};

async function deliver({ children: { web }, receiver }: Processes, count: number, connections: number): Promise<void> {
  const received = receiver!.call('receive', count);
  await runRequests(web!.url, count, connections, () => OPERATIONS.create(0));
  await received;
}

const deliveries: Setup = {
  isHandwritten: false,
  async start(side) {
    const [receiver, web, relay, worker] = await Promise.all([
      side.children.start(new URL('../processes/receiver.ts', import.meta.url), {}),
      startProcess(side, BELFRY),
      startProcess(side, BELFRY, 'relay'),
      startProcess(side, BELFRY, 'webhook-worker'),
    ]);
    await createEndpoint(web, receiver, 0);
    return { children: { web, relay, 'webhook-worker': worker }, receiver };
  },
  operations: [
    {
      name: 'delivery',
      reset: resetRecords,
      async run(processes, amount) {
        const operations = 'seconds' in amount ? Math.ceil(DELIVERIES_PER_SECOND * amount.seconds) : amount.sequential;
        if ('seconds' in amount) await deliver(processes, operations, CONNECTIONS);
        else for (let i = 0; i < operations; i++) await deliver(processes, 1, 1);
        await sleep(SETTLE_MS);
        return { operations };
      },
    },
  ],
};

const jobs: Setup = {
  isHandwritten: false,
  start: async (side) => ({ children: { jobs: await startProcess(side, 'bench/processes/jobs.ts') } }),
  operations: [
    {
      name: 'job',
      async run({ children }, amount) {
        const operations = 'seconds' in amount ? Math.ceil(JOBS_PER_SECOND * amount.seconds) : amount.sequential;
        await children.jobs!.call('enqueue', operations);
        await children.jobs!.call('run', operations);
        return { operations };
      },
    },
  ],
};

/** Selects operations by name. Without names, returns all. An unknown name ends this process with a message. */
export function selectSetups(names: readonly string[]): Setup[] {
  const setups = [records, signIns, deliveries, jobs];
  const known = setups.flatMap(({ operations }) => operations.map(({ name }) => name));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    failWithUsage(`Unknown operation: ${unknown.join(', ')}. The operations are ${known.join(', ')}.`);
  const isSelected = ({ name }: Operation) => names.length === 0 || names.includes(name);
  return setups
    .map((setup) => ({ ...setup, operations: setup.operations.filter(isSelected) }))
    .filter(({ operations }) => operations.length > 0);
}
