import { scryptSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPasswordHasher } from '../../../src/accounts/passwords/password-hash.ts';
import { anyCharacter } from '../../support/any-text.ts';

const CHEAP = { logN: 4, r: 8, p: 1 };
const cheap = createPasswordHasher(CHEAP);

test('only the right password verifies against a hash', async () => {
  const withoutNul = fc.string({ unit: anyCharacter }).filter((text) => !text.includes('\0'));
  await fc.assert(
    fc.asyncProperty(withoutNul, fc.string({ unit: anyCharacter }), async (password, other) => {
      fc.pre(password.normalize('NFC') !== other.normalize('NFC'));
      const stored = await cheap.hash(password);
      expect(await cheap.verify(password, stored)).toBe(true);
      expect(await cheap.verify(other, stored)).toBe(false);
    }),
  );
});

test('a password with NUL never verifies', async () => {
  await expect(cheap.hash('secret\0')).rejects.toThrow(RangeError);
  const stored = await cheap.hash('secret');
  expect(await cheap.verify('secret\0', stored)).toBe(false);
  expect(await cheap.verify('', await cheap.hash(''))).toBe(true);
  expect(await cheap.verify('\0', await cheap.hash(''))).toBe(false);
});

test('the cost of the contract produces a PHC string that plain scrypt reproduces', async () => {
  const hasher = createPasswordHasher({ logN: 15, r: 8, p: 3 });
  const stored = await hasher.hash('correct horse');
  expect(stored).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  const [, , , salt, hash] = stored.split('$');
  const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 27 };
  const expected = scryptSync('correct horse', Buffer.from(salt!, 'base64'), 32, cost);
  expect(Buffer.from(hash!, 'base64')).toEqual(expected);
  expect(await hasher.verify('correct horse', stored)).toBe(true);
});

test('a hash with another cost, salt and length verifies', async () => {
  const made = scryptSync('password', 'sodium chloride', 64, { N: 1024, r: 8, p: 16 });
  const [salt, hash] = [Buffer.from('sodium chloride'), made].map((bytes) =>
    bytes.toString('base64').replace(/=+$/, ''),
  );
  expect(await cheap.verify('password', `$scrypt$ln=10,r=8,p=16$${salt}$${hash}`)).toBe(true);
  expect(await cheap.verify('passwore', `$scrypt$ln=10,r=8,p=16$${salt}$${hash}`)).toBe(false);
});

test('two Unicode forms of one password are the same password', async () => {
  expect(await cheap.verify('cafe\u0301 noir', await cheap.hash('caf\u00e9 noir'))).toBe(true);
});

test('two hashes of one password differ', async () => {
  expect(await cheap.hash('same')).not.toBe(await cheap.hash('same'));
});

describe('malformed or absurd stored hashes', () => {
  test.each([
    '',
    'plain',
    '$scrypt$',
    '$scrypt$ln=4,r=8,p=1$$',
    '$2b$10$abcdefghijklmnopqrstuv',
    '$scrypt$ln=31,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=15,r=999,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=15,r=8,p=99$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=0,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=4,r=0,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=4,r=8,p=0$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AA',
    '$scrypt$ln=4,r=8,p=1$A$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n',
  ])('%j verifies as false and requires a rehash', async (stored) => {
    expect(await cheap.verify('password', stored)).toBe(false);
  });

  test('any other text verifies as false', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter }), async (stored) => {
        expect(await cheap.verify('password', stored)).toBe(false);
        expect(cheap.needsRehash(stored)).toBe(true);
      }),
    );
  });

  test('verifying them takes as much time as a wrong password, like unknown accounts and hashes of a lower cost', async () => {
    const hasher = createPasswordHasher({ logN: 14, r: 8, p: 1 });
    const stored = await hasher.hash('right');
    const former = await createPasswordHasher({ logN: 10, r: 8, p: 1 }).hash('right');
    const acts = {
      wrong: () => hasher.verify('wrong', stored),
      malformed: () => hasher.verify('wrong', 'malformed'),
      unknown: () => hasher.verifyAgainstNothing('wrong'),
      'from before the cost rose': () => hasher.verify('wrong', former),
    };
    const times: Record<string, number[]> = Object.fromEntries(Object.keys(acts).map((name) => [name, []]));
    const quickest = () => Object.values(times).map((list) => Math.min(...list));
    const areAlike = () => Math.max(...quickest()) < 3 * Math.min(...quickest());
    // The quickest runs show the work of each case. A busy machine slows single runs, so it gets more of them.
    for (let run = 0; run < 7 || (run < 100 && !areAlike()); run++) {
      for (const [name, act] of Object.entries(acts)) {
        const start = performance.now();
        await act();
        times[name]!.push(performance.now() - start);
      }
    }
    expect(areAlike(), JSON.stringify(quickest())).toBe(true);
  });
});

test('an unknown account never verifies', async () => {
  expect(await cheap.verifyAgainstNothing('anything')).toBe(false);
});

describe('rehash', () => {
  test.each([
    [{ logN: 5, r: 8, p: 1 }, true],
    [{ logN: 4, r: 9, p: 1 }, true],
    [{ logN: 4, r: 8, p: 2 }, true],
    [{ logN: 4, r: 8, p: 1 }, false],
    [{ logN: 3, r: 8, p: 1 }, false],
  ])('from ln=4,r=8,p=1 to %j: %s', async (cost, expected) => {
    const hasher = createPasswordHasher(cost);
    const stored = await cheap.hash('password');
    expect(hasher.needsRehash(stored)).toBe(expected);
    expect(await hasher.verify('password', stored)).toBe(true);
  });
});

test.each([
  { logN: 0, r: 8, p: 1 },
  { logN: 15.5, r: 8, p: 1 },
  { logN: 25, r: 8, p: 1 },
  { logN: 15, r: 8, p: 17 },
  { logN: Number.NaN, r: 8, p: 1 },
])('the cost %j is refused when the hasher is created', (cost) => {
  expect(() => createPasswordHasher(cost)).toThrow(RangeError);
});

test('every verification in a burst completes', async () => {
  const stored = await cheap.hash('right');
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => cheap.verify(index % 2 === 0 ? 'right' : 'wrong', stored)),
  );
  expect(responses).toEqual(Array.from({ length: 50 }, (_, index) => index % 2 === 0));
});

const secret = 'correct horse battery';

test('without a verifier, a foreign hash matches no password', async () => {
  const foreign = 'md5$5ebe2294ecd0e0f08eab7690d2a6ee69';
  expect(await cheap.verify(secret, foreign)).toBe(false);
  expect(cheap.needsRehash(foreign)).toBe(true);
});

test('a verifier that hangs counts as a wrong password after ten seconds and does not block other sign-ins', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const failures: unknown[] = [];
  let startedChecks = 0;
  const verify = () => {
    startedChecks += 1;
    return new Promise<boolean>(() => undefined);
  };
  const failed = (error: unknown) => void failures.push(error);
  const hasher = createPasswordHasher(CHEAP, { legacy: { verify, failed } });
  const own = await hasher.hash(secret);
  const hanging = Promise.all([hasher.verify(secret, 'a'), hasher.verify(secret, 'b')]);
  await vi.waitUntil(() => startedChecks === 2, { timeout: 60_000, interval: 20 });
  const other = createPasswordHasher(CHEAP);
  const next = hasher.hash(secret);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await hanging).toEqual([false, false]);
  expect(failures).toEqual([expect.any(Error), expect.any(Error)]);
  expect(await other.verify(secret, await next)).toBe(true);
  expect(await other.verify(secret, own)).toBe(true);
});

test('any verifier result other than true is a wrong password', async () => {
  const legacy = { verify: () => 'yes' as unknown as boolean, failed: () => undefined };
  const hasher = createPasswordHasher(CHEAP, { legacy });
  expect(await hasher.verify(secret, 'anything')).toBe(false);
});

test('a password with NUL is wrong even if the verifier accepts it', async () => {
  const hasher = createPasswordHasher(CHEAP, { legacy: { verify: () => true, failed: () => undefined } });
  expect(await hasher.verify('a\0b', 'anything')).toBe(false);
  expect(await hasher.verify('ab', 'anything')).toBe(true);
});
