import type { Request } from 'express';
import type { Authenticator } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { Auth } from '../../declare/route.ts';
import { invalidSession } from '../../platform/errors.ts';

/** Who a request comes from; both undefined when it is signed out. */
export interface SignedIn {
  user: Viewer | undefined;
  auth: Auth | undefined;
}

const SIGNED_OUT: SignedIn = { user: undefined, auth: undefined };
const BEARER = /^bearer (\S+)$/i;
const LONGEST = 512;

/**
 * Reads the `Authorization` header, the only place where a token counts.
 *
 * @throws ApiError UNAUTHORIZED when there is a header and it does not hold a valid token
 */
export async function signIn(req: Request, authenticators: readonly Authenticator[]): Promise<SignedIn> {
  const header = req.headers.authorization;
  if (header === undefined) return SIGNED_OUT;
  const token = header.length <= LONGEST ? BEARER.exec(header)?.[1] : undefined;
  const authenticator = token === undefined ? undefined : authenticators.find((one) => one.recognizes(token));
  if (authenticator === undefined) throw invalidSession();
  return authenticator.authenticate(token!, req);
}
