import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { resolveWithin } from '../deadline.ts';
import { isPublicAddress } from './is-public-address.ts';

/** All addresses of a host name, IPv4 first. Rejects when there is none; see `isUnknownName` for the reason. */
export type HostResolver = (host: string) => Promise<string[]>;

// Some name servers never answer AAAA questions: once there are IPv4 addresses, they are waited for no longer than this.
const IPV6_GRACE_MS = 250;
const LOOPBACK = ['127.0.0.1', '::1'];
const UNKNOWN_NAME = new Set(['ENOTFOUND', 'ENODATA']);

/** Whether a resolver rejected because DNS says that the name has no address, rather than because a name server failed. */
export function isUnknownName(error: unknown): boolean {
  return UNKNOWN_NAME.has((error as { code?: string }).code ?? '');
}

/** Whether a text is an address of a name server: an IP address, with a port or without. */
export function isNameServer(text: string): boolean {
  try {
    new Resolver().setServers([text]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a resolver that asks DNS for A and AAAA records itself. Unlike `dns.lookup` it does not take threads of libuv's pool,
 * where a few slow names would stall files and password hashes.
 *
 * @param options `localNames`: `localhost` and the hosts file count too; `timeoutMs`: when to give a question up;
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
  // The second try waits twice as long as the first.
  const dns = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
  if (servers) dns.setServers(servers);

  return async (host) => {
    const local = localNames ? await localAddresses(host, hostsFile) : [];
    return local.length > 0 ? local : queryBoth(dns, host);
  };
}

async function queryBoth(dns: Resolver, host: string): Promise<string[]> {
  const failures: unknown[] = [];
  const note = (error: unknown): string[] => {
    failures.push(error);
    return [];
  };
  const ipv6Answer = dns.resolve6(host).catch(note);
  const ipv4 = await dns.resolve4(host).catch(note);
  const ipv6 = await (ipv4.length > 0 ? resolveWithin(ipv6Answer, IPV6_GRACE_MS, []) : ipv6Answer);
  const addresses = [...ipv4, ...ipv6];
  if (addresses.length > 0) return addresses;
  // The name is unknown only if both answers say so: the family whose name server failed might have an address.
  throw failures.find((error) => !isUnknownName(error)) ?? failures[0];
}

async function localAddresses(host: string, hostsFile: string): Promise<string[]> {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) && names.includes(name) ? [address] : [];
  });
}

/** Checks whether a URL that `checkUrl` has accepted may be stored, by its host. Never rejects. */
type HostCheck = (url: URL) => Promise<boolean>;

/**
 * Creates the check of host names for URLs that are about to be stored. A name is refused when it is unknown or when any of its
 * addresses is not public. The result is the same in both cases, so that a client cannot learn which private names exist. A name
 * server that fails, or does not answer in time, refuses nothing: the guarded agent checks the name again before every connection.
 *
 * @param options `allowPrivate`: every host passes, and no name server is queried; `timeoutMs`: the longest wait for an answer;
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
    // `checkUrl` has checked literal addresses, IPv6 ones in brackets.
    if (allowPrivate || isIP(hostname) !== 0 || hostname.startsWith('[')) return true;
    // With several name servers, the resolver may take longer than its time-out.
    const found = resolve(hostname).catch((error: unknown) => (isUnknownName(error) ? [] : undefined));
    const addresses = await resolveWithin(found, timeoutMs, undefined);
    return addresses === undefined || (addresses.length > 0 && addresses.every(isPublicAddress));
  };
}
