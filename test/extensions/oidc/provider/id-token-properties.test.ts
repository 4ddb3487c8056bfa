import fc from 'fast-check';
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import {
  CLOCK_TOLERANCE_SECONDS,
  IdTokenError,
  verifyIdToken,
} from '../../../../src/extensions/oidc/provider/id-token.ts';

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const getKey = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] });
const ISSUER = 'https://id.example.com';
const AUDIENCES = ['web', 'ios'];
const NONCES = ['nonce-1', 'nonce-2'];
const expected = { issuer: ISSUER, audiences: AUDIENCES, nonces: NONCES };

const sign = (claims: object) =>
  new SignJWT(JSON.parse(JSON.stringify(claims))).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(privateKey);
const seconds = () => Math.floor(Date.now() / 1000);

/** Whether a token is accepted. Errors other than refusals fail the test. */
async function isAccepted(token: string): Promise<boolean> {
  try {
    await verifyIdToken(token, expected, getKey);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(IdTokenError);
    return false;
  }
}

/** The rules, written independently of the code under test. Offsets are seconds from now. */
function shouldAccept({ iss, aud, azp, sub, nonce, exp, iat, nbf }: Claims): boolean {
  const audiences = Array.isArray(aud) ? aud : [aud];
  return (
    iss === ISSUER &&
    audiences.some((each) => AUDIENCES.includes(each as string)) &&
    (azp === undefined ? audiences.length === 1 : AUDIENCES.includes(azp)) &&
    typeof sub === 'string' &&
    sub !== '' &&
    NONCES.includes(nonce as string) &&
    exp !== undefined &&
    exp > -CLOCK_TOLERANCE_SECONDS &&
    iat !== undefined &&
    iat <= CLOCK_TOLERANCE_SECONDS &&
    (nbf === undefined || nbf <= CLOCK_TOLERANCE_SECONDS)
  );
}

interface Claims {
  iss: string | undefined;
  aud: string | string[] | undefined;
  azp: string | undefined;
  sub: string | number | undefined;
  nonce: string | undefined;
  exp: number | undefined;
  iat: number | undefined;
  nbf: number | undefined;
}

// A second or two pass during a check, so leave out offsets next to the limits.
const offset = (around: number) =>
  fc.oneof(fc.integer({ min: -4000, max: around - 5 }), fc.integer({ min: around + 5, max: 4000 }));
const mostly = <T>(usual: T, other: fc.Arbitrary<T | undefined>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant<T | undefined>(usual) }, { weight: 1, arbitrary: other });
const clientId = fc.constantFrom('web', 'ios', 'evil', '');
const claims: fc.Arbitrary<Claims> = fc.record({
  iss: mostly(ISSUER, fc.constantFrom('https://evil.example', `${ISSUER}/`, ISSUER.toUpperCase(), undefined)),
  aud: mostly<string | string[]>(
    'web',
    fc.oneof(clientId, fc.array(clientId, { maxLength: 3 }), fc.constant(undefined)),
  ),
  azp: mostly<string | undefined>(undefined, clientId),
  sub: mostly<string | number>('user', fc.constantFrom('', 7, undefined)),
  nonce: mostly('nonce-1', fc.constantFrom('nonce-2', 'nonce-3', '', undefined)),
  exp: mostly(300, fc.oneof(offset(-CLOCK_TOLERANCE_SECONDS), fc.constant(undefined))),
  iat: mostly(0, fc.oneof(offset(CLOCK_TOLERANCE_SECONDS), fc.constant(undefined))),
  nbf: mostly<number | undefined>(undefined, offset(CLOCK_TOLERANCE_SECONDS)),
});

test('a token is accepted exactly if all of its claims follow the rules', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(claims, async (given) => {
      const now = seconds();
      const at = (time: number | undefined) => (time === undefined ? undefined : now + time);
      const token = await sign({ ...given, exp: at(given.exp), iat: at(given.iat), nbf: at(given.nbf) });
      const isExpected = shouldAccept(given);
      if (isExpected) accepted += 1;
      expect(await isAccepted(token)).toBe(isExpected);
    }),
    { numRuns: 600 },
  );
  expect(accepted).toBeGreaterThan(30);
});

test('a token with any changed character is refused', async () => {
  const now = seconds();
  const token = await sign({ iss: ISSUER, aud: 'web', sub: 'user', nonce: 'nonce-1', iat: now, exp: now + 300 });
  expect(await isAccepted(token)).toBe(true);
  const position = fc.integer({ min: 0, max: token.length - 1 });
  const character = fc.constantFrom(...'ABCxyz019-_.=+/ ');
  await fc.assert(
    fc.asyncProperty(position, character, async (at, replacement) => {
      const changed = token.slice(0, at) + replacement + token.slice(at + 1);
      // The last character of a part has unused bits, so another text may stand for the same bytes.
      const decode = (text: string) =>
        text
          .split('.')
          .map((part) => Buffer.from(part, 'base64url').toString('hex'))
          .join();
      fc.pre(decode(changed) !== decode(token));
      expect(await isAccepted(changed)).toBe(false);
    }),
    { numRuns: 300 },
  );
});

test('any text is refused without another error', async () => {
  const part = fc.oneof(
    fc.string(),
    fc.json().map((json) => Buffer.from(json).toString('base64url')),
    fc.constant(Buffer.from('{"alg":"none"}').toString('base64url')),
    fc.constant(Buffer.from('{"alg":"ES256","kid":"one"}').toString('base64url')),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 6 }), async (parts) => {
      expect(await isAccepted(parts.join('.'))).toBe(false);
    }),
    { numRuns: 300 },
  );
});
