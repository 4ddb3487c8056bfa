import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type * as Undici from 'undici';
import { isPublicAddress } from './is-public-address.ts';
import { createHostResolver, type HostResolver } from './resolve-host.ts';

const requirePackage = createRequire(import.meta.url);

/**
 * A host was not called because it has no address, or one that must not be called. Both cases have the same code and message,
 * so that a client that chooses hosts cannot learn which private names exist. `cause` has the actual reason, for the log only.
 */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ADDRESS_REFUSED';

  constructor(cause: unknown) {
    super('The host has no public address', { cause });
  }
}

/** The permissions and limits of a guarded agent. */
export interface GuardedAgentOptions {
  /** Whether requests may go to private addresses and `localhost`, and names are also looked up in the hosts file. For development only. */
  allowPrivate: boolean;
  /** The time limit in ms for resolving, connecting and the TLS handshake together. undici rounds it up to a multiple of 500 ms. */
  connectTimeoutMs: number;
  /** Maximum number of concurrent sockets per origin. Default: 10. */
  connections?: number;
  /** Name servers (`address:port`) instead of the system's. */
  nameServers?: readonly string[] | undefined;
  /** Returns all addresses of a name. Default: DNS, A and AAAA records. */
  resolve?: HostResolver;
  /** Certificate authorities to trust instead of Node's, and the lowest TLS version. */
  tls?: Pick<ConnectionOptions, 'ca' | 'minVersion'>;
}

/**
 * Creates an undici agent for URLs chosen by clients. Before each new socket it resolves the host once, checks every address,
 * and connects only to those addresses: a DNS response that changes in between (DNS rebinding) has no effect. Server name and
 * certificate are checked against the name. HTTP/1.1 only. Use it with `request`, which follows no redirects, under a total deadline.
 *
 * A request to a refused or unresolvable host fails with `AddressRefusedError` before any socket is opened. A socket error
 * has `bytesRead`, the bytes received before the error: if there are any, the socket was reused from an earlier request.
 */
export function createGuardedAgent({
  allowPrivate,
  connectTimeoutMs,
  connections = 10,
  nameServers,
  resolve = createHostResolver({ localNames: allowPrivate, timeoutMs: connectTimeoutMs, servers: nameServers }),
  tls,
}: GuardedAgentOptions): Undici.Agent {
  // Only processes that call other servers need it; it takes 5 MB.
  const { Agent, buildConnector } = requirePackage('undici') as typeof Undici;
  const isAllowed = (address: string) => (allowPrivate ? isIP(address) !== 0 : isPublicAddress(address));
  const connect = buildConnector({
    ...tls,
    allowH2: false,
    timeout: connectTimeoutMs,
    lookup: createCheckedLookup(resolve, isAllowed),
  });

  return new Agent({
    connections,
    allowH2: false,
    // In ms. A receiver may ask for a longer keep-alive. Without this maximum, many receivers could hold idle sockets for long.
    keepAliveMaxTimeout: 30_000,
    connect(options, callback) {
      // Node's net module looks up only names, so check literal addresses here.
      if (isIP(options.hostname) && !isAllowed(options.hostname)) {
        process.nextTick(callback, new AddressRefusedError(new Error(`${options.hostname} is not public`)), null);
        return;
      }
      connect(options, (...result: Parameters<typeof callback>) => {
        const socket = result[1];
        socket?.prependListener('error', (error: Error & { bytesRead?: number }) => {
          error.bytesRead ??= socket.bytesRead;
        });
        callback(...result);
      });
    },
  });
}

// Node's net module calls the lookup while it connects a socket: a thrown error, or a callback without an address, would end the process.
function createCheckedLookup(resolve: HostResolver, isAllowed: (address: string) => boolean): LookupFunction {
  const resolveAllowedAddresses = async (host: string) => {
    const addresses = await resolve(host);
    if (addresses.length === 0) throw new Error(`${host} has no address`);
    const refused = addresses.filter((address) => !isAllowed(address));
    if (refused.length > 0) throw new Error(`${host} resolves to ${refused.join(', ')}`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };

  return (host, options, callback) => {
    resolveAllowedAddresses(host).then(
      (addresses) =>
        options.all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (cause) => callback(new AddressRefusedError(cause), []),
    );
  };
}
