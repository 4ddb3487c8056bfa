import { loadavg } from 'node:os';
import { failWithUsage, parseCommandLine } from '../command-line.ts';
import type { Bench } from '../figure.ts';
import { describeRun } from '../report.ts';
import { runSession, type Session } from '../session.ts';
import { withClient } from '../setup/database.ts';
import { openDatabaseCpu } from './costs.ts';
import { installPeer } from './install.ts';
import { JOBS, measureJobs } from './jobs.ts';
import { type Measurement, measureServers } from './measure.ts';
import { getTitle, PEERS, type Peer } from './peers.ts';
import { writePeersSection } from './results-page.ts';
import type { Server, Side } from './side.ts';
import { startBelfryServer } from './sides/belfry.ts';
import { formatNotes, formatPeersTable } from './table.ts';
import { verifySide } from './verify.ts';

/** Without the installation. */
const MAX_RUN_MS = 20 * 60_000;

interface Options {
  names: string[];
  write: boolean;
  reps: number;
  seconds: number;
}

function parseOptions(args: string[]): Options {
  const { values, positionals: names } = parseCommandLine(args, {
    write: { type: 'boolean', default: false },
    reps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1.5' },
  });
  const [reps, seconds] = [Number(values.reps), Number(values.seconds)];
  const known = PEERS.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) failWithUsage(`Unknown peer: ${unknown.join(', ')}. The peers are ${known.join(', ')}.`);
  if (!Number.isInteger(reps) || reps < 1 || !(seconds > 0))
    failWithUsage('--reps must be a whole number of at least 1, and --seconds a number greater than 0.');
  if (values.write && names.length > 0)
    failWithUsage('--write saves the results of all peers: do not combine it with names.');
  return { names, write: values.write, reps, seconds };
}

/** Installs the packages of the peers. Returns those that are there; the others are reported. */
async function installPeers(peers: readonly Peer[]): Promise<Peer[]> {
  const installed: Peer[] = [];
  for (const peer of peers) {
    try {
      if (peer.packages !== undefined) await installPeer(peer.packages.folder, (line) => console.error(line));
      installed.push(peer);
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      console.error(`${peer.title} could not be installed, so it is left out: ${(stderr || message).trim()}`);
      process.exitCode = 1;
    }
  }
  return installed;
}

async function startServers(bench: Bench, peers: readonly Peer[]): Promise<Side[]> {
  const sides: Side[] = [];
  const servers: [title: string, start: (bench: Bench) => Promise<Server>][] = [['Belfry', startBelfryServer]];
  for (const peer of peers) if (peer.startServer !== undefined) servers.push([getTitle(peer), peer.startServer]);
  for (const [title, start] of servers) {
    bench.logProgress(`Starting ${title} and checking what it does …`);
    const side = { ...(await start(bench)), title };
    await verifySide(side);
    sides.push(side);
  }
  return sides;
}

async function measure(
  { services, children, logProgress }: Session,
  peers: readonly Peer[],
  { reps, seconds }: Options,
): Promise<Measurement[]> {
  const isRequested = () => true;
  const bench = { servers: services, children, reps, seconds, warmUpSeconds: 2 * seconds, isRequested, logProgress };
  await withClient(services.databaseUrl, async (client) => {
    // It would begin at a random moment, and its work would be counted for the side whose turn it is.
    await client.query('alter system set autovacuum = off');
    await client.query('select pg_reload_conf()');
  });
  const sides = await startServers(bench, peers);
  const databases = await openDatabaseCpu(services);
  const ofServers = await measureServers(bench, databases, sides);
  await Promise.all(sides.map(({ process: child }) => child.stop()));
  const ofJobs = await measureJobs(bench, databases, peers);
  await databases.close();
  return [...ofServers, ...ofJobs];
}

/** Compares Belfry with peers that do the same work on the same machine in the same run, and prints the table. */
export async function runPeers(args: string[]): Promise<void> {
  const options = parseOptions(args);
  const { names, reps, seconds } = options;
  const requested = PEERS.filter(({ name }) => names.length === 0 || names.includes(name));
  const peers = await installPeers(requested);
  if (peers.length === 0) return;
  const [loadAverage = 0] = loadavg();
  await runSession({ maxMs: MAX_RUN_MS }, async (session) => {
    const startedAt = performance.now();
    const measurements = await measure(session, peers, options);
    const results = `${formatPeersTable(measurements)}\n\n${formatNotes(peers)}\n`;
    console.log(results);
    const took = Math.round((performance.now() - startedAt) / 1000);
    session.logProgress(`The run took ${took} s.`);
    if (!options.write) return;
    if (peers.length < requested.length)
      return session.logProgress('bench/RESULTS.md is unchanged: a peer is missing.');
    writePeersSection(`## Peers

Written by \`npm run bench -- peers --write\` on ${new Date().toISOString().slice(0, 10)}; the run took ${took} s.

Other projects that do the same work, each in one process in production mode, with its default settings, on a database of its own in the same
Postgres. All sides took turns: ${reps} rounds of ${seconds} s each (sign-ins at least 4 s; ${JOBS.toLocaleString('en')} jobs). Before, each side's responses were
checked. The ratios are the medians of the rounds' ratios, with their range: more than 1 in the column of speed and less than 1 in that of CPU time
is better for Belfry. CPU time is that of the side's process + that of Postgres and Redis.

${describeRun({ postgres: session.services.postgres, redis: session.services.redis, loadAverage })}

${results}`);
  });
}
