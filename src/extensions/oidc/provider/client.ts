import type { RemoteJWKSet } from 'jose';
import type * as OpenidClient from 'openid-client';
import { ApiError } from '../../../extension/index.ts';
import { readOwnName } from './claims.ts';
import { createProviderFetch, isProviderUnavailable, ProviderUnavailableError } from './fetch.ts';
import { CLOCK_TOLERANCE_SECONDS, verifyIdToken } from './id-token.ts';
import { loadJose, loadOpenidClient } from './libraries.ts';
import type { OAuth2Endpoints, OidcClaims, ProviderSettings } from './settings.ts';
import { isLoopback } from './settings.ts';

/** How long metadata of a provider is used before it is read again, in ms. */
const METADATA_MAX_AGE_MS = 3_600_000;
/** How long keys are used before they are read again, and the pause between reads that unknown keys cause, in ms. */
const KEYS_MAX_AGE_MS = 600_000;
const KEYS_COOLDOWN_MS = 30_000;

/** The values that bind an authorization request to its response. */
export interface FlowSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** The tokens of a provider. */
export interface ProviderTokens {
  accessToken: string;
  refreshToken?: string | undefined;
  idToken?: string | undefined;
  scope?: string | undefined;
  /** When the access token expires, ISO 8601; undefined if the provider does not say. */
  expiresAt?: string | undefined;
}

/** Access to one provider. */
export interface ProviderClient {
  /** The key in the settings. */
  readonly provider: string;
  readonly settings: ProviderSettings;
  /** Whether the provider issues ID tokens. */
  readonly hasIdTokens: boolean;
  /** Returns the URL at the provider to which the browser is sent. @throws ApiError UNAVAILABLE */
  createAuthorizationUrl(secrets: FlowSecrets, codeChallenge: string): Promise<URL>;
  /**
   * Exchanges the response to an authorization request for the claims of the user.
   *
   * @param response the parameters with which the provider called the callback
   * @throws Error if the response is not valid or the provider reported an error
   */
  redeem(response: URLSearchParams, secrets: FlowSecrets): Promise<{ claims: OidcClaims; tokens: ProviderTokens }>;
  /**
   * Verifies an ID token that an app has received from the provider's SDK.
   *
   * @param nonces the accepted values of the nonce
   * @throws IdTokenError; ApiError UNAVAILABLE
   */
  verifyIdToken(idToken: string, nonces: readonly string[]): Promise<OidcClaims>;
}

/** Returns the 503 error for a provider that does not respond. */
function unavailableError(name: string, cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', `${name} is not available at the moment; try again later`, {
    retryAfter: 5,
    cause,
  });
}

/** The provider's metadata, and its keys, which are read when they are needed. */
interface Connection {
  configuration: OpenidClient.Configuration;
  metadata: OpenidClient.ServerMetadata;
  /** Undefined if the provider issues no ID tokens. */
  keys: RemoteJWKSet | undefined;
}

/** Runs `load` once and reuses its result for a time. A failed renewal keeps the result, because metadata rarely changes. */
function cacheFor<T>(maxAgeMs: number, load: () => Promise<T>): () => Promise<T> {
  let current: { value: T; until: number } | undefined;
  let pending: Promise<T> | undefined;
  return async () => {
    if (current !== undefined && current.until > Date.now()) return current.value;
    pending ??= load()
      .then((value) => {
        current = { value, until: Date.now() + maxAgeMs };
        return value;
      })
      .finally(() => {
        pending = undefined;
      });
    return current === undefined ? pending : pending.catch(() => current!.value);
  };
}

/** Chooses how the client authenticates. A secret that changes is sent with the other parameters of the request instead. */
function createClientAuth({ clientSecret, clientAuthentication }: ProviderSettings): OpenidClient.ClientAuth {
  const oauth = loadOpenidClient();
  if (typeof clientSecret !== 'string') return oauth.None();
  const post = oauth.ClientSecretPost(clientSecret);
  const basic = oauth.ClientSecretBasic(clientSecret);
  return (server, client, body, headers) => {
    // The default of OpenID Connect Discovery 1.0 §3 is client_secret_basic.
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method =
      clientAuthentication ?? (supported.includes('client_secret_post') ? 'client_secret_post' : undefined);
    (method === 'client_secret_post' ? post : basic)(server, client, body, headers);
  };
}

/** Returns the metadata of a provider that publishes none. Such providers expect the secret in the body. */
function metadataOf({ issuer, authorizationEndpoint, tokenEndpoint }: OAuth2Endpoints): OpenidClient.ServerMetadata {
  return {
    issuer,
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  };
}

/**
 * Creates the function that connects to a provider, or returns the connection that exists.
 *
 * @param issuer returns the issuer of the provider now; undefined if a simulated provider does not run
 */
function createConnector(
  settings: ProviderSettings,
  fetch: OpenidClient.CustomFetch,
  issuer: () => string | undefined,
): () => Promise<Connection> {
  const { clientId, oauth2 } = settings;
  const oauth = loadOpenidClient();
  const jose = loadJose();
  const clientMetadata = { [oauth.clockTolerance]: CLOCK_TOLERANCE_SECONDS };

  async function discover(): Promise<OpenidClient.Configuration> {
    const clientAuth = createClientAuth(settings);
    if (oauth2 !== undefined) {
      const configuration = new oauth.Configuration(metadataOf(oauth2), clientId, clientMetadata, clientAuth);
      configuration[oauth.customFetch] = fetch;
      if (isLoopback(new URL(oauth2.tokenEndpoint))) oauth.allowInsecureRequests(configuration);
      return configuration;
    }
    const url = issuer();
    if (url === undefined) throw new ProviderUnavailableError('the simulated provider does not run in this process');
    return oauth.discovery(new URL(url), clientId, clientMetadata, clientAuth, {
      [oauth.customFetch]: fetch,
      execute: isLoopback(new URL(url)) ? [oauth.allowInsecureRequests] : [],
    });
  }

  return cacheFor(METADATA_MAX_AGE_MS, async (): Promise<Connection> => {
    try {
      const configuration = await discover();
      const metadata = configuration.serverMetadata();
      if (oauth2 !== undefined) return { configuration, metadata, keys: undefined };
      for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
        if (metadata[name] === undefined) throw new Error(`the metadata has no ${name}`);
      const keys = jose.createRemoteJWKSet(new URL(metadata.jwks_uri!), {
        cooldownDuration: KEYS_COOLDOWN_MS,
        cacheMaxAge: KEYS_MAX_AGE_MS,
        [jose.customFetch]: (url, options) => fetch(url, { ...options, body: undefined, headers: {} }),
      });
      return { configuration, metadata, keys };
    } catch (cause) {
      // Wrong metadata have the same effect on users as none, and only the provider or the settings can change that.
      throw new ProviderUnavailableError('the metadata of the provider cannot be used', { cause });
    }
  });
}

/**
 * Adds claims of UserInfo if the ID token has no address, or no name although the scopes ask for one. The address and its verification
 * must have the same source.
 */
async function completeClaims(
  { configuration, metadata }: Connection,
  { scopes }: ProviderSettings,
  claims: OidcClaims,
  accessToken: string,
) {
  const lacksName = scopes.includes('profile') && readOwnName(claims) === '';
  if (metadata.userinfo_endpoint === undefined || (claims.email !== undefined && !lacksName)) return claims;
  const read = () => loadOpenidClient().fetchUserInfo(configuration, accessToken, claims.sub);
  if (claims.email === undefined) {
    const userInfo = await read();
    return { ...userInfo, ...claims, email: userInfo.email, email_verified: userInfo.email_verified };
  }
  // Only a new user needs the name, and another one is made up then.
  const { email: _, email_verified: __, ...named } = await read().catch(() => ({}) as OidcClaims);
  return { ...named, ...claims };
}

const createApi = (fetch: OpenidClient.CustomFetch, accessToken: string) => ({
  async get(url: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'user-agent': 'belfry' };
    const response = await fetch(url, { method: 'GET', headers, body: undefined, redirect: 'manual' });
    if (response.status !== 200) throw new Error(`${new URL(url).host} responded with status ${response.status}`);
    return response.json();
  },
});

/**
 * Creates the client of a provider. It connects only when it is used, so a provider that is down does not prevent the start of the app.
 *
 * @param redirectUri the callback of this provider
 * @param issuer returns the issuer of the provider now; undefined if a simulated provider does not run
 */
export function createProviderClient(
  provider: string,
  settings: ProviderSettings,
  redirectUri: string,
  issuer: () => string | undefined,
): ProviderClient {
  const { clientId, clientSecret, oauth2, scopes, audiences } = settings;
  const oauth = loadOpenidClient();
  const fetch = createProviderFetch();
  const connect = createConnector(settings, fetch, issuer);

  const verify = ({ metadata, keys }: Connection, idToken: string, nonces: readonly string[], ids: readonly string[]) =>
    verifyIdToken(idToken, { issuer: metadata.issuer, audiences: ids, nonces }, keys!);

  async function withAvailability<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw isProviderUnavailable(error) ? unavailableError(settings.name ?? provider, error) : error;
    }
  }

  return {
    provider,
    settings,
    hasIdTokens: oauth2 === undefined,
    createAuthorizationUrl: ({ state, nonce }, codeChallenge) =>
      withAvailability(async () => {
        const { configuration } = await connect();
        return oauth.buildAuthorizationUrl(configuration, {
          ...settings.authorizationParameters,
          redirect_uri: redirectUri,
          scope: scopes.join(' '),
          state,
          code_challenge: codeChallenge,
          code_challenge_method: 'S256',
          ...(oauth2 === undefined ? { nonce } : {}),
          ...(settings.responseMode === 'form_post' ? { response_mode: 'form_post' } : {}),
        });
      }),
    async redeem(response, { state, nonce, codeVerifier }) {
      const connection = await connect();
      const url = new URL(redirectUri);
      url.search = response.toString();
      const isOidc = oauth2 === undefined;
      const granted = await oauth.authorizationCodeGrant(
        connection.configuration,
        url,
        { expectedState: state, pkceCodeVerifier: codeVerifier, ...(isOidc ? { expectedNonce: nonce } : {}) },
        typeof clientSecret === 'function' ? { client_secret: await clientSecret() } : {},
      );
      const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken, scope } = granted;
      const seconds = granted.expires_in;
      const expiresAt = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000).toISOString();
      const tokens = { accessToken, refreshToken, idToken, scope, expiresAt };
      if (oauth2 !== undefined) return { claims: await oauth2.readClaims(createApi(fetch, accessToken)), tokens };
      const claims = await verify(connection, idToken!, [nonce], [clientId]);
      return { claims: await completeClaims(connection, settings, claims, accessToken), tokens };
    },
    verifyIdToken: (idToken, nonces) =>
      withAvailability(async () => verify(await connect(), idToken, nonces, [clientId, ...audiences])),
  };
}
