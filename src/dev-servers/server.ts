import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GuardedCommand } from './guard.ts';
import { type GuardedProcess, runGuarded } from './run-guarded.ts';

/** A running service. */
export interface Service {
  url: string;
  /** The origin, as printed: `redis-server 7.2.4 on port 40123, throw-away`. */
  from: string;
  stop(): Promise<void>;
  /** Lets this process end while the service runs. The service then stops with this process. */
  unref?(): void;
}

/** A server that this program starts itself. */
export interface StartedServer {
  port: number;
  stop(): Promise<void>;
  /** Lets this process end while the server runs. The server then stops with this process. */
  unref(): void;
  /** Stops the server, waits for `downMs`, and starts it again on the same port. Only for servers that keep their data. */
  restart(downMs: number, onStopped?: () => void): Promise<void>;
}

export interface ServerSettings {
  /** The name of the server in errors. */
  name: string;
  /** The folder for `server.log` and the ids of its processes. */
  folder: string;
  /** Returns the command for a port. */
  command: (port: number) => Pick<GuardedCommand, 'command' | 'args' | 'argv0' | 'uid' | 'gid'>;
  stopSignal: NodeJS.Signals;
  throwAway: boolean;
  /** Resolves when the server on this port responds; rejects while it does not. */
  ping: (port: number) => Promise<unknown>;
}

/** Returns a TCP port of localhost that is free at the moment. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

async function waitForResponse(ping: () => Promise<unknown>, server: GuardedProcess): Promise<boolean> {
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
 * Starts a server on a free port and waits at most a minute until it responds. If it does not, throws an error with the end of
 * its log.
 */
export async function startServer(settings: ServerSettings): Promise<StartedServer> {
  const { name, folder, stopSignal, throwAway, ping } = settings;
  const log = join(folder, 'server.log');
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const startProcess = () => {
      const output = openSync(log, 'w', 0o600);
      const started = runGuarded(
        {
          ...settings.command(port),
          cwd: '/',
          stopSignal,
          graceMs: 20_000,
          pidIn: folder,
          ...(throwAway && { throwAway: folder }),
        },
        // Pass only these variables: others of the shell (PGDATA, PGPORT) would change the server.
        { PATH: process.env.PATH, HOME: '/', LC_ALL: 'C' },
        output,
      );
      closeSync(output);
      return started;
    };
    let server = startProcess();
    const stop = async () => {
      await server.stop();
      if (throwAway) rmSync(folder, { recursive: true, force: true });
    };
    const restart = async (downMs: number, onStopped?: () => void) => {
      if (throwAway) throw new Error(`${name} loses its data when it stops, so it cannot be restarted.`);
      await server.stop();
      onStopped?.();
      await sleep(downMs);
      server = startProcess();
      if (!(await waitForResponse(() => ping(port), server))) throw new Error(`${name} did not restart.`);
    };
    if (await waitForResponse(() => ping(port), server)) return { port, stop, restart, unref: () => server.unref() };
    await Promise.race([server.exited, sleep(200)]);
    const output = readFileSync(log, 'utf8').trim().split('\n').slice(-8).join('\n');
    // Another process may have taken the port in between.
    const shouldRetry = attempt < 3 && /address already in use/i.test(output);
    await (shouldRetry ? server.exited : stop());
    if (!shouldRetry) throw new Error(`${name} did not start.\n${output}`);
  }
}
