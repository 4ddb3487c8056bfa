import { z } from 'zod';
import {
  type Accounts,
  ApiError,
  addressOf,
  countParameter,
  createKeyedQueue,
  type Host,
  invalidSessionError,
  isId,
  passwordToCheck,
  type ResourceGateway,
  type Route,
  type RouteContext,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { type ErasureRow, erasureShape, requestedErasureShape, toErasure } from './erasure.ts';
import type { RequestErasure } from './request.ts';
import { LIST_ERASURES, SELECT_ERASURE, SELECT_ERASURE_OF_USER } from './sql.ts';

const id = z.string().refine(isId, { error: 'Must be an id' });

/** The body of a user's request to erase their account. */
const eraseInput = z.strictObject({
  password: passwordToCheck
    .optional()
    .meta({ description: 'Required unless you have no password; then you must have signed in recently' }),
  code: z
    .string({ error: 'Must be a string' })
    .max(64, { error: 'Must be at most 64 characters' })
    .optional()
    .meta({ description: 'With two-factor: a code of the authenticator app, or a recovery code' }),
});

/** The optional body of an admin's request to erase the account of another user. */
const eraseByAdminInput = z.strictObject({
  code: eraseInput.shape.code
    .unwrap()
    .optional()
    .meta({ description: 'A code of the admin’s own second factor; required if they have one' }),
});

/** The query parameters of the list of erasures. */
const listQuery = z.strictObject({
  user: id.optional().meta({ description: 'The id of a user' }),
  status: z.enum(['running', 'finished'], { error: 'Must be one of: running, finished' }).optional(),
  after: id.optional().meta({ description: 'The `meta.next` of the previous page' }),
  limit: countParameter(200, 50),
});

/** The routes to erase accounts and, for admins, to read the reports. */
export function erasureRoutes(
  { database }: Pick<Host, 'database'>,
  accounts: Accounts,
  users: Pick<ResourceGateway, 'load'>,
  requestErasure: RequestErasure,
): Route[] {
  const tags = ['privacy'];
  const runOneAtATimePerUser = createKeyedQueue();

  // One request at a time for each user. The first one uses up the second factor and ends the sessions, so the requests after it get
  // the error of an ended session, not that of a wrong code.
  function requestOwnErasure(ctx: RouteContext<z.output<typeof eraseInput>>) {
    const userId = ctx.user!.id;
    return runOneAtATimePerUser(userId, async () => {
      if ((await database.read({ text: SELECT_ERASURE_OF_USER, values: [userId] })).length > 0)
        throw invalidSessionError();
      await accounts.confirmIdentity(ctx, ctx.input, { password: 'password', code: 'code' });
      const { id, status } = await requestErasure({ userId, by: userId, ip: addressOf(ctx.req) });
      return { id, status };
    });
  }

  async function requestUserErasure(ctx: RouteContext<z.output<typeof eraseByAdminInput>>) {
    const [by, userId] = [ctx.user!.id, ctx.params.id!];
    // Erasing one's own account requires the password. A stolen admin session must not bypass that.
    if (by === userId) throw new ApiError('FORBIDDEN', 'Erase your own account with POST /api/auth/me/erase');
    const [target] = isId(userId) ? await users.load([userId]) : [];
    await accounts.power.confirm(ctx, target, ctx.input.code);
    return requestErasure({ userId, by, ip: addressOf(ctx.req) });
  }

  async function listErasures(ctx: RouteContext) {
    const { user, status, after, limit } = ctx.query as unknown as z.output<typeof listQuery>;
    const rows = await database.readList<ErasureRow>({ text: LIST_ERASURES, values: [user, status, after, limit + 1] });
    const { page, next } = toPage(rows.map(toErasure), limit, ({ id }) => id);
    return withMeta(page, { limit, next });
  }

  async function readErasure({ params: { id } }: RouteContext) {
    const rows = isId(id) ? await database.read<ErasureRow>({ text: SELECT_ERASURE, values: [id] }) : [];
    if (rows[0] === undefined) throw new ApiError('NOT_FOUND');
    return toErasure(rows[0]);
  }

  return [
    {
      method: 'POST',
      path: '/auth/me/erase',
      rateLimit: 'auth',
      input: eraseInput,
      output: requestedErasureShape,
      errors: ['CONFLICT', 'RATE_LIMITED'],
      status: 202,
      operationId: 'eraseMe',
      tags,
      summary: 'Erase your account and all data that belongs to it',
      description:
        'You are signed out everywhere at once. This cannot be undone. You get an e-mail when it is finished.',
      handler: requestOwnErasure,
    },
    {
      method: 'POST',
      path: '/admin/users/:id/erase',
      policy: 'admin',
      recentSignIn: true,
      input: eraseByAdminInput,
      output: erasureShape,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
      status: 202,
      operationId: 'eraseUser',
      tags,
      summary: 'Erase the account of a user and all data that belongs to it',
      description:
        'A repeated request returns the existing erasure. An admin who has a second factor must send a code of their own. For a privileged account, the admin must have one.',
      handler: requestUserErasure,
    },
    {
      method: 'GET',
      path: '/admin/erasures',
      policy: 'admin',
      query: listQuery,
      output: erasureShape.array(),
      paged: true,
      errors: ['BAD_REQUEST'],
      operationId: 'listErasures',
      tags,
      summary: 'List erasures of accounts, newest first',
      handler: listErasures,
    },
    {
      method: 'GET',
      path: '/admin/erasures/:id',
      policy: 'admin',
      output: erasureShape,
      errors: ['NOT_FOUND'],
      operationId: 'readErasure',
      tags,
      summary: 'Read what an erasure deleted, what it kept, and why',
      handler: readErasure,
    },
  ];
}
