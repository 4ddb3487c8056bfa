import { Secret, TOTP } from 'otpauth';
import type { Client } from 'pg';
import type { ApiResponse, Client as Call, Person } from '../../support/app.ts';

export const PASSWORD = 'correct horse battery';

/** Returns the code that the app of a user shows, this many steps from now. */
export function codeOf(secret: string, steps = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
}

/** Returns a code that is wrong now and in all nearby steps. */
export function wrongCode(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, steps));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code))!;
}

/** A user whose account has a second factor. */
export interface TwoFactorUser extends Person {
  secret: string;
  recoveryCodes: string[];
}

/** Turns two-factor on and forgets the used code, so that the current one can be used again. */
export async function guard(person: Person, database: Client): Promise<TwoFactorUser> {
  const { body } = await person.call('POST', '/api/auth/2fa/enrol', { password: PASSWORD });
  const { secret } = body.data;
  const confirmed = await person.call('POST', '/api/auth/2fa/confirm', { code: codeOf(secret) });
  await forget(person, database);
  return { ...person, secret, recoveryCodes: confirmed.body.data.recoveryCodes };
}

/** Forgets which codes of a user's app were used. */
export async function forget({ id }: { id: string }, database: Client): Promise<void> {
  await database.query('update two_factors set last_step = 0 where user_id = $1', [id]);
}

/** Starts a login, up to the second step. */
export async function challenge(call: Call, { email }: { email: string }): Promise<string> {
  return (await call('POST', '/api/auth/login', { email, password: PASSWORD })).body.data.mfaToken;
}

/** Completes the second step of a login. */
export function verify(call: Call, mfaToken: string, code: string, method = 'totp'): Promise<ApiResponse> {
  return call('POST', '/api/auth/2fa/verify', { mfaToken, method, code });
}
