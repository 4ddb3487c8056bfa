import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
// Special-purpose blocks inside 2000::/3: protocol assignments with Teredo and ORCHID, documentation, 6to4, AS112.
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48'].map((block) =>
  ipaddr.IPv6.parseCIDR(block),
);
// A public address, but the one under which machines of a cloud platform reach its control plane.
const CLOUD_CONTROL_PLANE = '168.63.129.16';

/** Whether the lower half of an address contains an IPv4 address in ISATAP form (RFC 5214, 6.1), whatever the network prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return (parts[4] === 0 || parts[4] === 0x200) && parts[5] === 0x5efe;
}

/**
 * Whether an address is on the public internet: outside every block of IANA's special-purpose registries
 * (RFC 6890 and its successors), and for IPv6 inside 2000::/3. IPv6 addresses that embed an IPv4 address are never public.
 *
 * @param address an IPv4 address in dotted decimals or an IPv6 address; anything else, including a zone (`%eth0`), is not public
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%') || address === CLOUD_CONTROL_PLANE) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv4) return true;
  // ipaddr.js knows no range for ::2 or 4000::1 and therefore treats them as unicast.
  const ipv6 = parsed as ipaddr.IPv6;
  return ipv6.match(GLOBAL_UNICAST) && !isIsatap(ipv6) && !SPECIAL_IPV6.some((block) => ipv6.match(block));
}
