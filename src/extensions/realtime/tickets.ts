import { isActive } from '../../declare/actor.ts';
import { setAuthenticator } from '../../declare/authenticator.ts';
import type { ExtensionHost } from '../../declare/extension.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { Auth } from '../../declare/route.ts';
import { hashToken, newToken } from '../../platform/crypto/token.ts';
import { ApiError } from '../../platform/errors.ts';
import type { RealtimeSettings } from './settings.ts';
import { ADD_TICKET, USE_TICKET } from './sql.ts';

/** What stands in a query string instead of a token: good once, for a short time, for one stream. */
export interface Tickets {
  /** Makes one for a session. `expiresAt`: ISO 8601. */
  make(user: Viewer, session: string): Promise<{ ticket: string; expiresAt: string }>;
  /**
   * Signs in by a ticket.
   *
   * @throws ApiError UNAUTHORIZED when it was used, is too old, or its session is over
   */
  use(ticket: string): Promise<{ user: Viewer; auth: Auth }>;
}

// The log leaves out whatever begins like a token.
const LABEL = 'svc_rt_';
const FORM = /^svc_rt_[0-9a-f]{64}$/;

const refusal = () => new ApiError('UNAUTHORIZED', 'This ticket was used, or has expired');

/** Makes them. */
export function createTickets(
  { database, users, authenticators }: Pick<ExtensionHost, 'database' | 'users' | 'authenticators'>,
  { ticketSeconds }: Pick<RealtimeSettings, 'ticketSeconds'>,
): Tickets {
  // Accounts come before all extensions.
  const bySession = () => authenticators().find((one) => one.watch?.via === 'session');

  async function isOver(session: string): Promise<boolean> {
    const watch = bySession()?.watch;
    return watch === undefined || (await watch.ended([session])).length > 0;
  }

  return {
    async make(user, session) {
      const ticket = newToken().replace(/^svc_/, LABEL);
      const values = [hashToken(ticket), user.id, session, ticketSeconds];
      const [row] = await database.write<[expiresAt: string]>({ text: ADD_TICKET, values });
      return { ticket, expiresAt: row![0] };
    },
    async use(ticket) {
      if (!FORM.test(ticket)) throw refusal();
      const statement = { text: USE_TICKET, values: [hashToken(ticket)] };
      const [row] = await database.write<[userId: string, session: string, good: boolean]>(statement);
      if (row === undefined || users === undefined) throw refusal();
      const [userId, session, good] = row;
      const [[user], over] = await Promise.all([users.load([userId]), isOver(session)]);
      if (!good || over || user === undefined || !isActive(user)) throw refusal();
      const auth: Auth = { via: 'session', scopes: ['*'], id: session };
      setAuthenticator(auth, bySession()!);
      return { user, auth };
    },
  };
}
