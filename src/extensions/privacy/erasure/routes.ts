import type { z } from 'zod';
import type { Accounts } from '../../../declare/accounts.ts';
import type { Host } from '../../../declare/host.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import { ApiError, invalidSession } from '../../../platform/errors.ts';
import { addressOf } from '../../../platform/http/client-address.ts';
import { withMeta } from '../../../platform/http/response.ts';
import { isId } from '../../../platform/ids.ts';
import { createKeyedQueue } from '../../../platform/serial-queue.ts';
import { type ErasureRow, readErasure } from './erasure.ts';
import { eraseInput, listQuery } from './input.ts';
import { askedShape, erasureShape } from './output.ts';
import type { RequestErasure } from './request.ts';
import { LIST, OF_USER, READ } from './sql.ts';

/** The routes by which accounts are erased, and admins read what came of it. */
export function erasureRoutes(
  { database }: Pick<Host, 'database'>,
  accounts: Accounts,
  request: RequestErasure,
): Route[] {
  const tags = ['privacy'];
  const oneAtATime = createKeyedQueue();

  // One request at a time for each user. The first one uses up the second factor and ends the sessions, so the requests after it get
  // the error of an ended session, not that of a wrong code.
  function eraseMe(ctx: RouteContext<z.output<typeof eraseInput>>) {
    const userId = ctx.user!.id;
    return oneAtATime(userId, async () => {
      if ((await database.read({ text: OF_USER, values: [userId] })).length > 0) throw invalidSession();
      await accounts.confirmIdentity(ctx, ctx.input, { password: 'password', code: 'code' });
      const { id, status } = await request({ userId, by: userId, ip: addressOf(ctx.req) });
      return { id, status };
    });
  }

  async function eraseUser(ctx: RouteContext) {
    const [by, userId] = [ctx.user!.id, ctx.params.id!];
    // Whoever took over an admin's session must not get around the password by it.
    if (by === userId) throw new ApiError('FORBIDDEN', 'Erase your own account with POST /api/auth/me/erase');
    return request({ userId, by, ip: addressOf(ctx.req) });
  }

  async function list(ctx: RouteContext) {
    const { user, status, after, limit } = ctx.query as unknown as z.output<typeof listQuery>;
    const rows = await database.readList<ErasureRow>({ text: LIST, values: [user, status, after, limit + 1] });
    const page = rows.slice(0, limit).map(readErasure);
    return withMeta(page, { limit, next: rows.length > limit ? page.at(-1)!.id : null });
  }

  async function read({ params: { id } }: RouteContext) {
    const rows = isId(id) ? await database.read<ErasureRow>({ text: READ, values: [id] }) : [];
    if (rows[0] === undefined) throw new ApiError('NOT_FOUND');
    return readErasure(rows[0]);
  }

  return [
    {
      method: 'POST',
      path: '/auth/me/erase',
      rateLimit: 'auth',
      input: eraseInput,
      output: askedShape,
      errors: ['CONFLICT', 'RATE_LIMITED'],
      status: 202,
      operationId: 'eraseMe',
      tags,
      summary: 'Erase your account and what belongs to it',
      description:
        'You are signed out everywhere at once. It cannot be taken back. An e-mail tells you when it is done.',
      handler: eraseMe,
    },
    {
      method: 'POST',
      path: '/admin/users/:id/erase',
      policy: 'admin',
      output: erasureShape,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
      status: 202,
      operationId: 'eraseUser',
      tags,
      summary: 'Erase the account of a user and what belongs to it',
      description: 'Asked again, it gives the erasure that there is.',
      handler: eraseUser,
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
      summary: 'Erasures of accounts, newest first',
      handler: list,
    },
    {
      method: 'GET',
      path: '/admin/erasures/:id',
      policy: 'admin',
      output: erasureShape,
      errors: ['NOT_FOUND'],
      operationId: 'readErasure',
      tags,
      summary: 'What was erased, what was kept, and why',
      handler: read,
    },
  ];
}
