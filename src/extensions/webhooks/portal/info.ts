import { z } from 'zod';
import { ApiError, type ExtensionHost, type Route } from '../../../extension/index.ts';
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

const infoShape = z.strictObject({
  expiresAt: z.iso.datetime(),
  endpointId: z.string().nullable(),
  includeGlobal: z.boolean(),
  organisation: z.strictObject({ name: z.string(), as: z.string() }).nullable(),
  maxEndpoints: z.int(),
  keepDeliveriesDays: z.number(),
  secretGraceHours: z.number(),
});

/** The route that tells the page what its link allows. Other credentials get NOT_FOUND. */
export function portalInfoRoute(
  settings: WebhookSettings,
  { organisations }: Pick<EndpointOwners, 'organisations'>,
): Route {
  const { policy, maxEndpointsPerUser, maxEndpointsPerOrganisation, keepDeliveriesDays, secretGraceHours } = settings;
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
      res.setHeader('Cache-Control', 'no-store');
      return {
        expiresAt: new Date(grant.expiresAt).toISOString(),
        endpointId: grant.endpointId ?? null,
        includeGlobal: grant.includeGlobal,
        organisation: organisation && found ? { name: String(found.name), as: `org:${organisation.role}` } : null,
        maxEndpoints: organisation === undefined ? maxEndpointsPerUser : maxEndpointsPerOrganisation,
        keepDeliveriesDays,
        secretGraceHours,
      };
    },
  };
}
