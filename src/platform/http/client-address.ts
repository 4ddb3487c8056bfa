import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The parts of a request that identify its sender. */
interface RequestSource {
  /** The address as Express determines it: from `X-Forwarded-For` if the proxy in front is trusted. */
  ip?: string | undefined;
  socket: { remoteAddress?: string | undefined };
}

const MAPPED = '::ffff:';
// Forms of IPv6 addresses that embed an IPv4 address: mapped, translated (RFC 7915), and behind a NAT64 (RFC 6052).
const EMBEDS_IPV4 = new Set(['ipv4Mapped', 'rfc6145', 'rfc6052']);
// Some proxies include the port: `203.0.113.7:4711` or `[2001:db8::7]:4711`.
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d{1,5}|\[([^\]]*)\](?::\d{1,5})?)$/;
const MAX_LENGTH = 64;

/** Rewrites the dotted end of an IPv6 address as two hex groups, because ipaddr.js mistakes `::1.2.3.4` for a mapped address. */
function convertDottedEndToHex(text: string): string {
  const end = text.lastIndexOf(':') + 1;
  if (!text.includes('.', end)) return text;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(end).split('.').map(Number);
  return `${text.slice(0, end)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** Returns the canonical form of an address; undefined if the text is not an address. */
function canonicalizeAddress(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_LENGTH) return undefined;
  if (isIPv4(text)) return text;
  // Every IPv4 client of a dual-stack server has a mapped address. This is the common case, so skip the parser.
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length))) return text.slice(MAPPED.length);
  const bare = text.split('%', 1)[0]!;
  if (isIPv6(bare)) {
    const address = ipaddr.IPv6.parse(convertDottedEndToHex(bare));
    if (!EMBEDS_IPV4.has(address.range())) return address.toString();
    return new ipaddr.IPv4(address.toByteArray().slice(12)).toString();
  }
  const found = WITH_PORT.exec(text);
  return found === null ? undefined : canonicalizeAddress(found[1] ?? found[2]);
}

/**
 * The address that a request comes from, in canonical form: IPv6 as in RFC 5952, an embedded IPv4 address as IPv4. If a trusted proxy
 * sent something that is not an address, the proxy's own address is used. Empty if the sender has disconnected.
 */
export function addressOf(req: RequestSource): string {
  return canonicalizeAddress(req.ip) ?? canonicalizeAddress(req.socket.remoteAddress) ?? '';
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || address?.startsWith('127.') === true;
}

/**
 * Whether a request was sent by a program on this machine: the connection comes from a loopback address, and if a proxy on this machine
 * passed the request on, it names no other client. `X-Forwarded-For` can only make this false: any client can send the header.
 */
export function isFromThisMachine(req: { headers: IncomingHttpHeaders; socket: RequestSource['socket'] }): boolean {
  const forwarded = String(req.headers['x-forwarded-for'] ?? '')
    .split(',')
    .filter((entry) => entry.trim() !== '');
  const addresses = [req.socket.remoteAddress, ...forwarded.map((entry) => entry.trim())];
  return addresses.every((address) => isLoopback(canonicalizeAddress(address)));
}

/**
 * The client that an address stands for: an IPv4 address itself, or the /64 of an IPv6 address, the smallest block that a provider
 * assigns to one customer.
 *
 * @param address in canonical form
 */
export function clientKeyOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = ipaddr.IPv6.parse(address).parts.slice(0, 4);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}
