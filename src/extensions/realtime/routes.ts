import { z } from 'zod';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Tickets } from './tickets.ts';

const TICKETS_A_MINUTE = 60;

const streamQuery = z.object({
  subscribe: z
    .union([z.string(), z.array(z.string())])
    .describe('`post`, `post/<id>` or `post?field=value`; once for each subscription.'),
  ticket: z.string().optional().describe('What `POST /api/realtime/ticket` gave, where no header can be sent.'),
  lastEventId: z.string().optional().describe('The same as the header `Last-Event-ID`.'),
});

const DESCRIPTION = `Server-sent events \`<resource>.created\`, \`.updated\`, \`.deleted\`, \`.restored\` and \`.left\`, each with
\`{ subscription, event, at, id, data?, previous? }\`: what the caller may see of the record, and before an update. Besides them
\`ready\` (from here on nothing is left out), \`reset\` (load anew: something may have been left out), \`heartbeat\` and \`end\`.
Of one subscription the filters of its list may also stand beside it: \`?subscribe=post&status=published\`.`;

/** Opens streams, and makes tickets for clients that can send no header. */
export function realtimeRoutes(open: (ctx: RouteContext) => Promise<void>, tickets: Tickets): Route[] {
  return [
    {
      method: 'GET',
      path: '/realtime',
      // Of the extension's own policy and of those of the resources, which the handler asks: a ticket signs in there.
      policy: 'public',
      eventStream: true,
      queryShape: streamQuery,
      errors: ['FORBIDDEN', 'NOT_FOUND', 'RATE_LIMITED'],
      operationId: 'openStream',
      summary: 'Changes of records as they happen',
      description: DESCRIPTION,
      tags: ['realtime'],
      handler: open,
    },
    {
      method: 'POST',
      path: '/realtime/ticket',
      policy: 'authenticated',
      rateLimit: { limit: TICKETS_A_MINUTE, windowMs: 60_000 },
      output: z.object({ ticket: z.string(), expiresAt: z.iso.datetime() }),
      errors: ['FORBIDDEN'],
      status: 201,
      operationId: 'createStreamTicket',
      summary: 'A ticket that opens one stream, for clients that can send no header',
      tags: ['realtime'],
      handler({ user, auth, res }) {
        if (auth!.via !== 'session') throw new ApiError('FORBIDDEN', 'API keys are sent in the Authorization header');
        res.setHeader('Cache-Control', 'no-store');
        return tickets.make(user!, auth!.id);
      },
    },
  ];
}
