import type { Client } from 'pg';
import type { ApiResponse, Client as Call, Person } from '../../support/app.ts';
import { createPasskey, type Deviations, type Passkey } from '../../support/passkeys/authenticator.ts';

export const PASSWORD = 'correct horse battery';

/** Registers a passkey of a user. Returns the response of the server, also if it refuses the options. */
export async function register(
  person: Pick<Person, 'call'>,
  passkey: Passkey,
  deviations?: Deviations,
  name?: string,
): Promise<ApiResponse> {
  const asked = await person.call('POST', '/api/auth/passkeys/options');
  if (asked.status !== 200) return asked;
  return person.call('POST', '/api/auth/passkeys', { response: passkey.create(asked.body.data, deviations), name });
}

/** A user with a passkey. */
export interface PasskeyUser extends Person {
  passkey: Passkey;
  /** The id of the passkey in the API. */
  passkeyId: string;
}

/** Adds a passkey to a user. */
export async function withPasskey(person: Person, passkey = createPasskey()): Promise<PasskeyUser> {
  const { status, body } = await register(person, passkey);
  if (status !== 201) throw new Error(`The passkey was not registered: ${status} ${JSON.stringify(body)}`);
  return { ...person, passkey, passkeyId: body.data.id };
}

/** Returns what a client without a session gets to sign in with a passkey. */
export async function signInOptions(
  call: Call,
): Promise<{ challengeId: string; options: { challenge: string; rpId: string } }> {
  return (await call('POST', '/api/auth/passkeys/sign-in/options')).body.data;
}

/** Signs in with a passkey. Returns the response of the server. */
export async function signIn(call: Call, passkey: Passkey, deviations?: Deviations): Promise<ApiResponse> {
  const { challengeId, options } = await signInOptions(call);
  return call('POST', '/api/auth/passkeys/sign-in', { challengeId, response: passkey.use(options, deviations) });
}

/** Confirms with a passkey that the caller is the user. Returns the response of the server. */
export async function confirm(
  person: Pick<Person, 'call'>,
  passkey: Passkey,
  deviations?: Deviations,
): Promise<ApiResponse> {
  const { body } = await person.call('POST', '/api/auth/passkeys/confirm/options');
  return person.call('POST', '/api/auth/passkeys/confirm', { response: passkey.use(body.data, deviations) });
}

/** Makes the sessions of a user too old for sensitive actions. */
export async function ageSessions({ id }: { id: string }, database: Client): Promise<void> {
  await database.query(
    `update sessions set created_at = created_at - interval '1 day', authenticated_at = authenticated_at - interval '1 day'
     where user_id = $1`,
    [id],
  );
}

/** Lets every open challenge expire. */
export async function expireChallenges(database: Client): Promise<void> {
  await database.query(`update passkey_challenges set expires_at = now() - interval '1 second'`);
}

/** Returns the number of a user's sessions. */
export async function countSessions({ id }: { id: string }, database: Client): Promise<number> {
  return (await database.query('select count(*)::int as n from sessions where user_id = $1', [id])).rows[0].n;
}
