import {
  adminConsole,
  apiKeys,
  audit,
  createApp,
  organisations,
  privacy,
  realtime,
  securityMails,
  softDelete,
  webhooks,
} from 'belfry';
import { closeStaleTickets } from './jobs.ts';
import { ticketAnswered, ticketClosed } from './mails.ts';
import { cannedReply } from './resources/canned-reply.ts';
import { comment } from './resources/comment.ts';
import { tag } from './resources/tag.ts';
import { ticket } from './resources/ticket.ts';
import { user } from './resources/user.ts';

/** The helpdesk. Each organisation is a company with its agents, its customers and their tickets. */
export const app = (environment: Record<string, string | undefined>) =>
  createApp(
    {
      resources: [user, ticket, comment, tag, cannedReply],
      mails: [ticketAnswered, ticketClosed],
      jobs: [closeStaleTickets],
      schedules: [{ cron: '0 2 * * *', timeZone: 'Europe/Berlin', job: closeStaleTickets, input: { days: 14 } }],
      extensions: [
        // Agents invite customers and other agents.
        organisations({
          roles: ['owner', 'agent', 'customer'],
          manageRole: 'agent',
          audit: true,
          // The page that the links of invitations lead to.
          ...(environment.FRONT_END_URL && { invitations: { url: environment.FRONT_END_URL } }),
        }),
        webhooks(),
        realtime(),
        apiKeys(),
        securityMails(),
        softDelete(),
        audit(),
        privacy(),
        adminConsole({ title: 'Helpdesk' }),
      ],
      settings: {
        // Tests create many users, so they hash passwords at a low cost.
        auth: environment.NODE_ENV === 'test' ? { password: { logN: 4, r: 8, p: 1 } } : {},
      },
    },
    environment,
  );
