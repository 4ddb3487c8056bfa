import { createServer, isIPv6 } from 'node:net';

/** Returns why this process cannot listen on a port of an address, as an error code such as EADDRINUSE; undefined if it can. */
function findPortError(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
}

/** Where the app listens, from the environment. */
export interface Address {
  port: number;
  host: string;
  url: string;
}

/** @throws Error if PORT is no port */
export function readAddress(): Address {
  const port = Number(process.env.PORT || 5001);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`PORT must be a number from 1 to 65535, not ${process.env.PORT}.`);
  const host = process.env.HOST || '127.0.0.1';
  const isLocal = ['127.0.0.1', '::1', 'localhost', '0.0.0.0', '::'].includes(host);
  return { port, host, url: `http://${isLocal ? 'localhost' : isIPv6(host) ? `[${host}]` : host}:${port}` };
}

/** @throws Error that says why this process cannot listen there */
export async function assertAddressIsFree({ port, host }: Address): Promise<void> {
  const problem = await findPortError(port, host);
  if (problem === 'EADDRINUSE') {
    throw new Error(
      `Port ${port} is in use. Stop the program that uses it, or choose another port: PORT=5002 npx belfry dev`,
    );
  }
  if (problem === 'EADDRNOTAVAIL' || problem === 'ENOTFOUND') {
    throw new Error(
      `HOST=${host} is not an address of this machine. Try HOST=127.0.0.1, or HOST=0.0.0.0 for all addresses.`,
    );
  }
  if (problem) throw new Error(`Cannot listen on ${host}, port ${port}: ${problem}.`);
}

/** Whether the ports of the app are free. A process that finishes work holds those of metrics and health checks, but not `port`. */
export async function arePortsFree({ port, host }: Address): Promise<boolean> {
  const ports = [port, process.env.HEALTH_PORT, process.env.METRICS_PORT].map(Number).filter((each) => each > 0);
  const problems = await Promise.all(ports.map((each) => findPortError(each, host)));
  return problems.every((problem) => problem === undefined);
}
