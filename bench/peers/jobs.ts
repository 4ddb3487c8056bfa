import type { Bench } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import type { Child } from '../setup/children.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';
import { type DatabaseCpu, measureTurn, type Turn } from './costs.ts';
import { changeAndSettle, createPeerDatabase } from './database.ts';
import type { Measurement } from './measure.ts';
import { getTitle, type Peer } from './peers.ts';

/** Jobs of each turn. */
export const JOBS = 5000;

/** A program that enqueues and runs jobs, and its database. */
interface Program {
  child: Child;
  databaseUrl: string;
}

async function startPrograms(bench: Bench, peers: readonly Peer[]): Promise<Map<string, Program>> {
  const belfry = new URL('../processes/jobs.ts', import.meta.url);
  const child = await bench.children.start(belfry, createBelfryEnvironment(bench.servers));
  const programs = new Map([['Belfry', { child, databaseUrl: bench.servers.databaseUrl }]]);
  for (const peer of peers) {
    if (peer.jobs === undefined) continue;
    const databaseUrl = await createPeerDatabase(bench.servers, peer.name);
    const environment = createBelfryEnvironment({ ...bench.servers, databaseUrl });
    programs.set(getTitle(peer), { child: await bench.children.start(peer.jobs, environment), databaseUrl });
  }
  return programs;
}

/** Enqueues jobs that do nothing and runs them. The programs check that all of them were run. */
async function measureProgram(
  { child, databaseUrl }: Program,
  databases: DatabaseCpu,
): Promise<Record<'enqueue' | 'run', Turn>> {
  const measureCall = async (call: 'enqueue' | 'run') => {
    // Autovacuum, which would do this, is off.
    await changeAndSettle(databaseUrl, []);
    return measureTurn(child, databases, async () => {
      const ms = await child.call<number>(call, JOBS);
      return { operations: JOBS, perSecond: JOBS / (ms / 1000) };
    });
  };
  return { enqueue: await measureCall('enqueue'), run: await measureCall('run') };
}

/** Measures background jobs that do nothing. */
export async function measureJobs(
  bench: Bench,
  databases: DatabaseCpu,
  peers: readonly Peer[],
): Promise<Measurement[]> {
  if (!peers.some(({ jobs }) => jobs !== undefined)) return [];
  bench.logProgress('jobs …');
  const programs = await startPrograms(bench, peers);
  const sides = Object.fromEntries(
    [...programs].map(([title, program]) => [title, () => measureProgram(program, databases)]),
  );
  await runInterleaved(sides, 1);
  const rounds = await runInterleaved(sides, bench.reps);
  await Promise.all([...programs.values()].map(({ child }) => child.stop()));
  return (['enqueue', 'run'] as const).map((call) => ({
    operation: `${call} a job`,
    turns: Object.fromEntries(Object.entries(rounds).map(([title, turns]) => [title, turns.map((turn) => turn[call])])),
  }));
}
