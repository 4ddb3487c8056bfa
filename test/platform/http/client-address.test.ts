import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { addressOf, clientKeyOf } from '../../../src/platform/http/client-address.ts';

const from = (ip: string | undefined, remoteAddress?: string) => addressOf({ ip, socket: { remoteAddress } });

const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });

/** Spellings of an IPv6 address: leading zeros or none, either case, a gap at any run of zeros, a dotted end, a zone. */
function spellings(address: Uint8Array): fc.Arbitrary<string> {
  const groups = Array.from({ length: 8 }, (_, i) => (address[2 * i]! << 8) | address[2 * i + 1]!);
  return fc
    .record({
      widths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 8, maxLength: 8 }),
      upper: fc.boolean(),
      dotted: fc.boolean(),
      zone: fc.constantFrom('', '%eth0', '%1'),
      gap: fc.option(fc.tuple(fc.nat({ max: 7 }), fc.integer({ min: 1, max: 8 }))),
    })
    .map(({ widths, upper, dotted, zone, gap }) => {
      const texts = groups.map((group, i) => group.toString(16).padStart(widths[i]!, '0'));
      const end = dotted ? [[...address.slice(12)].join('.')] : texts.slice(6);
      const parts = [...texts.slice(0, 6), ...end];
      const written = (list: string[]) => list.join(':');
      let text = written(parts);
      if (gap !== null) {
        const [at, length] = gap;
        const last = Math.min(at + length, dotted ? 6 : 8);
        if (at < last && groups.slice(at, last).every((group) => group === 0)) {
          text = `${written(parts.slice(0, at))}::${written(parts.slice(last))}`;
        }
      }
      return (upper ? text.toUpperCase() : text) + zone;
    });
}

// Mostly zeros, like real addresses: only runs of zeros can be abbreviated.
const sparse = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 0xffff }) }), {
    minLength: 8,
    maxLength: 8,
  })
  .map((groups) => Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255])));

test('all spellings of an IPv6 address are one address and one client', () => {
  fc.assert(
    fc.property(
      fc.oneof(sparse, bytes).chain((address) => fc.tuple(spellings(address), spellings(address))),
      ([one, other]) => {
        expect(from(one)).not.toBe('');
        expect(from(one)).toBe(from(other));
        expect(clientKeyOf(from(one))).toBe(clientKeyOf(from(other)));
        // The canonical spelling is its own canonical form.
        expect(from(from(one))).toBe(from(one));
      },
    ),
    { numRuns: 1000 },
  );
});

test('two IPv6 addresses are one client exactly if they share their first 64 bits', () => {
  const key = (address: Uint8Array) => clientKeyOf(from(ipaddr.fromByteArray([...address]).toNormalizedString()));
  // Inside 2000::/3, where no address embeds an IPv4 address.
  const global = bytes.map((address) => Uint8Array.from([0x20 | (address[0]! & 0x1f), ...address.slice(1)]));
  fc.assert(
    fc.property(global, bytes, fc.nat({ max: 127 }), (address, tail, bit) => {
      const neighbour = Uint8Array.from([...address.slice(0, 8), ...tail.slice(8)]);
      expect(key(neighbour)).toBe(key(address));
      const flipped = Uint8Array.from(address);
      flipped[bit >> 3]! ^= 0x80 >> (bit & 7);
      expect(key(flipped) === key(address)).toBe(bit >= 64);
    }),
  );
});

test('an IPv4 address is one client in every IPv6 notation, and different IPv4 addresses are different clients', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.ipV4(), (one, other) => {
      const address = ipaddr.IPv4.parse(one);
      const hex = address
        .toIPv4MappedAddress()
        .parts.slice(6)
        .map((part) => part.toString(16))
        .join(':');
      const clothed = [`::ffff:${one}`, `::FFFF:${one}`, `::ffff:${hex}`, `0:0:0:0:0:ffff:${one}`, `64:ff9b::${hex}`];
      for (const spelling of [...clothed, `::ffff:0:${hex}`, `${one}:4711`, `[::ffff:${one}]:4711`]) {
        expect(clientKeyOf(from(spelling)), spelling).toBe(one);
      }
      expect(clientKeyOf(from(one)) === clientKeyOf(from(other))).toBe(one === other);
    }),
  );
});

test.each([
  ['[2001:db8::7]:4711', '2001:db8::7'],
  ['[2001:DB8::7]', '2001:db8::7'],
  ['fe80::1%eth0', 'fe80::1'],
  ['203.0.113.7:65535', '203.0.113.7'],
])('%s is read as %s: ports and zones added by proxies are removed', (text, address) => {
  expect(from(text)).toBe(address);
});

test.each([
  ...[
    '',
    'unknown',
    '_hidden',
    '127.1',
    '0x7f.0.0.1',
    '010.0.0.1',
    '256.1.1.1',
    '1.2.3.4.5',
    ':::',
    '1:2:3',
    '[]',
    '[[::1]]',
  ],
  ...['::1::', '12345::', '1.2.3.4:x', `${'1:'.repeat(9)}1`, '\u0000', '１.2.3.4'],
])('%j is not an address, so the proxy that wrote it counts as the client', (text) => {
  expect(from(text, '::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(from(text)).toBe('');
  expect(clientKeyOf('')).toBe('');
});

test.each([
  ['::1.2.3.4', '::102:304'],
  ['2001:db8::255.254.253.252', '2001:db8::fffe:fdfc'],
  ['2001:db8::0.0.0.1', '2001:db8::1'],
])('%s with a dotted end is read as %s', (text, address) => {
  expect(from(text)).toBe(address);
});

test('the key of an IPv6 client is its /64 in hexadecimal', () => {
  expect(clientKeyOf('2001:db8:abcd:ff00:1::1')).toBe('2001:db8:abcd:ff00::/64');
});

test('a text too long for an address is not an address, whatever it contains', () => {
  for (const text of ['x', '1', ':', '1:', '1.', '[', '%']) expect(from(text.repeat(60_000))).toBe('');
});

test('no text throws', () => {
  const almost = fc.stringMatching(/^[0-9a-fA-F:.%[\]]{0,50}$/);
  fc.assert(
    fc.property(fc.oneof(almost, fc.string(), fc.ipV6()), (text) => {
      clientKeyOf(from(text));
    }),
    { numRuns: 2000 },
  );
});
