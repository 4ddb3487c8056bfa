import {
  ApiError,
  type AuditTrail,
  addressOf,
  getIdentity,
  getRequestId,
  type Host,
  newId,
} from '../../../extension/index.ts';
import { AUDIT_EVENT_ROW, type AuditEventPayload, INSERT_OUTBOX } from '../recording/event-writer.ts';
import { createPageReader, listQuery, toEntryPage, toPublicEntry } from './query.ts';

/** Creates the access of other features to the trail. */
export function createAuditTrail({
  database,
  settings,
  wake,
}: Pick<Host, 'database' | 'settings' | 'wake'>): AuditTrail {
  const readPage = createPageReader(database);
  return {
    async add(action, req, on) {
      const { userId = null, via = null, id = null } = getIdentity(req) ?? {};
      const payload: AuditEventPayload = {
        ...action,
        at: new Date().toISOString(),
        user: userId,
        via,
        credential: id,
        ip: addressOf(req) || null,
        requestId: getRequestId(req) ?? null,
        changes: null,
      };
      const values = [[newId()], AUDIT_EVENT_ROW, [JSON.stringify(payload)]];
      await on.write({ name: 'audit_outbox', text: INSERT_OUTBOX, values });
      wake.hint();
    },
    async list(query) {
      const { data, error } = listQuery.safeParse(query);
      if (error !== undefined) {
        const { path, message } = error.issues[0]!;
        throw new ApiError('BAD_REQUEST', `The query parameter "${path.join('.')}" is invalid: ${message}`);
      }
      const { page, next } = toEntryPage(await readPage(data, settings.http.pageBytes), data.limit);
      return { entries: page.map(toPublicEntry), next };
    },
  };
}
