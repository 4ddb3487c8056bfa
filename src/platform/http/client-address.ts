import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A request as far as its sender matters. */
interface Sent {
  /** As express gives it: from `X-Forwarded-For` where the proxy in front is trusted. */
  ip?: string | undefined;
  socket: { remoteAddress?: string | undefined };
}

const MAPPED = '::ffff:';
// IPv4 addresses in IPv6 clothes: mapped, translated (RFC 7915), and behind a NAT64 (RFC 6052).
const HOLDS_IPV4 = new Set(['ipv4Mapped', 'rfc6145', 'rfc6052']);
// Proxies that name the port too write `203.0.113.7:4711` or `[2001:db8::7]:4711`.
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d{1,5}|\[([^\]]*)\](?::\d{1,5})?)$/;
const LONGEST = 64;

/** A dotted end as two groups of hex: the parser takes `::1.2.3.4` for a mapped address, which it is not. */
function undotted(text: string): string {
  const end = text.lastIndexOf(':') + 1;
  if (!text.includes('.', end)) return text;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(end).split('.').map(Number);
  return `${text.slice(0, end)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** The one spelling of an address; undefined for what is none. */
function canonical(text: string | undefined): string | undefined {
  if (text === undefined || text.length > LONGEST) return undefined;
  if (isIPv4(text)) return text;
  // Every IPv4 client of a server that listens on both: the common case, so without the parser.
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length))) return text.slice(MAPPED.length);
  const bare = text.split('%', 1)[0]!;
  if (isIPv6(bare)) {
    const address = ipaddr.IPv6.parse(undotted(bare));
    if (!HOLDS_IPV4.has(address.range())) return address.toString();
    return new ipaddr.IPv4(address.toByteArray().slice(12)).toString();
  }
  const found = WITH_PORT.exec(text);
  return found === null ? undefined : canonical(found[1] ?? found[2]);
}

/**
 * The address that a request comes from, in its one spelling: IPv6 as in RFC 5952, an IPv4 address in IPv6 clothes as
 * itself. What a trusted proxy wrote that is no address is passed over for the proxy's own. Empty when the sender is gone.
 */
export function addressOf(req: Sent): string {
  return canonical(req.ip) ?? canonical(req.socket.remoteAddress) ?? '';
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || address?.startsWith('127.') === true;
}

/**
 * Whether a request was sent by a program on this machine: the connection comes from a loopback address, and if a proxy on this machine
 * passed the request on, it names no other client. `X-Forwarded-For` can only make this false: any client can send the header.
 */
export function isFromThisMachine(req: { headers: IncomingHttpHeaders; socket: Sent['socket'] }): boolean {
  const forwarded = String(req.headers['x-forwarded-for'] ?? '')
    .split(',')
    .filter((entry) => entry.trim() !== '');
  const addresses = [req.socket.remoteAddress, ...forwarded.map((entry) => entry.trim())];
  return addresses.every((address) => isLoopback(canonical(address)));
}

/**
 * The client that an address stands for: itself, or of IPv6 its /64, the least that a provider gives to one customer.
 *
 * @param address in its one spelling
 */
export function clientKey(address: string): string {
  if (!address.includes(':')) return address;
  const groups = ipaddr.IPv6.parse(address).parts.slice(0, 4);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}
