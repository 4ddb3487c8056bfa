import {
  type Accounts,
  ApiError,
  createClientSlots,
  type ExtensionHost,
  type ResourceGateway,
  type Route,
  StartupError,
} from '../../extension/index.ts';
import { withTranslatedErrors } from './api/attempt-errors.ts';
import { backfillRoutes } from './api/backfill-routes.ts';
import { deliveryRoutes } from './api/delivery-routes.ts';
import { endpointRoutes } from './api/endpoint-routes.ts';
import { eventCatalogueRoutes } from './api/event-catalogue.ts';
import { explainRoute } from './api/explain.ts';
import { filterTestRoute } from './api/filter-test.ts';
import { createEventFinder, type EventFinder } from './api/known-events.ts';
import { createEndpointAccess, type EndpointAccess } from './api/organisation-endpoints.ts';
import { type PollDependencies, pollRoutes } from './api/poll-routes.ts';
import { recoveryRoutes } from './api/recovery-routes.ts';
import { createDeliverySerializer, type DeliverySerializer } from './api/serialize-delivery.ts';
import { createKeyLimits, type KeyLimits } from './endpoints/key-limits.ts';
import { createEndpointOwners, type EndpointOwners } from './endpoints/owners.ts';
import { type Backfills, createBackfills } from './engine/backfill/backfills.ts';
import { createEventLog, type EventLog } from './engine/fanout/event-log.ts';
import { createLookUps } from './engine/polling/look-ups.ts';
import { createPollWaits } from './engine/polling/waits.ts';
import { createDeletedRecords, type DeletedRecords } from './engine/readability/deleted-records.ts';
import { type CheckReadability, createReadabilityCheck } from './engine/readability/readability.ts';
import { createRecoveries, type Recoveries } from './engine/recovery/recoveries.ts';
import { createFilterChecks, type FilterChecks } from './filters/check.ts';
import { createStatusReader, type StatusReader } from './monitoring/status.ts';
import { portalBaseUrl, portalInfoRoute } from './portal/info.ts';
import { createPortalLinks, type PortalLinks } from './portal/links.ts';
import type { WebhookSettings } from './settings/settings.ts';

/** The parts of the extension that routes, sweeps and workers share. */
export interface Parts {
  accounts: Accounts;
  users: ResourceGateway;
  limits: KeyLimits;
  owners: EndpointOwners;
  filters: FilterChecks;
  deleted: DeletedRecords;
  check: CheckReadability;
  deliverySerializer: DeliverySerializer;
  finder: EventFinder;
  recoveries: Recoveries;
  /** Undefined, like `backfills`, if events are not kept. */
  eventLog: EventLog | undefined;
  backfills: Backfills | undefined;
  status: StatusReader;
  access: EndpointAccess;
  links: PortalLinks;
  polls: Omit<PollDependencies, 'limits' | 'access'>;
}

/** @throws StartupError if the app has no accounts */
export function createParts(host: ExtensionHost, settings: WebhookSettings): Parts {
  const { accounts, users } = host;
  if (accounts === undefined || users === undefined) {
    throw new StartupError('webhooks() cannot work:', [
      'it needs accounts, because endpoints belong to users; see defineUser',
    ]);
  }
  const limits = createKeyLimits(host);
  const owners = createEndpointOwners(host, users, limits);
  const deleted = createDeletedRecords(host, settings);
  const check = createReadabilityCheck(host, owners, settings, deleted, limits);
  const eventLog = settings.keepEventsDays > 0 ? createEventLog(host, users) : undefined;
  const deliverySerializer = createDeliverySerializer(host, check);
  const access = createEndpointAccess(host, owners, settings);
  const linkParts = { host, accounts, owners, manages: access.manages };
  const links = createPortalLinks(linkParts, portalBaseUrl(host, settings));
  return {
    accounts,
    users,
    limits,
    owners,
    filters: createFilterChecks(host, settings, limits),
    deleted,
    check,
    deliverySerializer,
    finder: createEventFinder(host, settings, deliverySerializer, eventLog),
    recoveries: createRecoveries(host, owners, settings),
    eventLog,
    backfills: eventLog && createBackfills(host, settings),
    status: createStatusReader(host, owners, settings),
    access,
    links,
    polls: createPollParts(host, settings, check),
  };
}

/** Creates what the polls of this process share. */
function createPollParts(host: ExtensionHost, settings: WebhookSettings, check: CheckReadability): Parts['polls'] {
  return {
    lookUps: createLookUps(host, check),
    waits: createPollWaits(host.queues, settings.pollMs),
    slots: createClientSlots({
      total: settings.maxPolls,
      perUser: settings.maxPollsPerUser,
      refuse: (limit, more) => new ApiError('RATE_LIMITED', `You can have at most ${limit} polls waiting`, more),
    }),
  };
}

/** Creates the routes of the API. */
export function createApiRoutes(host: ExtensionHost, settings: WebhookSettings, parts: Parts): Route[] {
  const { limits, filters, deliverySerializer, recoveries, access, owners, polls, backfills, links, finder } = parts;
  const holdCredential: Accounts['holdCredential'] = async (ctx, tx) => {
    await parts.accounts.holdCredential(ctx, tx);
    await links.assertHolds(ctx.auth, tx);
  };
  const accounts = { ...parts.accounts, holdCredential };
  const routes = [
    ...endpointRoutes(host, accounts, settings, limits, access, filters),
    ...eventCatalogueRoutes(host, settings, access),
    ...deliveryRoutes(host, settings, limits, deliverySerializer, access),
    ...recoveryRoutes(host, settings, limits, recoveries, access),
    ...(backfills === undefined ? [] : backfillRoutes(host, settings, limits, backfills, access)),
    ...pollRoutes(host, settings, { ...polls, limits, access }),
    filterTestRoute(host, settings, limits, filters, deliverySerializer, access),
    explainRoute(host, settings, limits, finder, filters, access),
    ...(settings.portal === undefined ? [] : [portalInfoRoute(settings, owners, access)]),
  ];
  return withTranslatedErrors(access.runForOwners(routes), host);
}
