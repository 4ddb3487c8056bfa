import { isIP } from 'node:net';
import { resolveWithin } from '../deadline.ts';
import { isPublicAddress } from './is-public-address.ts';
import { createHostResolver, isUnknownName } from './resolve-host.ts';

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
