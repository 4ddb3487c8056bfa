import { NODATA, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { assertOutsideTransaction } from '../../data/postgres/transaction-watch.ts';
import { withTimeoutFallback } from '../../helpers/concurrency/deadline.ts';
import { isPublicAddress } from './is-public-address.ts';

/** Returns all addresses of a host name, IPv4 first. Rejects if there is none; see `isUnknownHostError` for the reason. */
export type HostResolver = (host: string) => Promise<string[]>;

// Some name servers never respond to AAAA queries. Once there are IPv4 addresses, wait at most this long for IPv6 addresses.
const IPV6_GRACE_MS = 250;
const LOOPBACK = ['127.0.0.1', '::1'];
const UNKNOWN_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** Whether a resolver rejected because the name has no address in DNS, rather than because a name server failed. */
export function isUnknownHostError(error: unknown): boolean {
  return UNKNOWN_NAME.has((error as { code?: string } | undefined)?.code ?? '');
}

/** Whether a text is the address of a name server: an IP address, with or without a port. */
export function isNameServer(text: string): boolean {
  try {
    new Resolver().setServers([text]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Creates a resolver that queries DNS for A and AAAA records directly. Unlike `dns.lookup` it does not occupy threads of libuv's pool,
 * where a few slow names would stall file access and password hashing.
 *
 * @param options `localNames`: use `localhost` and the hosts file too; `timeoutMs`: the time limit for a query;
 *   `servers`: name servers (`address:port`) instead of the system's; `hostsFile`: instead of /etc/hosts
 */
export function createHostResolver({
  localNames,
  timeoutMs,
  servers,
  hostsFile = '/etc/hosts',
}: {
  localNames: boolean;
  timeoutMs: number;
  servers?: readonly string[] | undefined;
  hostsFile?: string;
}): HostResolver {
  // The second attempt waits twice as long as the first.
  const dns = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
  if (servers) dns.setServers(servers);

  return async (host) => {
    assertOutsideTransaction(`The host ${host} is looked up`);
    const local = localNames ? await findLocalAddresses(host, hostsFile) : [];
    return local.length > 0 ? local : queryIpv4AndIpv6(dns, host);
  };
}

async function queryIpv4AndIpv6(dns: Resolver, host: string): Promise<string[]> {
  const failures: unknown[] = [];
  const recordFailure = (error: unknown): string[] => {
    failures.push(error);
    return [];
  };
  const ipv6Query = dns.resolve6(host).catch(recordFailure);
  const ipv4 = await dns.resolve4(host).catch(recordFailure);
  const ipv6 = await (ipv4.length > 0 ? withTimeoutFallback(ipv6Query, IPV6_GRACE_MS, []) : ipv6Query);
  const addresses = [...ipv4, ...ipv6];
  if (addresses.length > 0) return addresses;
  // The name is unknown only if both queries say so: the family whose name server failed might have an address. A query may also succeed
  // without addresses: its response has other records only, such as an alias without a target.
  throw failures.find((error) => !isUnknownHostError(error)) ?? failures[0] ?? createNoAddressError(host);
}

/** The error for a name that exists but has no address, as a query for it would fail. */
function createNoAddressError(host: string): Error {
  return Object.assign(new Error(`queryA ENODATA ${host}`), { code: NODATA });
}

async function findLocalAddresses(host: string, hostsFile: string): Promise<string[]> {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) && names.includes(name) ? [address] : [];
  });
}

/** Checks whether a URL that `checkUrl` accepted may be stored, based on its host. Never rejects. */
type HostCheck = (url: URL) => Promise<boolean>;

/**
 * Creates the host check for URLs that are about to be stored. A name is refused if it is unknown or if any of its
 * addresses is not public. The result is the same in both cases, so that a client cannot learn which private names exist. If a name
 * server fails or does not respond in time, the name is accepted: the guarded agent checks it again before every connection.
 *
 * @param options `allowPrivate`: accept every host without a query; `timeoutMs`: the maximum wait for a response;
 *   `nameServers`: name servers (`address:port`) to use instead of the system's
 */
export function createHostCheck({
  allowPrivate,
  timeoutMs,
  nameServers,
}: {
  allowPrivate: boolean;
  timeoutMs: number;
  nameServers?: readonly string[] | undefined;
}): HostCheck {
  const resolve = createHostResolver({ localNames: false, timeoutMs, servers: nameServers });

  return async ({ hostname }) => {
    // `checkUrl` has already checked literal addresses; IPv6 ones are in brackets.
    if (allowPrivate || isIP(hostname) !== 0 || hostname.startsWith('[')) return true;
    // With several name servers, the resolver may take longer than its time-out.
    const resolved = resolve(hostname).catch((error: unknown) => (isUnknownHostError(error) ? [] : undefined));
    const addresses = await withTimeoutFallback(resolved, timeoutMs, undefined);
    return addresses === undefined || (addresses.length > 0 && addresses.every(isPublicAddress));
  };
}
