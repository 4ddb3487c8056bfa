import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { request } from 'undici';
import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { withClient, withOwnDatabase } from '../../setup/database.ts';
import { getUserEmail, getUserId, PASSWORD, seedDatabase, USERS } from '../../setup/seed.ts';

/** Sign-ins in flight. A password needs a whole core for a tenth of a second, the others share the cores. */
const CONCURRENCY = 4;
/** Sign-ins by link that one repetition may use; each needs a link of its own. */
const LINKS = 20_000;

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const base64url = (bytes: Buffer) => bytes.toString('base64url');

type Json = Record<string, unknown>;
type Provider = Awaited<ReturnType<typeof startProvider>>;

interface Passkey {
  id: string;
  publicKey: KeyObject;
  privateKey: KeyObject;
}

async function post(url: string, path: string, body: object): Promise<Json> {
  const { statusCode, body: response } = await request(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { data, error } = (await response.json()) as { data: Json; error?: object };
  if (statusCode >= 300) throw new Error(`POST ${path} returned ${statusCode} ${JSON.stringify(error)}`);
  return data;
}

/** Runs sign-ins in parallel for some seconds. Returns the number per second. */
async function measurePerSecond(signIn: (user: number) => Promise<unknown>, seconds: number): Promise<number> {
  const startedAt = performance.now();
  let [started, done] = [0, 0];
  const runOneAfterTheOther = async () => {
    while (performance.now() - startedAt < seconds * 1000) {
      await signIn(started++ % USERS);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runOneAfterTheOther));
  return done / ((performance.now() - startedAt) / 1000);
}

/** Starts an identity provider that serves its keys, and returns a function that issues ID tokens. */
async function startProvider() {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const key = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'RS256', use: 'sig' };
  const server = createServer((req, res) => {
    const isDiscovery = req.url === '/.well-known/openid-configuration';
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(isDiscovery ? metadata : { keys: [key] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = {
    issuer,
    jwks_uri: `${issuer}/jwks`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
  const issueIdToken = (user: number, nonce: string) =>
    new SignJWT({ nonce, email: getUserEmail(user), email_verified: true })
      .setProtectedHeader({ alg: 'RS256', kid: 'bench' })
      .setIssuer(issuer)
      .setAudience('bench')
      .setSubject(`subject-${user}`)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);
  return { issuer, issueIdToken, stop: () => server.close() };
}

/** Returns a P-256 public key in the form of COSE (RFC 9053). */
function toCoseKey(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' });
  const coordinate = (label: number, value: string) =>
    Buffer.concat([Buffer.from([label, 0x58, 32]), Buffer.from(value, 'base64url')]);
  return Buffer.concat([Buffer.from('a5010203262001', 'hex'), coordinate(0x21, x!), coordinate(0x22, y!)]);
}

const RP_ID = 'localhost';
const ORIGIN = 'http://localhost:5001';

/** Creates the response of an authenticator to the options of a sign-in, with a verified user (WebAuthn Level 3, section 6.3.3). */
function createAssertion(user: number, credentialId: string, privateKey: KeyObject, challenge: string): object {
  const clientData = Buffer.from(
    JSON.stringify({ type: 'webauthn.get', challenge, origin: ORIGIN, crossOrigin: false }),
  );
  const flags = 0x1d; // The user is present and verified; the passkey can be and is backed up.
  const authenticatorData = Buffer.concat([Buffer.from(sha256(RP_ID), 'hex'), Buffer.from([flags, 0, 0, 0, 0])]);
  const signed = Buffer.concat([authenticatorData, Buffer.from(sha256(clientData), 'hex')]);
  return {
    id: credentialId,
    rawId: credentialId,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      authenticatorData: base64url(authenticatorData),
      clientDataJSON: base64url(clientData),
      signature: base64url(sign('sha256', signed, privateKey)),
      userHandle: base64url(Buffer.from(getUserId(user))),
    },
  };
}

/** Verifies the users' addresses, and gives each user a passkey. */
async function prepareUsers(bench: Bench, passkeys: readonly Passkey[]): Promise<void> {
  await withClient(bench.servers.databaseUrl, async (client) => {
    await client.query('update users set email_verified_at = now()');
    await client.query('truncate passkeys, user_identities');
    for (const [user, { id, publicKey }] of passkeys.entries())
      await client.query(
        `insert into passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up, transports, name)
         values ($1, $2, $3, $4, 0, 'multiDevice', true, '{internal}', 'Bench')`,
        [randomBytes(12).toString('hex'), getUserId(user), id, base64url(toCoseKey(publicKey))],
      );
  });
}

/**
 * Inserts links that have been sent and not used, each to a user of its own, because a sign-in ends the other links of its user. The token
 * and the client's secret of link `n` are `token-n` and `client-n`.
 */
export async function insertLinks(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('truncate email_proofs');
    await client.query(
      `insert into users (id, name, email, password, roles, status, email_verified_at, created_at, updated_at)
       select 'd' || lpad(to_hex(n), 23, '0'), 'Link', 'link' || n || '@example.com', '!', '{user}', 'active', now(), now(), now()
       from generate_series(0, $1::int - 1) n on conflict do nothing`,
      [LINKS],
    );
    await client.query(
      `insert into email_proofs (id, purpose, email, token_hash, client_hash, expires_at)
       select lpad(to_hex(n), 24, '0'), 'sign-in', 'link' || n || '@example.com',
         encode(sha256(('token-' || n)::bytea), 'hex'), encode(sha256(('client-' || n)::bytea), 'hex'), now() + interval '1 hour'
       from generate_series(0, $1::int - 1) n`,
      [LINKS],
    );
    await client.query('analyze users, email_proofs');
  });
}

/** Returns a function for each way to sign in, which signs a user in. */
function createWays(url: string, provider: Provider, passkeys: readonly Passkey[]) {
  let link = 0;
  return {
    password: (user: number) => post(url, '/api/auth/login', { email: getUserEmail(user), password: PASSWORD }),
    /** Signs the owner of the next link in. */
    link: () => {
      const number = link++;
      const body = { token: `token-${number}`, signInToken: `client-${number}` };
      return post(url, '/api/auth/email-sign-in/verify', body);
    },
    restartLinks: () => {
      link = 0;
    },
    async oidc(user: number) {
      const { nonce } = await post(url, '/api/auth/oidc/bench/nonce', {});
      const idToken = await provider.issueIdToken(user, nonce as string);
      return post(url, '/api/auth/oidc/bench/token', { idToken, nonce });
    },
    async passkey(user: number) {
      const { challengeId, options } = await post(url, '/api/auth/passkeys/sign-in/options', {});
      const { id, privateKey } = passkeys[user]!;
      const response = createAssertion(user, id, privateKey, (options as { challenge: string }).challenge);
      return post(url, '/api/auth/passkeys/sign-in', { challengeId, response });
    },
  };
}

async function measureWays(bench: Bench): Promise<Figure[]> {
  const provider = await startProvider();
  const environment = { BENCH_SIGN_IN_ISSUER: provider.issuer };
  await seedDatabase(bench.servers, environment);
  const passkeys = Array.from({ length: USERS }, () => ({
    id: base64url(randomBytes(16)),
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  }));
  await prepareUsers(bench, passkeys);
  const { url, stop } = await startBelfry(bench, 'web', environment);
  const { password, link, restartLinks, oidc, passkey } = createWays(url, provider, passkeys);
  // Loads the libraries, and links the identities.
  for (let user = 0; user < USERS; user++) await Promise.all([oidc(user), passkey(user)]);
  const results = await runInterleaved(
    {
      password: () => measurePerSecond(password, bench.seconds),
      async link() {
        restartLinks();
        await insertLinks(bench.servers.databaseUrl);
        return measurePerSecond(link, Math.min(bench.seconds, 4));
      },
      oidc: () => measurePerSecond(oidc, bench.seconds),
      passkey: () => measurePerSecond(passkey, bench.seconds),
    },
    bench.reps,
  );
  await stop();
  provider.stop();
  return (['link', 'oidc', 'passkey'] as const).map((way) =>
    createRatio(`accounts.sign-ins.${way}`, results[way], results.password),
  );
}

/** Compares sign-ins by link, identity provider and passkey with those by password. */
export const signIns: Group = {
  name: 'accounts',
  async run(bench) {
    if (!bench.isRequested('accounts.sign-ins')) return [];
    bench.logProgress('accounts.sign-ins …');
    return withOwnDatabase(bench, 'sign_ins', measureWays);
  },
};
