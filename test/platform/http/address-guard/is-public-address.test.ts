import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPublicAddress } from '../../../../src/platform/http/address-guard/index.ts';
import table from '../../../data/addresses.json' with { type: 'json' };
import { anyCharacter } from '../../../support/any-text.ts';

// IANA's special-purpose registry and the multicast block, written independently of the implementation.
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

const toNumber = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const toAddress = (number: number) => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join('.');

test.each(table.addresses)('$address: $public', ({ address, public: expected }) => {
  expect(isPublicAddress(address)).toBe(expected);
});

describe('IPv4', () => {
  test.each(SPECIAL_IPV4)(
    '%s is not public from its first to its last address, and both neighbours are public',
    (block) => {
      const [base = '', bits] = block.split('/');
      const first = toNumber(base);
      const last = first + 2 ** (32 - Number(bits)) - 1;
      expect(isPublicAddress(toAddress(first))).toBe(false);
      expect(isPublicAddress(toAddress(last))).toBe(false);
      const neighbours = [first - 1, last + 1].filter((number) => number >= 0 && number < 2 ** 32).map(toAddress);
      for (const neighbour of neighbours) expect(isPublicAddress(neighbour), neighbour).toBe(true);
    },
  );

  test('every address agrees with the registry', () => {
    const special = new BlockList();
    for (const block of SPECIAL_IPV4) special.addSubnet(block.split('/')[0]!, Number(block.split('/')[1]));
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(address)).toBe(!special.check(address));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('IPv6', () => {
  test('wrapping an IPv4 address in IPv6 does not make it public', () => {
    fc.assert(
      fc.property(
        fc.ipV4(),
        fc.constantFrom(
          ...['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::'],
          ...['2a00::5efe:', '2a00::200:5efe:', '2606:4700:1:2:0:5efe:', 'fe80::5efe:'],
        ),
        (ipv4, prefix) => {
          expect(isPublicAddress(prefix + ipv4)).toBe(false);
        },
      ),
    );
  });

  test('no address outside 2000::/3 is public', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        fc.pre(!/^[23][0-9a-f]{3}:/i.test(address));
        expect(isPublicAddress(address)).toBe(false);
      }),
    );
  });

  test.each([
    ['2001:1ff:ffff::1', false],
    ['2001:200::1', true],
    ['2001:db7:ffff::1', true],
    ['2001:db9::1', true],
    ['2003::1', true],
    ['3fff:fff:ffff::1', false],
    ['3fff:1000::1', true],
    ['2620:4f:7fff::1', true],
    ['2620:4f:8001::1', true],
    ['1fff::1', false],
    ['4000::1', false],
    ['2a00::5efe:127.0.0.1', false],
    ['2a00::200:5efe:10.0.0.1', false],
    ['2a00::200:5efe:a00:1', false],
    ['2a00:1:2:3:200:5efe:808:808', false],
    ['2a00::201:5efe:10.0.0.1', true],
    ['2a00::5eff:10.0.0.1', true],
    ['2a00:0:0:5efe::a00:1', true],
    ['2a00::5efe:1', true],
  ])('%s: %s', (address, expected) => {
    expect(isPublicAddress(address)).toBe(expected);
  });
});

test.each([
  '',
  'example.com',
  '8.8',
  '0x08080808',
  '134744072',
  '8.8.8.8 ',
  '08.8.8.8',
  '2606:4700::1%eth0',
  '[2606:4700::1]',
])('%j is not an address in canonical form', (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

test('any text yields a verdict', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      if (!isIPv4(text) && !text.includes(':')) expect(isPublicAddress(text)).toBe(false);
    }),
  );
});
