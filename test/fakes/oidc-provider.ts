import { createHash, createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll } from 'vitest';

/** How a token is signed: correctly, or in a way that a client must refuse. */
export type Signing = 'own key' | 'foreign key' | 'broken' | 'none' | 'HS256 with public key' | 'HS256 with secret';

/** What the fake does with the next sign-ins. Everything that is not set is correct. */
export interface Behavior {
  /** Replace claims of the ID token; undefined removes one. */
  claims?: Record<string, unknown>;
  /** Replace parameters of the header; undefined removes one. */
  header?: Record<string, unknown>;
  signing?: Signing;
  /** Replace fields of the response of the token endpoint; undefined removes one. */
  tokenResponse?: Record<string, unknown>;
  /** Replace the response of UserInfo; undefined removes a claim. */
  userInfo?: Record<string, unknown>;
  /** Replace parameters of the callback; undefined removes one. */
  callback?: Record<string, string | undefined>;
  /** Replace fields of the metadata. */
  metadata?: Record<string, unknown>;
  /** Replace the published keys. */
  jwks?: (keys: JWK[]) => JWK[];
  /** Answers a path instead of the fake. Returns false to let the fake answer. */
  intercept?: (path: string, req: IncomingMessage, res: ServerResponse) => boolean;
}

interface Key {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
}

/** An authorization request that the fake has answered. */
interface Grant {
  clientId: string;
  redirectUri: string;
  challenge: string;
  nonce: string | null;
}

async function createKey(alg: string): Promise<Key> {
  return { kid: randomUUID(), alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

const publicJwk = async ({ kid, alg, publicKey }: Key): Promise<JWK> => ({
  ...(await exportJWK(publicKey)),
  kid,
  alg,
  use: 'sig',
});

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** An OpenID provider that speaks the real protocol over a real socket, and breaks its rules on request. */
export interface FakeProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Describes the account that signs in, and breaks rules. */
  behave(behavior: Behavior): void;
  /** The requests so far: `GET /jwks`. */
  requests: string[];
  /** The parameters of the last request to the token endpoint. */
  lastTokenRequest(): URLSearchParams;
  /** Replaces the keys by a new one. */
  rotate(): Promise<void>;
  /** Signs an ID token with the given claims, by the current behaviour. */
  mint(claims: Record<string, unknown>): Promise<string>;
  /** Stops or starts answering. */
  setDown(isDown: boolean): void;
}

/** Starts a provider that runs until the end of the test file. */
export async function startFakeProvider({ alg = 'RS256' } = {}): Promise<FakeProvider> {
  const [clientId, clientSecret] = ['fake-client', 'fake-secret-that-is-long-enough-for-hmac'];
  const grants = new Map<string, Grant>();
  const foreign = await createKey(alg);
  let keys = [await createKey(alg)];
  let behavior: Behavior = {};
  let isDown = false;
  let lastSubject: unknown;
  let lastTokenRequest = new URLSearchParams();
  const requests: string[] = [];
  const server = createServer((req, res) => {
    handle(req, res).catch((error: Error) => res.writeHead(500).end(error.message));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  async function mint(claims: Record<string, unknown>): Promise<string> {
    const now = nowSeconds();
    const payload: Record<string, unknown> = {
      iss: issuer,
      aud: clientId,
      iat: now,
      exp: now + 300,
      ...claims,
      ...behavior.claims,
    };
    lastSubject = payload.sub;
    const key = keys[0]!;
    const header = { alg: key.alg, kid: key.kid, ...behavior.header };
    const signing = behavior.signing ?? 'own key';
    if (signing === 'none') return `${encode({ ...header, alg: 'none' })}.${encode(payload)}.`;
    if (signing.startsWith('HS256')) {
      const secret = signing === 'HS256 with secret' ? clientSecret : await exportSPKI(key.publicKey);
      const input = `${encode({ ...header, alg: 'HS256' })}.${encode(payload)}`;
      return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
    }
    // Re-encode, so that undefined values are left out.
    const token = new SignJWT(JSON.parse(JSON.stringify(payload))).setProtectedHeader(
      JSON.parse(JSON.stringify(header)),
    );
    const signed = await token.sign((signing === 'foreign key' ? foreign : key).privateKey, { crit: { exp2: true } });
    if (signing !== 'broken') return signed;
    const [head, body, signature] = signed.split('.') as [string, string, string];
    return `${head}.${body}.${signature.slice(1)}${signature[0] === 'A' ? 'B' : 'A'}`;
  }

  const sendJson = (res: ServerResponse, value: unknown, status = 200) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

  function authorize(url: URL, res: ServerResponse): void {
    const request = url.searchParams;
    const code = randomUUID();
    grants.set(code, {
      clientId: request.get('client_id')!,
      redirectUri: request.get('redirect_uri')!,
      challenge: request.get('code_challenge')!,
      nonce: request.get('nonce'),
    });
    const parameters = { code, state: request.get('state')!, iss: issuer, ...behavior.callback };
    const callback = new URL(request.get('redirect_uri')!);
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) callback.searchParams.set(name, value);
    res.writeHead(303, { location: callback.href }).end();
  }

  async function redeem(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(req));
    lastTokenRequest = form;
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (
      grant === undefined ||
      grant.challenge !== challenge ||
      grant.redirectUri !== form.get('redirect_uri') ||
      grant.clientId !== form.get('client_id') ||
      (form.get('client_secret') !== clientSecret && !form.get('client_secret')?.includes('.'))
    )
      return void sendJson(res, { error: 'invalid_grant' }, 400);
    const idToken = await mint({ sub: 'subject-1', nonce: grant.nonce ?? undefined });
    const base = { access_token: 'access-1', token_type: 'Bearer', expires_in: 3600, id_token: idToken };
    sendJson(res, { ...base, ...behavior.tokenResponse });
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url!, issuer);
    const path = `${req.method} ${url.pathname}`;
    requests.push(path);
    if (isDown) return void req.socket.destroy();
    if (behavior.intercept?.(path, req, res)) return;
    switch (path) {
      case 'GET /.well-known/openid-configuration':
        return void sendJson(res, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
          authorization_response_iss_parameter_supported: true,
          ...behavior.metadata,
        });
      case 'GET /jwks': {
        const published = await Promise.all(keys.map(publicJwk));
        return void sendJson(res, { keys: behavior.jwks?.(published) ?? published });
      }
      case 'GET /authorize':
        return authorize(url, res);
      case 'POST /token':
        return redeem(req, res);
      case 'GET /userinfo':
        return void sendJson(res, { sub: lastSubject, ...behavior.userInfo });
      default:
        res.writeHead(404).end();
    }
  }

  return {
    issuer,
    clientId,
    clientSecret,
    requests,
    mint,
    behave: (next) => {
      behavior = next;
    },
    lastTokenRequest: () => lastTokenRequest,
    async rotate() {
      keys = [await createKey(alg)];
    },
    setDown: (next) => {
      isDown = next;
    },
  };
}
