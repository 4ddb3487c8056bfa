import { compilePolicy, isForRoles } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Events } from '../../platform/events.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { identityOf } from '../../platform/http/identity.ts';
import { requestIdOf } from '../../platform/http/request-id.ts';
import type { Endpoint } from './endpoint.ts';
import { pathOf } from './request-log.ts';

/** The endpoint of a route that is for roles alone, those of admins among them: a 403 emits `security.access_refused`. */
export function reportRefusals(endpoint: Endpoint, { policy, method }: Route, events: Events): Endpoint {
  if (policy === undefined || !isForRoles(compilePolicy(policy, () => undefined))) return endpoint;
  return async (req, res) => {
    try {
      await endpoint(req, res);
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) {
        const { userId, via, id: credential } = identityOf(req) ?? {};
        const who = { userId, via, credential, ip: addressOf(req), requestId: requestIdOf(req) };
        events.emit('security.access_refused', { ...who, method, path: pathOf(req) });
      }
      throw error;
    }
  };
}
