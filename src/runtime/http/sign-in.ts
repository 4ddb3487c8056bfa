import type { Request } from 'express';
import { type ReadLimit, withOrganisationChoice, withReadLimit } from '../../declare/actor.ts';
import type { Authenticator } from '../../declare/authenticator.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { Auth } from '../../declare/route.ts';
import { invalidSessionError } from '../../platform/helpers/errors.ts';
import { createPerRequestStore } from '../../platform/http/per-request.ts';
import { setAuthenticator } from '../../rules/credential.ts';

/** The identity of a request; all properties are undefined if the request is signed out. */
export interface SignedIn {
  user: Viewer | undefined;
  auth: Auth | undefined;
  /** The authenticator that recognized and accepted the token. */
  authenticator: Authenticator | undefined;
}

/** What signing in depends on. */
export interface SignInParts {
  authenticators: readonly Authenticator[];
  /** Returns which resources a credential may read; undefined if it is not limited. */
  findReadLimit(auth: Auth): ReadLimit | undefined;
}

const earlySignIns = createPerRequestStore<Promise<SignedIn>>('sign-in');
/** The identity of a request without a token. */
export const SIGNED_OUT: SignedIn = { user: undefined, auth: undefined, authenticator: undefined };
const BEARER = /^bearer (\S+)$/i;
const MAX_HEADER_LENGTH = 512;

/**
 * Reads the `Authorization` header, the only accepted place for a token. Returns no promise for a request without a token, which then costs
 * nothing.
 *
 * @throws ApiError UNAUTHORIZED if the header is set but does not contain a valid token
 */
export function signIn(req: Request, parts: SignInParts): SignedIn | Promise<SignedIn> {
  const early = earlySignIns.get(req);
  if (early !== undefined) {
    earlySignIns.delete(req);
    return early;
  }
  const header = req.headers.authorization;
  return header === undefined ? SIGNED_OUT : authenticate(req, header, parts);
}

async function authenticate(
  req: Request,
  header: string,
  { authenticators, findReadLimit }: SignInParts,
): Promise<SignedIn> {
  const token = header.length <= MAX_HEADER_LENGTH ? BEARER.exec(header)?.[1] : undefined;
  const authenticator = token === undefined ? undefined : authenticators.find((one) => one.recognizes(token));
  if (authenticator === undefined) throw invalidSessionError();
  const { user, auth } = await authenticator.authenticate(token!, req);
  setAuthenticator(auth, authenticator);
  const limited = withReadLimit(limitToOrganisation(user, auth, req), findReadLimit(auth));
  return { user: limited, auth, authenticator };
}

/** Returns the user with the organisations that limit the request; the same object if there are none. */
function limitToOrganisation(user: Viewer, auth: Auth, req: Request): Viewer {
  const named = req.headers['x-organisation'];
  if (named === undefined && auth.organisation === undefined) return user;
  const isBound = auth.via !== 'session';
  const choice = {
    bound: isBound ? auth.organisation : undefined,
    current: named === undefined ? (isBound ? undefined : auth.organisation) : String(named),
    isNamed: named !== undefined,
    ...(auth.organisationRole !== undefined && { role: auth.organisationRole }),
  };
  return withOrganisationChoice(user, choice);
}

/** Starts to sign a request in while other work is pending: the next `signIn` of the request uses the result. */
export function beginSignIn(req: Request, parts: SignInParts): void {
  const header = req.headers.authorization;
  if (header === undefined) return;
  const early = authenticate(req, header, parts);
  // Prevent an unhandled rejection: the next `signIn` reports the failure, but a request that a limit refuses never calls it.
  early.catch(() => undefined);
  earlySignIns.set(req, early);
}
