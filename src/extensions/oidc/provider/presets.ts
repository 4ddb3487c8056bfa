import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { loadJose } from './libraries.ts';
import type { OidcClaims, OidcProviderOptions } from './settings.ts';

/** The credentials of an app at a provider, and options of every preset. */
interface ProviderCredentials extends Pick<OidcProviderOptions, 'scopes' | 'audiences' | 'authorizationParameters'> {
  clientId: string;
  clientSecret: string;
}

/** Google. @param options `hostedDomain`: accept only accounts of this Google Workspace domain */
export function google({
  hostedDomain,
  authorizationParameters,
  ...options
}: ProviderCredentials & { hostedDomain?: string }): OidcProviderOptions {
  const base = { name: 'Google', icon: 'google', issuer: 'https://accounts.google.com', ...options } as const;
  if (hostedDomain === undefined) return { ...base, authorizationParameters };
  // The parameter only shortens the list of accounts; the claim decides.
  return {
    ...base,
    authorizationParameters: { hd: hostedDomain, ...authorizationParameters },
    accepts: ({ hd }) => hd === hostedDomain,
  };
}

/** The credentials of a Services ID at Apple. */
interface AppleCredentials extends Omit<ProviderCredentials, 'clientSecret'> {
  teamId: string;
  keyId: string;
  /** The content of the `.p8` file. */
  privateKey: string;
}

/** Seconds for which a client secret is valid. A new one is signed for every request. */
const APPLE_SECRET_SECONDS = 300;

/** Apple. The client secret is a token that is signed with your key: https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
export function apple({ teamId, keyId, privateKey, ...options }: AppleCredentials): OidcProviderOptions {
  const issuer = 'https://appleid.apple.com';
  let key: KeyObject | undefined;
  return {
    name: 'Apple',
    icon: 'apple',
    issuer,
    scopes: ['openid', 'email', 'name'],
    // Apple requires it for requests with these scopes.
    responseMode: 'form_post',
    clientAuthentication: 'client_secret_post',
    hashedNonce: true,
    isEmailVerified: ({ email_verified }) => email_verified === true || email_verified === 'true',
    ...options,
    clientSecret: () => {
      key ??= createPrivateKey(privateKey.replaceAll('\\n', '\n'));
      const { SignJWT } = loadJose();
      return new SignJWT()
        .setProtectedHeader({ alg: 'ES256', kid: keyId })
        .setIssuer(teamId)
        .setSubject(options.clientId)
        .setAudience(issuer)
        .setIssuedAt()
        .setExpirationTime(`${APPLE_SECRET_SECONDS}s`)
        .sign(key);
    },
  };
}

/** Whether Microsoft says that the owner of the address's domain is the tenant. The claim must be added to the app's ID token. */
function isMicrosoftEmailVerified({ xms_edov }: OidcClaims): boolean {
  return xms_edov === true || xms_edov === 1 || xms_edov === '1' || xms_edov === 'true';
}

/**
 * Microsoft Entra ID. The administrator of any tenant can enter any address for a user, so addresses count as verified only with the claim
 * `xms_edov`: https://learn.microsoft.com/entra/identity-platform/migrate-off-email-claim-authorization
 *
 * @param options `tenant`: the id of your tenant; `common`, `organizations` or `consumers` accept accounts of many tenants
 */
export function microsoft({ tenant, ...options }: ProviderCredentials & { tenant: string }): OidcProviderOptions {
  return {
    name: 'Microsoft',
    icon: 'microsoft',
    issuer: `https://login.microsoftonline.com/${encodeURIComponent(tenant)}/v2.0`,
    isEmailVerified: isMicrosoftEmailVerified,
    // Ids are unique within a tenant.
    subject({ sub, tid }) {
      if (typeof tid !== 'string') throw new Error('the ID token of Microsoft has no claim "tid"');
      return `${tid}.${sub}`;
    },
    ...options,
  };
}

/** GitLab. @param options `url`: the address of your own server; default `https://gitlab.com` */
export function gitlab({ url, ...options }: ProviderCredentials & { url?: string }): OidcProviderOptions {
  return { name: 'GitLab', icon: 'gitlab', issuer: url ?? 'https://gitlab.com', ...options };
}

const githubUser = z.object({ id: z.int(), login: z.string(), name: z.string().nullish() });
const githubEmails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

/** GitHub. Only the primary address is used, and only if GitHub has verified it. */
export function github(options: ProviderCredentials): OidcProviderOptions {
  return {
    name: 'GitHub',
    icon: 'github',
    scopes: ['read:user', 'user:email'],
    ...options,
    oauth2: {
      issuer: 'https://github.com/login/oauth',
      authorizationEndpoint: 'https://github.com/login/oauth/authorize',
      tokenEndpoint: 'https://github.com/login/oauth/access_token',
      async readClaims(api) {
        const [user, emails] = await Promise.all([
          api.get('https://api.github.com/user').then((json) => githubUser.parse(json)),
          api.get('https://api.github.com/user/emails').then((json) => githubEmails.parse(json)),
        ]);
        const email = emails.find(({ primary, verified }) => primary && verified)?.email;
        const { id, login, name } = user;
        return { sub: String(id), name: name ?? login, login, email, email_verified: email !== undefined };
      },
    },
  };
}

const discordUser = z.object({
  id: z.string().min(1),
  username: z.string(),
  global_name: z.string().nullish(),
  email: z.string().nullish(),
  verified: z.boolean().optional(),
});

/** Discord. */
export function discord(options: ProviderCredentials): OidcProviderOptions {
  return {
    name: 'Discord',
    icon: 'discord',
    scopes: ['identify', 'email'],
    ...options,
    oauth2: {
      issuer: 'https://discord.com',
      authorizationEndpoint: 'https://discord.com/oauth2/authorize',
      tokenEndpoint: 'https://discord.com/api/oauth2/token',
      async readClaims(api) {
        const json = await api.get('https://discord.com/api/users/@me');
        const { id, username, global_name, email, verified } = discordUser.parse(json);
        const shown = global_name ?? username;
        return { sub: id, name: shown, username, email: email ?? undefined, email_verified: verified === true };
      },
    },
  };
}
