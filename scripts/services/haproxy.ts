import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort, startServer } from '../../src/dev-servers/server.ts';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';
import { findProgram, installDebianPackage } from './debian-package.ts';

/** A proxy that is running. */
export interface RunningProxy {
  url: string;
  /** The port of each server behind the proxy. */
  ports: number[];
  /** Resolves when exactly these servers, by index, get requests. */
  waitUntilUp(servers: readonly number[]): Promise<void>;
  stop(): Promise<void>;
}

/** ms between two health checks of a server. One failed check takes a server out, one good check brings it in. */
export const CHECK_EVERY_MS = 100;

/** Returns the HAProxy of this machine, and installs it first as root on Debian. Undefined if that is not possible. */
export function provideHaproxy(): string | undefined {
  const found = findProgram('haproxy');
  if (found !== undefined) return found;
  installDebianPackage('haproxy');
  return findProgram('haproxy');
}

/** Returns the configuration of a proxy that never retries: each lost request is an error that the client sees. */
function formatConfiguration(port: number, statusPort: number, ports: readonly number[]): string {
  return `
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
  timeout check 10s
  retries 0
frontend clients
  bind 127.0.0.1:${port}
  default_backend web
backend web
  balance roundrobin
  http-reuse always
  option httpchk GET /readyz
  http-check expect status 200
  default-server check inter ${CHECK_EVERY_MS}ms fall 1 rise 1
${ports.map((serverPort, i) => `  server s${i} 127.0.0.1:${serverPort}`).join('\n')}
frontend status
  bind 127.0.0.1:${statusPort}
  stats enable
  stats uri /
`;
}

/** Starts a proxy in front of servers on this machine, none of which has to run yet. */
export async function startHaproxy(haproxy: string, servers: number): Promise<RunningProxy> {
  const folder = createTemporaryFolder('haproxy');
  const ports: number[] = [];
  for (let i = 0; i <= servers; i++) ports.push(await findFreePort());
  const statusPort = ports.pop()!;
  const readStates = async () => {
    const lines = (await (await fetch(`http://127.0.0.1:${statusPort}/;csv`)).text()).split('\n');
    const header = lines[0]!.split(',');
    const rows = lines.slice(1).map((line) => line.split(','));
    const cellOf = (row: string[], column: string) => row[header.indexOf(column)] ?? '';
    return ports.map((_, i) => cellOf(rows.find((row) => row[1] === `s${i}`) ?? [], 'status'));
  };
  const { port, stop } = await startServer({
    name: 'HAProxy',
    folder,
    command(port) {
      const file = join(folder, 'haproxy.cfg');
      writeFileSync(file, formatConfiguration(port, statusPort, ports));
      return { command: haproxy, args: ['-db', '-f', file] };
    },
    stopSignal: 'SIGTERM',
    throwAway: true,
    ping: readStates,
  });
  return {
    url: `http://127.0.0.1:${port}`,
    ports,
    stop,
    async waitUntilUp(expected) {
      const isAsExpected = (state: string, i: number) => (state === 'UP') === expected.includes(i);
      while (!(await readStates()).every(isAsExpected)) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}
