import type { StoredRecord } from '../../../declare/host.ts';
import type { Route } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import type { Records } from '../../../records/index.ts';
import { assertIfMatch, parseIfMatchHeader } from '../../../records/store/versions.ts';
import type { Stage } from './exchange.ts';
import { findItemEntity } from './route-traits.ts';

/**
 * Creates the stage that checks `If-Match` of a change before its handler runs. A precondition that cannot be checked is refused, because
 * ignoring it could overwrite a change. Undefined for reads, whose preconditions are evaluated with the response, and for routes whose
 * handlers check it themselves.
 */
export function checkWritePreconditions(route: Route, records: Records): Stage | undefined {
  if (route.method === 'GET' || route.checksIfMatch) return undefined;
  const item = findItemEntity(route, records);
  return {
    name: 'check write preconditions',
    run({ req, doc }) {
      if (req.headers['if-none-match'] !== undefined)
        throw new ApiError('BAD_REQUEST', 'If-None-Match is only for GET and HEAD. Use If-Match');
      if (req.headers['if-match'] === undefined) return;
      if (item === undefined) throw new ApiError('BAD_REQUEST', 'If-Match is only for changes to a single record');
      const ifMatch = parseIfMatchHeader(req);
      // A handler that loads the record itself also checks the precondition itself.
      if (doc !== undefined) assertIfMatch(item.versionOf, doc as StoredRecord, ifMatch);
    },
  };
}
