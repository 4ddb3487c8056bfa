import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GuardedCommand } from './guard.ts';
import { type Guarded, runGuarded } from './guarded.ts';

/** A running service: where it answers, in whose words it is announced, how it is stopped. */
export interface Service {
  url: string;
  /** Where it comes from, for people: half a line. */
  from: string;
  stop(): Promise<void>;
}

export interface ServerSettings {
  /** What to call it in an error. */
  name: string;
  /** Its folder: keeps `server.log` and the ids of its processes. */
  folder: string;
  /** The command for a port. */
  command: (port: number) => Pick<GuardedCommand, 'command' | 'args' | 'argv0' | 'uid' | 'gid'>;
  stopSignal: NodeJS.Signals;
  throwAway: boolean;
  /** Resolves when the server on this port answers; rejects while it does not. */
  ping: (port: number) => Promise<unknown>;
}

/** A TCP port on localhost that nothing listens on at this moment. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

async function answers(ping: () => Promise<unknown>, server: Guarded): Promise<boolean> {
  let ended = false;
  server.exited.finally(() => {
    ended = true;
  });
  for (const end = Date.now() + 60_000; Date.now() < end && !ended; await sleep(25)) {
    if (
      await ping().then(
        () => true,
        () => false,
      )
    )
      return true;
  }
  return false;
}

/**
 * Starts a server on a free port and waits until it answers (a minute at most). Throws with the end of its log when it
 * does not.
 */
export async function startServer(settings: ServerSettings): Promise<{ port: number; stop(): Promise<void> }> {
  const { name, folder, stopSignal, throwAway, ping } = settings;
  const log = join(folder, 'server.log');
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const output = openSync(log, 'w', 0o600);
    const server = runGuarded(
      {
        ...settings.command(port),
        cwd: '/',
        stopSignal,
        graceMs: 20_000,
        pidIn: folder,
        ...(throwAway && { throwAway: folder }),
      },
      // Without this a setting of the shell (PGDATA, PGPORT) would change the server.
      { PATH: process.env.PATH, HOME: '/', LC_ALL: 'C' },
      output,
    );
    closeSync(output);
    const stop = async () => {
      await server.stop();
      if (throwAway) rmSync(folder, { recursive: true, force: true });
    };
    if (await answers(() => ping(port), server)) return { port, stop };
    await Promise.race([server.exited, sleep(200)]);
    const said = readFileSync(log, 'utf8').trim().split('\n').slice(-8).join('\n');
    // Someone else may have taken the port in between.
    const again = attempt < 3 && /address already in use/i.test(said);
    await (again ? server.exited : stop());
    if (!again) throw new Error(`${name} did not start.\n${said}`);
  }
}
