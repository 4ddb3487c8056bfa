import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '..', '..');

/** The processes and the file that each of them runs. */
const ENTRIES = {
  web: 'src/web.ts',
  relay: 'workers/relay.ts',
  'webhook-worker': 'workers/webhook-worker.ts',
  'push-worker': 'workers/push-worker.ts',
  'job-worker': 'workers/job-worker.ts',
} as const;

/** One of the processes. */
export type Tier = keyof typeof ENTRIES;

/** The processes of a deployment. */
export interface Tiers {
  /** The address where `web` listens. */
  url: string;
  /** Starts a tier (again). */
  start(tier: Tier): void;
  /** Kills a tier with SIGKILL, as in a crash. Resolves when it is gone. */
  kill(tier: Tier): Promise<void>;
  /** Sends a tier a signal that does not end it. */
  signal(tier: Tier, signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Stops all tiers with SIGTERM. Resolves when they are gone. */
  stop(): Promise<void>;
}

/**
 * Starts the processes.
 *
 * @param env their environment
 * @param otherTiers the processes to run besides `web`
 * @param onEnded called for each process that exits without being asked to
 * @throws if `web` exits before it listens
 */
export async function startTiers(
  env: Record<string, string>,
  otherTiers: readonly Tier[] = ['relay', 'webhook-worker', 'push-worker'],
  onEnded: (tier: Tier, code: number | string) => void = () => undefined,
): Promise<Tiers> {
  const running = new Map<Tier, ChildProcess>();
  const stopping = new Set<ChildProcess>();
  const oneRole = { RELAY: 'off', WEBHOOKS_WORKER: 'off', PUSH_WORKER: 'off', JOB_WORKER: 'off', PORT: '0' };

  function start(tier: Tier): ChildProcess {
    const child = spawn(process.execPath, [join(root, ENTRIES[tier])], {
      cwd: root,
      env: { ...process.env, ...env, ...oneRole },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.set(tier, child);
    child.once('exit', (code, signal) => {
      if (!stopping.has(child)) onEnded(tier, code ?? signal!);
    });
    if (tier !== 'web') child.stdout!.pipe(process.stderr, { end: false });
    return child;
  }

  const stopChild = async (child: ChildProcess, signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    stopping.add(child);
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  // An interrupted demonstration leaves no processes behind.
  process.on('exit', () => {
    for (const child of running.values()) child.kill('SIGKILL');
  });

  const web = start('web');
  const url = await waitUntilListening(web);
  for (const tier of otherTiers) start(tier);
  return {
    url,
    start,
    kill: (tier) => stopChild(running.get(tier)!, 'SIGKILL'),
    signal: (tier, signal) => void running.get(tier)!.kill(signal),
    async stop() {
      await Promise.all([...running.values()].map((child) => stopChild(child, 'SIGTERM')));
    },
  };
}

async function waitUntilListening(web: ChildProcess): Promise<string> {
  const ended = once(web, 'exit').then(() => {
    throw new Error('the web process exited before it was listening');
  });
  const lines = createInterface({ input: web.stdout! });
  const found = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const address = /listens on (http:\S+)/.exec(line)?.[1];
      if (address === undefined) process.stderr.write(`${line}\n`);
      else resolve(address);
    });
  });
  return Promise.race([found, ended]);
}
