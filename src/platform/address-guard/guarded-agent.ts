import { isIP, type LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress } from './is-public-address.ts';
import { createHostResolver, type HostResolver } from './resolve-host.ts';

/**
 * A host was not called: it has no address, or one that must not be called. Both have the same code and the same message,
 * so that who may choose hosts cannot learn which private names exist. What it was stands in `cause`, for the log only.
 */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ADDRESS_REFUSED';

  constructor(cause: unknown) {
    super('The host has no public address', { cause });
  }
}

/** What a guarded agent may do, and for how long. */
export interface GuardedAgentOptions {
  /** Whether private addresses may be called, and `localhost` and the hosts file count. For development. */
  allowPrivate: boolean;
  /** How long resolving, connecting and the TLS handshake may take together. undici rounds it up to about half a second. */
  connectTimeoutMs: number;
  /** Sockets to one origin at once. */
  connections?: number;
  /** Name servers (`address:port`) instead of the system's. */
  nameServers?: readonly string[] | undefined;
  /** All addresses of a name. Default: DNS, A and AAAA. */
  resolve?: HostResolver;
  /** Certificate authorities to trust instead of Node's, and the lowest TLS version. */
  tls?: Pick<ConnectionOptions, 'ca' | 'minVersion'>;
}

/**
 * Makes an undici agent for URLs that somebody else chose. Before each new socket it resolves the host once, checks every address,
 * and connects to those and no others: an answer that changes in between (DNS rebinding) has no effect. Server name and
 * certificate are checked against the name. HTTP/1.1 only. Use it with `request`, which follows no redirects, under a total deadline.
 *
 * A request to a refused or unresolvable host fails with `AddressRefusedError` before any socket is opened. An error of a socket
 * carries `bytesRead`, what the socket had received before: more than nothing tells that it was kept alive from an earlier request.
 */
export function createGuardedAgent({
  allowPrivate,
  connectTimeoutMs,
  connections = 10,
  nameServers,
  resolve = createHostResolver({ localNames: allowPrivate, timeoutMs: connectTimeoutMs, servers: nameServers }),
  tls,
}: GuardedAgentOptions): Agent {
  const isAllowed = (address: string) => (allowPrivate ? isIP(address) !== 0 : isPublicAddress(address));
  const connect = buildConnector({
    ...tls,
    allowH2: false,
    timeout: connectTimeoutMs,
    lookup: checkedLookup(resolve, isAllowed),
  });

  return new Agent({
    connections,
    allowH2: false,
    // A receiver may ask to be kept alive for longer; sockets of receivers that have nothing due would pile up.
    keepAliveMaxTimeout: 30_000,
    connect(options, callback) {
      // A look-up is made for names only.
      if (isIP(options.hostname) && !isAllowed(options.hostname)) {
        process.nextTick(callback, new AddressRefusedError(new Error(`${options.hostname} is not public`)), null);
        return;
      }
      connect(options, (...result: Parameters<typeof callback>) => {
        const socket = result[1];
        socket?.prependListener('error', (fault: Error & { bytesRead?: number }) => {
          fault.bytesRead ??= socket.bytesRead;
        });
        callback(...result);
      });
    },
  });
}

// net calls back into a socket from here: an error that is thrown, or a call with no address, would end the process.
function checkedLookup(resolve: HostResolver, isAllowed: (address: string) => boolean): LookupFunction {
  const checked = async (host: string) => {
    const addresses = await resolve(host);
    if (addresses.length === 0) throw new Error(`${host} has no address`);
    const refused = addresses.filter((address) => !isAllowed(address));
    if (refused.length > 0) throw new Error(`${host} resolves to ${refused.join(', ')}`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };

  return (host, options, callback) => {
    checked(host).then(
      (addresses) =>
        options.all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (cause) => callback(new AddressRefusedError(cause), []),
    );
  };
}
