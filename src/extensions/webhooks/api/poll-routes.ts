import { z } from 'zod';
import {
  ApiError,
  type ClientSlots,
  countParameter,
  type Host,
  noteWait,
  type Route,
  type RouteContext,
  validationError,
  withMeta,
  writeInBatches,
} from '../../../extension/index.ts';
import { getSender } from '../endpoints/administrators.ts';
import { isApiKey, type KeyLimits, toBoundKey } from '../endpoints/key-limits.ts';
import { decodeCursor, encodeCursor } from '../engine/polling/cursor.ts';
import type { LookUps, MessagePage, PageReader } from '../engine/polling/look-ups.ts';
import { ACKNOWLEDGE } from '../engine/polling/waiting-sql.ts';
import type { PollWait, PollWaits } from '../engine/polling/waits.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  createManagedEndpointLoader,
  endpointDisabledError,
  getCallerAudience,
  requireEnabledEndpoint,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_WAIT_SECONDS = 60;

/** ms after which a request looks again if the next message waits for earlier events. */
const HELD_UP_RETRY_MS = 50;

/** Deliveries that one statement of an acknowledgement moves to the log. */
const ACKNOWLEDGED_AT_ONCE = 500;

const waitError = { error: `Must be a whole number from 0 to ${MAX_WAIT_SECONDS}` };

const pollQuery = z.strictObject({
  after: z.string().optional().meta({
    description: 'A cursor: the messages after it are returned. Left out: all that are not acknowledged.',
  }),
  limit: countParameter(MAX_LIMIT, DEFAULT_LIMIT),
  wait: z.coerce
    .number(waitError)
    .int(waitError)
    .min(0, waitError)
    .max(MAX_WAIT_SECONDS, waitError)
    .default(0)
    .meta({ description: 'Seconds to wait for a message if there is none.' }),
});

const CURSOR_ERROR = 'Must be a cursor that this webhook has returned';

const acknowledgeSchema = z.strictObject({
  cursor: z.string({
    error: ({ input }) => (input === undefined || input === null ? 'Is required' : CURSOR_ERROR),
  }),
});

const messageShape = z
  .strictObject({
    cursor: z.string().meta({ description: 'Acknowledges this message and all before it.' }),
    id: z.string().meta({ description: 'The `webhook-id`, the same whenever the message is returned.' }),
    timestamp: z.int().meta({ description: 'The time of the response, in Unix seconds.' }),
    headers: z.strictObject({
      'webhook-id': z.string(),
      'webhook-timestamp': z.string(),
      'webhook-signature': z.string(),
      'webhook-backfill': z.literal('true').optional().meta({ description: 'The endpoint had missed the event.' }),
    }),
    body: z.string().meta({ description: 'The text that is signed: verify it before parsing it.' }),
  })
  .meta({ id: 'WebhookMessage' });

/** What the routes need. */
export interface PollDependencies {
  limits: KeyLimits;
  lookUps: LookUps;
  waits: PollWaits;
  slots: ClientSlots;
  access: Pick<EndpointAccess, 'assertReaches' | 'actForOwner'>;
}

/** @throws ApiError BAD_REQUEST if messages are sent to the endpoint that a route has loaded */
function requirePolledEndpoint(ctx: RouteContext): ReturnType<typeof serializeLoadedEndpoint> {
  const endpoint = serializeLoadedEndpoint(ctx);
  if (endpoint.delivery === 'poll') return endpoint;
  throw new ApiError('BAD_REQUEST', 'The webhook is not polled: its messages are sent to its URL');
}

/**
 * Returns whose rights decide which messages a poll returns. A message fails if the owner of the endpoint, or the API key to which the endpoint
 * is bound, may no longer read it. Another key that polls may have fewer scopes, which must not make messages fail.
 */
function createPageReader(ctx: RouteContext): PageReader {
  const endpoint = serializeLoadedEndpoint(ctx);
  const caller = getCallerAudience(ctx);
  const isOtherKey = isApiKey(ctx.auth) && endpoint.apiKeyId === undefined;
  return {
    endpointId: endpoint.id,
    audience: { ...caller, key: toBoundKey(endpoint) },
    caller: isOtherKey ? caller : undefined,
  };
}

/** A poll in progress. */
interface Poll {
  ctx: RouteContext;
  reader: PageReader;
  after: number;
  limit: number;
  /** When it returns without messages, by `performance.now()`. */
  until: number;
}

/** Creates the handler of polls. */
function createPoller(
  { keyring }: Pick<Host, 'keyring'>,
  settings: WebhookSettings,
  { lookUps, waits, slots, access }: Omit<PollDependencies, 'limits'>,
) {
  /** Checks the request again, and reads the endpoint again: rights, role and key may have changed while the request waited. */
  async function authorizeAgain(poll: Poll): Promise<void> {
    poll.ctx = access.actForOwner(await getSender(poll.ctx).authorizeAgain!());
    await requireEnabledEndpoint(settings, poll.ctx);
    poll.reader = createPageReader(poll.ctx);
  }

  /** @returns the messages; undefined if there are none; `isHeldUp`: the next one waits for earlier events */
  async function find(poll: Poll): Promise<{ page?: MessagePage; isHeldUp: boolean }> {
    const found = await lookUps.look(poll.reader.endpointId);
    if (found === undefined) throw new ApiError('NOT_FOUND');
    if (!found.isOpen) throw endpointDisabledError();
    while (found.lastNumber > poll.after) {
      const page = await lookUps.readPage(poll.reader, poll.after, poll.limit);
      if (page.messages.length > 0) return { page, isHeldUp: false };
      // Other requests have acknowledged them, or nobody may read them any more.
      if (page.end === poll.after) break;
      poll.after = page.end;
    }
    return found;
  }

  async function waitForMessages(poll: Poll, wait: PollWait, isHeldUp: boolean): Promise<MessagePage | undefined> {
    let isNextHeldUp = isHeldUp;
    for (;;) {
      const leftMs = poll.until - performance.now();
      if (leftMs <= 0 || waits.isStopped() || poll.ctx.res.closed) return undefined;
      await wait.next(isNextHeldUp ? Math.min(HELD_UP_RETRY_MS, leftMs) : leftMs);
      if (poll.ctx.res.closed) return undefined;
      const look = await lookUps.look(poll.reader.endpointId);
      const hasNews = !look?.isOpen || look.lastNumber > poll.after;
      // Who waits for nothing costs no more than their share of the look.
      if (hasNews || performance.now() >= poll.until) await authorizeAgain(poll);
      const found = hasNews ? await find(poll) : look;
      if ('page' in found && found.page !== undefined) return found.page;
      isNextHeldUp = found.isHeldUp;
    }
  }

  /** Opens the wait before the first look, so that no announcement is missed. */
  async function findOrWait(poll: Poll): Promise<MessagePage | undefined> {
    const wait = waits.open(poll.reader.endpointId);
    const end = () => wait.end();
    poll.ctx.res.once('close', end);
    let release: (() => void) | undefined;
    try {
      const { page, isHeldUp } = await find(poll);
      if (page !== undefined) return page;
      release = slots.acquireSlot({ user: getSender(poll.ctx).user!.id });
      noteWait(poll.ctx.req);
      return await waitForMessages(poll, wait, isHeldUp);
    } finally {
      release?.();
      poll.ctx.res.off('close', end);
      end();
    }
  }

  return async (ctx: RouteContext) => {
    const { id } = requirePolledEndpoint(ctx);
    const { after: cursor, limit, wait } = ctx.query as unknown as z.output<typeof pollQuery>;
    const after = cursor === undefined ? 0 : decodeCursor(keyring, id, cursor);
    if (after === undefined) throw new ApiError('BAD_REQUEST', 'after must be a cursor that this webhook has returned');
    await requireEnabledEndpoint(settings, ctx);
    const poll = { ctx, reader: createPageReader(ctx), after, limit, until: performance.now() + wait * 1000 };
    const page = wait > 0 ? await findOrWait(poll) : (await find(poll)).page;
    ctx.res.setHeader('Cache-Control', 'no-store');
    const { messages = [], end = poll.after } = page ?? {};
    return withMeta(messages, { limit, next: encodeCursor(keyring, id, end) });
  };
}

/** Creates the handler of acknowledgements. */
function createAcknowledger({ database, keyring }: Pick<Host, 'database' | 'keyring'>) {
  return async (ctx: RouteContext) => {
    const { id } = requirePolledEndpoint(ctx);
    const number = decodeCursor(keyring, id, ctx.input.cursor);
    if (number === undefined) throw validationError({ cursor: CURSOR_ERROR });
    const values = [id, number, new Date().toISOString()];
    const options = { rowsPerBatch: ACKNOWLEDGED_AT_ONCE };
    return { acknowledged: await writeInBatches(database, ACKNOWLEDGE, values, options) };
  };
}

/** The routes with which receivers without a public address fetch messages. */
export function pollRoutes(host: Host, settings: WebhookSettings, dependencies: PollDependencies): Route[] {
  const load = createManagedEndpointLoader(host.database, dependencies.limits, dependencies.access);
  const common = { policy: settings.policy, tags: ['webhooks'], load, organisationKeys: true };
  return [
    {
      ...common,
      method: 'GET',
      path: '/webhooks/:id/poll',
      summary: 'Fetch the messages of a polled webhook endpoint',
      description:
        'Returns the messages that are not acknowledged, in the order of their events, signed like messages that are sent. Without an ' +
        'acknowledgement, they are returned again. Requests at the same time get the same messages. `meta.next` is the cursor of the last one.',
      query: pollQuery,
      paged: true,
      output: messageShape.array(),
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND', 'RATE_LIMITED'],
      operationId: 'pollWebhook',
      waits: true,
      handler: createPoller(host, settings, dependencies),
    },
    {
      ...common,
      method: 'POST',
      path: '/webhooks/:id/ack',
      summary: 'Acknowledge the messages of a polled webhook endpoint up to a cursor',
      description:
        'Marks them as succeeded. They are not returned again. A repeated acknowledgement, or one with an earlier cursor, changes nothing.',
      input: acknowledgeSchema,
      output: z.strictObject({ acknowledged: z.int() }),
      errors: ['BAD_REQUEST', 'FORBIDDEN', 'NOT_FOUND'],
      operationId: 'acknowledgeWebhook',
      handler: createAcknowledger(host),
    },
  ];
}
