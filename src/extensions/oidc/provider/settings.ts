import { z } from 'zod';
import { emailSchema } from '../../../extension/index.ts';

/** What a provider says about the account of a user: the claims of the ID token, of UserInfo, or of the provider's own API. */
export type OidcClaims = Readonly<Record<string, unknown>> & {
  /** The provider's id of the account. It never changes. */
  readonly sub: string;
};

/** A client of a provider's API, for the access token of the user who signs in. */
interface OidcApiClient {
  /**
   * Sends a GET with the access token and returns the JSON of the response.
   *
   * @throws Error if the provider does not respond in time, or responds with another status than 200
   */
  get(url: string): Promise<unknown>;
}

/** A provider of OAuth 2 without ID tokens. */
export interface OAuth2Endpoints {
  /** The provider's own URL. If the provider sends `iss` (RFC 9207), it must be this one. */
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** Reads the claims of the user with the access token, over the provider's API. `sub` must never change; an address may. */
  readClaims(api: OidcApiClient): Promise<OidcClaims>;
}

/** A person in the list on the page of the simulated provider. */
export interface SimulatedPerson {
  name: string;
  email: string;
  /** Whether the provider has verified the address. Default true. */
  emailVerified?: boolean;
}

/** The logos that the sign-in pages have. */
export const PROVIDER_ICONS = ['apple', 'discord', 'github', 'gitlab', 'google', 'microsoft'] as const;

/** An identity provider. Presets such as `google()` return these options. */
export interface OidcProviderOptions {
  /** The name for people, on sign-in pages. Default: the key in `providers`. */
  name?: string;
  /** The logo on the sign-in pages, which presets set. Default: the first letter of the name. */
  icon?: (typeof PROVIDER_ICONS)[number];
  /** The provider's issuer URL. Its metadata is read from `<issuer>/.well-known/openid-configuration`. */
  issuer?: string;
  /** Instead of `issuer`: the endpoints of a provider without ID tokens. */
  oauth2?: OAuth2Endpoints;
  clientId: string;
  /** The secret, or a function that returns a current one. Left out: a public client, which only PKCE protects. */
  clientSecret?: string | (() => string | Promise<string>);
  /** How the secret is sent. Default: as the provider's metadata says, preferably `client_secret_post`. */
  clientAuthentication?: 'client_secret_post' | 'client_secret_basic';
  /** Default `openid`, `email` and `profile`. */
  scopes?: readonly string[];
  /** Additional client ids, such as those of your mobile apps, whose ID tokens are accepted in the native flow. */
  audiences?: readonly string[];
  /** Additional parameters of the authorization request, such as `{ prompt: 'select_account' }`. */
  authorizationParameters?: Readonly<Record<string, string>>;
  /** How the provider returns the user: by a redirect, or by a form that posts to the callback. Default `query`. */
  responseMode?: 'query' | 'form_post';
  /** Whether the provider has verified that the user owns the address. Default: `email_verified` is true. */
  isEmailVerified?: (claims: OidcClaims) => boolean;
  /** Whether the account may sign in at all, such as accounts of one company only. Default: every account. */
  accepts?: (claims: OidcClaims) => boolean;
  /** The provider's id of the account. Default: `sub`. Never change it for a provider with users. */
  subject?: (claims: OidcClaims) => string;
  /** Native flow: whether the ID token may contain the SHA-256 of the nonce instead of the nonce. Default false. */
  hashedNonce?: boolean;
  /** Starts a simulated provider: see `simulatedProvider`. */
  simulated?: { people: readonly SimulatedPerson[]; port: number };
}

/** The settings of the extension as a project writes them. */
export interface OidcOptions {
  /** The providers, by the name that routes, sessions and identities use: `google`. */
  providers: Readonly<Record<string, OidcProviderOptions>>;
  /**
   * Returns additional fields of a new user. It runs at every sign-in, so it must have no effects.
   *
   * @param claims what the provider says about the user
   * @param provider the key in `providers`
   */
  createUser?: (
    claims: OidcClaims,
    provider: string,
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
  /** The pages of your front end to which the user may return. Compared exactly. Default: only `${APP_URL}/auth/callback`. */
  redirectUrls?: readonly string[];
  /** Whether to store the provider's tokens, encrypted, for your code. Default false. */
  storeTokens?: boolean;
}

const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** Parameters of the authorization request that the extension sets itself. */
const RESERVED_PARAMETERS = new Set([
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri'],
]);

const text = (longest: number) =>
  z.string({ error: 'must be a text' }).trim().min(1, { error: 'must not be empty' }).max(longest);

const functionSchema = <F>() =>
  z.custom<F>((value) => typeof value === 'function', { error: 'must be a function' }).optional();

/** Whether a host name is this machine, to which requests without TLS are allowed. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function isSecureUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
}

const secureUrl = z
  .string()
  .refine(isSecureUrl, { error: 'must be an https URL, such as https://id.example.com (http only for this machine)' });

/** A page of the front end. The host may be any in development, such as that of a phone's emulator. */
const redirectUrl = z.string().refine(
  (value) => {
    const url = URL.parse(value);
    return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && !value.includes('#');
  },
  { error: 'must be a complete http or https URL without #, such as https://app.example.com/auth/callback' },
);

const authorizationParameters = z
  .record(z.string(), z.string())
  .default({})
  .superRefine((parameters, context) => {
    for (const name of Object.keys(parameters))
      if (RESERVED_PARAMETERS.has(name))
        context.addIssue({ code: 'custom', path: [name], message: 'is set by the extension; remove it' });
  });

const person = z.strictObject({
  name: text(100),
  email: emailSchema('must be an e-mail address'),
  emailVerified: z.boolean().default(true),
});

const providerSettings = z
  .strictObject({
    name: text(64).optional(),
    icon: z.enum(PROVIDER_ICONS, { error: `must be one of ${PROVIDER_ICONS.join(', ')}` }).optional(),
    issuer: secureUrl.optional(),
    oauth2: z
      .strictObject({
        issuer: secureUrl,
        authorizationEndpoint: secureUrl,
        tokenEndpoint: secureUrl,
        readClaims: z.custom<OAuth2Endpoints['readClaims']>((value) => typeof value === 'function'),
      })
      .optional(),
    clientId: text(255),
    clientSecret: z
      .union([text(4096), z.custom<() => string | Promise<string>>((value) => typeof value === 'function')], {
        error: 'must be a text or a function',
      })
      .optional(),
    clientAuthentication: z.enum(['client_secret_post', 'client_secret_basic']).optional(),
    scopes: z.array(text(255)).max(50).default(['openid', 'email', 'profile']),
    audiences: z.array(text(255)).max(50).default([]),
    authorizationParameters,
    responseMode: z.enum(['query', 'form_post']).default('query'),
    isEmailVerified: functionSchema<(claims: OidcClaims) => boolean>(),
    accepts: functionSchema<(claims: OidcClaims) => boolean>(),
    subject: functionSchema<(claims: OidcClaims) => string>(),
    hashedNonce: z.boolean().default(false),
    simulated: z
      .strictObject({ people: z.array(person).max(50), port: z.number().int().min(0).max(65_535) })
      .optional(),
  })
  .superRefine(({ issuer, oauth2, simulated, scopes }, context) => {
    if ([issuer, oauth2, simulated].filter((kind) => kind !== undefined).length !== 1)
      context.addIssue({ code: 'custom', message: 'needs either `issuer` or `oauth2`' });
    if (oauth2 === undefined && !scopes.includes('openid'))
      context.addIssue({ code: 'custom', path: ['scopes'], message: 'must include openid' });
  });

const PROVIDERS_ERROR = 'is required, such as { google: google({ … }) }';

/** The settings of the extension. */
export const oidcSettings = z.strictObject({
  providers: z.record(z.string(), providerSettings, { error: PROVIDERS_ERROR }).superRefine((providers, context) => {
    const message = 'the name must be 1 to 32 lower-case letters, digits or -, beginning with a letter';
    for (const name of Object.keys(providers))
      if (!PROVIDER_NAME.test(name)) context.addIssue({ code: 'custom', path: [name], message });
  }),
  createUser: functionSchema<NonNullable<OidcOptions['createUser']>>(),
  redirectUrls: z.array(redirectUrl, { error: 'must be an array of URLs' }).min(1).max(100).optional(),
  storeTokens: z.boolean().default(false),
});

/** The settings of a provider, with all defaults filled. */
export type ProviderSettings = z.output<typeof providerSettings>;

/** The settings with all defaults filled. */
export type OidcSettings = z.output<typeof oidcSettings>;
