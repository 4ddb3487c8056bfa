import { z } from 'zod';
import {
  ApiError,
  type AuditTrailEntry,
  countParameter,
  isId,
  type RouteContext,
  withMeta,
} from '../../../extension/index.ts';
import type { DataContext } from './context.ts';
import { readLabels } from './labels.ts';

/** The query parameters of a history. */
export const historyQuery = z.strictObject({
  after: z.string().max(100).optional(),
  limit: countParameter(200, 50),
});

/** The ids of the users who made the changes. */
function userIdsOf(entries: readonly AuditTrailEntry[]): string[] {
  return [...new Set(entries.flatMap(({ user }) => user ?? []))];
}

/** Handles `GET /records/:resource/:id/history`: what the audit trail has about a record, also about a deleted one. */
export async function readHistory(data: DataContext, { params, query }: RouteContext): Promise<unknown> {
  const { name: resource } = data.gateway(params.resource);
  const trail = data.host.auditTrail();
  if (trail === undefined) throw new ApiError('NOT_FOUND', 'This app records no audit trail');
  const record = params.id!;
  if (!isId(record)) throw new ApiError('NOT_FOUND');
  const { after, limit } = query as unknown as z.output<typeof historyQuery>;
  const { entries, next } = await trail.list({ resource, record, after, limit });
  const users = await readLabels(data, data.users, userIdsOf(entries));
  return withMeta(entries, { limit, next, labels: { [data.users.name]: users } });
}
