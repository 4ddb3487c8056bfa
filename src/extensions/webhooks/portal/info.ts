import { z } from 'zod';
import { ApiError, type ExtensionHost, type Route } from '../../../extension/index.ts';
import type { EndpointAccess } from '../api/organisation-endpoints.ts';
import { getPortalGrant } from '../api/portal-grants.ts';
import type { EndpointOwners } from '../endpoints/owners.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type CreatePortalLink, PORTAL_PATH } from './links.ts';

/** The origin with which links begin. Outside production, without any setting, it is that of this process. */
export function portalBaseUrl(
  { env }: Pick<ExtensionHost, 'env'>,
  { portal }: Pick<WebhookSettings, 'portal'>,
): string {
  const url = portal?.url ?? env.appUrl;
  return url === undefined ? `http://localhost:${env.port}` : new URL(url).origin;
}

/** Rejects every call, for apps without the portal. */
export const refusePortalLink: CreatePortalLink = async () => {
  throw new Error(
    'The webhook portal is off; switch it on with webhooks({ portal: { frameAncestors: [your origin] } })',
  );
};

const rolesShape = z.strictObject({ all: z.array(z.string()), default: z.string() });

const infoShape = z.strictObject({
  expiresAt: z.iso.datetime(),
  endpointId: z.string().nullable(),
  includeGlobal: z.boolean(),
  organisation: z.strictObject({ name: z.string(), as: z.string(), roles: rolesShape }).nullable(),
  maxEndpoints: z.int(),
  keepDeliveriesDays: z.number(),
  secretGraceHours: z.number(),
  keepEventsDays: z.number(),
});

/** The route that tells the page what its link allows. Other credentials get NOT_FOUND. */
export function portalInfoRoute(
  settings: WebhookSettings,
  { organisations }: Pick<EndpointOwners, 'organisations'>,
  { findRoles }: Pick<EndpointAccess, 'findRoles'>,
): Route {
  const { policy, maxEndpointsPerUser, maxEndpointsPerOrganisation, keepDeliveriesDays, secretGraceHours } = settings;
  const { keepEventsDays } = settings;
  return {
    method: 'GET',
    path: PORTAL_PATH,
    policy,
    hidden: true,
    output: infoShape,
    errors: ['NOT_FOUND'],
    async handler({ auth, res }) {
      const grant = getPortalGrant(auth);
      if (grant === undefined) throw new ApiError('NOT_FOUND');
      const { organisation } = grant;
      const [found] = organisation === undefined ? [] : ((await organisations?.load([organisation.id])) ?? []);
      const as = `org:${organisation?.role}`;
      const roles = findRoles();
      res.setHeader('Cache-Control', 'no-store');
      return {
        expiresAt: new Date(grant.expiresAt).toISOString(),
        endpointId: grant.endpointId ?? null,
        includeGlobal: grant.includeGlobal,
        organisation:
          found && roles
            ? { name: String(found.name), as, roles: { ...roles, all: roles.all.slice(roles.all.indexOf(as)) } }
            : null,
        maxEndpoints: organisation === undefined ? maxEndpointsPerUser : maxEndpointsPerOrganisation,
        keepDeliveriesDays,
        secretGraceHours,
        keepEventsDays,
      };
    },
  };
}
