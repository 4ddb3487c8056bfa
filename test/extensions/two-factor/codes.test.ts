import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Secret, TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';
import { detectCodeMethod, lockDurationMs } from '../../../src/extensions/two-factor/attempt.ts';
import {
  createOtpauthUrl,
  findTimeStep,
  generateRecoveryCodes,
  generateSecret,
  hashRecoveryCode,
  renderQrCode,
} from '../../../src/extensions/two-factor/codes.ts';

const wasm = new URL(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm'));
prepareZXingModule({ overrides: { wasmBinary: readFileSync(wasm).buffer as ArrayBuffer } });

// RFC 6238, appendix B: the secret is the ASCII text, and the codes are the last 6 of the 8 digits there.
const RFC_SECRET = new Secret({ buffer: new TextEncoder().encode('12345678901234567890').buffer }).base32;
test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at %i seconds the code of RFC 6238 is accepted, for its own step', (seconds, code) => {
  expect(findTimeStep(RFC_SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30));
  expect(findTimeStep(RFC_SECRET, ` ${code.slice(0, 3)} ${code.slice(3)}\n`, seconds * 1000)).toBe(
    Math.floor(seconds / 30),
  );
});

test.each([
  [-2, false],
  [-1, true],
  [0, true],
  [1, true],
  [2, false],
])('a code %i steps from now is accepted: %j', (steps, taken) => {
  const now = 1_800_000_000_000;
  const code = new TOTP({ secret: RFC_SECRET }).generate({ timestamp: now + steps * 30_000 });
  expect(findTimeStep(RFC_SECRET, code, now)).toBe(taken ? now / 30_000 + steps : undefined);
});

test.each(['', '28708', '2870820', '２８７０８２', '28708a', '-28708', '287082.0', '0x4616a', '\0'])(
  'malformed input is not a code: %j',
  (code) => {
    expect(findTimeStep(RFC_SECRET, code, 59_000)).toBe(undefined);
  },
);

test('a secret has 160 random bits, and its URL contains everything an app needs for any issuer and label', () => {
  const secret = generateSecret();
  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  expect(generateSecret()).not.toBe(secret);
  const url = new URL(createOtpauthUrl(secret, 'Acmé: & Co', 'ann+x@example.com'));
  expect([url.protocol, url.host, decodeURIComponent(url.pathname)]).toEqual([
    'otpauth:',
    'totp',
    '/Acmé & Co:ann+x@example.com',
  ]);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    issuer: 'Acmé & Co',
    secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});

test.each(['localhost:5001', 'A : B', '\ud800x', 'a/b?c#d%'])(
  'the issuer %j is one text without colons, because apps split it from the account at the first one',
  (issuer) => {
    const url = new URL(createOtpauthUrl(generateSecret(), issuer, 'a:b@example.com'));
    expect(decodeURIComponent(url.pathname).split(':')).toEqual([
      `/${url.searchParams.get('issuer')}`,
      'a b@example.com',
    ]);
  },
);

test.each(['a@b.co', `${'long.'.repeat(60)}@example.com`, 'ünï@example.com'])(
  'the QR code is a PNG that contains the URL of %s',
  async (email) => {
    const url = createOtpauthUrl(generateSecret(), 'x'.repeat(64), email);
    const [head, data] = renderQrCode(url).split(',');
    expect(head).toBe('data:image/png;base64');
    const read = await readBarcodes(Buffer.from(data!, 'base64'), { formats: ['QRCode'] });
    expect(read.map(({ text }) => text)).toEqual([url]);
  },
);

test('the QR code has an opaque background, so that it is readable on a dark page', () => {
  const png = Buffer.from(renderQrCode('x').split(',')[1]!, 'base64');
  // In a PNG with a palette, tRNS lists the transparent colours.
  const at = png.indexOf('tRNS');
  if (at !== -1)
    expect([...png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4))].every((one) => one === 255)).toBe(true);
});

test('recovery codes have 80 random bits, are all different, and are recognized however they are typed', () => {
  const codes = generateRecoveryCodes(500);
  expect(new Set(codes).size).toBe(500);
  for (const code of codes) {
    expect(code).toMatch(/^([2-9a-hj-np-z]{4}-){3}[2-9a-hj-np-z]{4}$/);
    expect(detectCodeMethod(code)).toBe('recovery');
  }
  const [code] = codes as [string];
  const hash = hashRecoveryCode('u', code);
  for (const typed of [code.toUpperCase(), code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')} `]) {
    expect(hashRecoveryCode('u', typed)).toBe(hash);
  }
  expect(hashRecoveryCode('v', code)).not.toBe(hash);
});

test.each([
  [1, 0],
  [4, 0],
  [5, 15],
  [6, 0],
  [10, 30],
  [15, 60],
  [35, 960],
  [40, 1440],
  [400, 1440],
])('wrong code number %i in a row locks for %i minutes', (failures, minutes) => {
  expect(lockDurationMs(failures, { maxAttempts: 5, lockMinutes: 15 })).toBe(minutes * 60_000);
});

test('an attacker who keeps guessing gets at most 2000 guesses a year', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 15, max: 1440 }), (maxAttempts, lockMinutes) => {
      const year = 365 * 86_400_000;
      let guesses = 0;
      for (let at = 0; at < year; guesses++) at += lockDurationMs(guesses + 1, { maxAttempts, lockMinutes });
      expect(guesses).toBeLessThan(2000);
    }),
  );
});
