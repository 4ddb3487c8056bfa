import { type Identity, isEmailAddress, isStorable } from '../../../extension/index.ts';
import type { OidcClaims, ProviderSettings } from './settings.ts';

const MAX_NAME = 100;

/** The account at a provider that a user has proved to be theirs. */
export interface ProvenIdentity extends Identity {
  emailVerified: boolean;
}

/**
 * Returns the e-mail address in claims. An address that is not plain ASCII is ignored: lower-casing could turn it into the address of
 * another user (the Kelvin sign becomes a k), and trimming could do the same.
 */
function readEmail({ email }: OidcClaims): string | undefined {
  return typeof email === 'string' && isEmailAddress(email) ? email.toLowerCase() : undefined;
}

/** The account is not among those that the provider's setting `accepts` admits. */
export class AccountRefusedError extends Error {
  override readonly name = 'AccountRefusedError';
}

const MAX_SUBJECT = 255;

/**
 * Returns the identity that claims describe.
 *
 * @throws AccountRefusedError; Error if the id of the account cannot be stored
 */
export function toIdentity(provider: string, settings: ProviderSettings, claims: OidcClaims): ProvenIdentity {
  const { subject = ({ sub }) => sub, isEmailVerified = ({ email_verified }) => email_verified === true } = settings;
  if (settings.accepts !== undefined && !settings.accepts(claims))
    throw new AccountRefusedError('this account at the provider may not sign in here');
  const id: unknown = subject(claims);
  if (typeof id !== 'string' || id === '' || id.length > MAX_SUBJECT || !isStorable(id))
    throw new Error('the id of the account at the provider is not valid');
  const email = readEmail(claims);
  return { provider, subject: id, email, emailVerified: email !== undefined && isEmailVerified(claims) };
}

const cleanName = (text: unknown) =>
  typeof text === 'string'
    ? text
        .toWellFormed()
        .replaceAll(/\p{Cc}/gu, ' ')
        .trim()
    : '';

/** Returns the name in claims: `name`, otherwise the given name and the family name (OpenID Connect Core 1.0 §5.1). Empty if there is none. */
export function readOwnName({ name, given_name, family_name }: OidcClaims): string {
  return cleanName(name) || [given_name, family_name].map(cleanName).filter(Boolean).join(' ');
}

/** Returns a display name for a new user: that of the provider, otherwise the part of the address before the @. */
export function readName(claims: OidcClaims, email: string | undefined): string | undefined {
  // Cut between characters, not within one.
  const shown = [...readOwnName(claims)].slice(0, MAX_NAME).join('').slice(0, MAX_NAME).toWellFormed().trim();
  return shown === '' ? email?.slice(0, email.indexOf('@')) : shown;
}
