import {
  ApiError,
  type Auth,
  type ExtensionHost,
  generateToken,
  hashToken,
  isAccountActive,
  isWellFormedToken,
  type Viewer,
} from '../../../extension/index.ts';
import { setAuthenticator } from '../../../rules/credential.ts';
import type { RealtimeSettings } from '../settings/settings.ts';

/** Stores a ticket. $1 SHA-256 of the ticket, $2 user id, $3 session id, $4 lifetime in seconds. Returns when the ticket expires. */
const ADD_TICKET = `
  insert into realtime_tickets (ticket_hash, user_id, session_id, expires_at)
  values ($1, $2, $3, now() + $4 * interval '1 second') returning expires_at`;

/** Deletes a ticket and returns its user, its session and whether it is still valid. $1 SHA-256 of the ticket. No row: it was used. */
const USE_TICKET = `
  delete from realtime_tickets where ticket_hash = $1 returning user_id, session_id, expires_at > now()`;

/** Tickets replace a token in a query string. Each ticket opens one stream and expires after `ticketTtl`. */
export interface Tickets {
  /** Creates a ticket for a session. `expiresAt` is ISO 8601. */
  createTicket(user: Viewer, session: string): Promise<{ ticket: string; expiresAt: string }>;
  /**
   * Uses a ticket up and returns its user.
   *
   * @throws ApiError UNAUTHORIZED if the ticket was used or has expired, or its session has ended
   */
  redeemTicket(ticket: string): Promise<{ user: Viewer; auth: Auth }>;
}

// A ticket starts like a token, so that the log redacts it.
const TICKET_PREFIX = 'svc_rt_';

const ticketError = () => new ApiError('UNAUTHORIZED', 'This ticket has been used or has expired');

/** Creates the tickets of an app. */
export function createTickets(
  { database, users, authenticators }: Pick<ExtensionHost, 'database' | 'users' | 'authenticators'>,
  { ticketTtl }: Pick<RealtimeSettings, 'ticketTtl'>,
): Tickets {
  // Called on each use, because not all authenticators are known when extensions are set up. The authenticator of accounts comes first.
  const findSessionAuthenticator = () => authenticators().find((one) => one.watch?.via === 'session');

  async function hasSessionEnded(session: string): Promise<boolean> {
    const watch = findSessionAuthenticator()?.watch;
    return watch === undefined || (await watch.ended([session])).length > 0;
  }

  return {
    async createTicket(user, session) {
      const ticket = generateToken(TICKET_PREFIX);
      const values = [hashToken(ticket), user.id, session, ticketTtl / 1000];
      const [row] = await database.write<[expiresAt: string]>({ text: ADD_TICKET, values });
      return { ticket, expiresAt: row![0] };
    },
    async redeemTicket(ticket) {
      if (!isWellFormedToken(ticket, TICKET_PREFIX)) throw ticketError();
      const statement = { text: USE_TICKET, values: [hashToken(ticket)] };
      const [row] = await database.write<[userId: string, session: string, good: boolean]>(statement);
      if (row === undefined || users === undefined) throw ticketError();
      const [userId, session, isFresh] = row;
      const [[user], isSessionOver] = await Promise.all([users.load([userId]), hasSessionEnded(session)]);
      if (!isFresh || isSessionOver || user === undefined || !isAccountActive(user)) throw ticketError();
      const auth: Auth = { via: 'session', scopes: ['*'], id: session };
      setAuthenticator(auth, findSessionAuthenticator()!);
      return { user, auth };
    },
  };
}
