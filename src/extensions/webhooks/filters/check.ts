import {
  ApiError,
  type ErrorDetails,
  gatewaysByName,
  getOrganisationRole,
  type Host,
  isTransient,
  type ResourceGateway,
  type Viewer,
  validationError,
  withoutOrganisationChoice,
  withReadLimit,
} from '../../../extension/index.ts';
import type { Conditions, EndpointFilter } from '../endpoints/filter-schema.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import { toOwnerAuth } from '../endpoints/owners.ts';
import { listMatchingNames, listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { RULE_ERROR, toFilterRequest } from './evaluate.ts';

/** The part of an endpoint that decides what its filter may contain. */
interface FilteredEndpoint {
  /** As the endpoint subscribes to them: `post.created`, `post.*`, `*`. */
  events: readonly string[];
  filter: EndpointFilter | null;
  /** The scopes of the API key that the endpoint is bound to; left out if it is bound to none. */
  scopes?: readonly string[] | undefined;
}

/** Checks filters of endpoints against the declarations and what the owner may see. */
export interface FilterChecks {
  /** Returns the viewer that the relay uses to evaluate the filters of an owner's endpoints. */
  viewerOf(owner: Viewer, scopes: readonly string[] | null | undefined): Viewer;
  /**
   * Checks a filter that a request sets.
   *
   * @throws ApiError VALIDATION_ERROR with a message for each condition: `filter.invoice.*.status`
   */
  assertValid(endpoint: FilteredEndpoint, owner: Viewer): Promise<void>;
  /**
   * Checks that the endpoint gets events that each part of its filter matches.
   *
   * @throws ApiError VALIDATION_ERROR
   */
  assertSubscribed(endpoint: FilteredEndpoint): void;
  /**
   * Returns why a stored filter lets no event pass: its first condition that the owner may not use any more; null if there is none.
   *
   * @param translate translates the error
   */
  findError(endpoint: FilteredEndpoint, owner: Viewer, translate?: (text: string) => string): Promise<string | null>;
}

const UPDATED = '.updated';

/** Whether an endpoint that subscribes to these events can get an event that the pattern matches. */
function isSubscribed(events: readonly string[], pattern: string): boolean {
  return events.some((one) => listMatchingNames(pattern).includes(one) || listMatchingNames(one).includes(pattern));
}

/** Creates the checks of filters. */
export function createFilterChecks(
  host: Pick<Host, 'resources' | 'service' | 'log'>,
  settings: Pick<WebhookSettings, 'events'>,
  limits: Pick<KeyLimits, 'findReadLimit'>,
): FilterChecks {
  const gateways = gatewaysByName(host.resources);
  const names = new Set(listSubscribableNames(host.resources, Object.keys(settings.events)));

  const viewerOf: FilterChecks['viewerOf'] = (owner, scopes) => {
    const viewer = withoutOrganisationChoice(owner)!;
    // An organisation always has the limit to records of organisations.
    if (!scopes) return getOrganisationRole(owner) === undefined ? withReadLimit(viewer, undefined) : viewer;
    return withReadLimit(viewer, limits.findReadLimit(toOwnerAuth(viewer, scopes)));
  };

  /** Returns the resource whose events a pattern matches; undefined for events of the app. */
  function findResource(pattern: string): ResourceGateway | undefined {
    const gateway = gateways.get(pattern.slice(0, pattern.indexOf('.')));
    return Object.hasOwn(settings.events, pattern) ? undefined : gateway;
  }

  async function findConditionErrors(pattern: string, conditions: Conditions, viewer: Viewer): Promise<ErrorDetails> {
    const at = `filter.${pattern}`;
    if (pattern === '*') return { [at]: 'Must name one resource, such as "invoice.*"' } satisfies ErrorDetails;
    if (!names.has(pattern))
      return { [at]: 'Must be an event or a pattern, such as "invoice.*"' } satisfies ErrorDetails;
    const gateway = findResource(pattern);
    if (gateway === undefined)
      return {
        [at]: 'Must be an event about a record: the app publishes this event, which has no fields to filter by',
      } satisfies ErrorDetails;
    const request = toFilterRequest(conditions);
    if (request.changed.length > 0 && !pattern.endsWith(UPDATED))
      return {
        [`${at}.changed`]: `Must stand under "${gateway.name}${UPDATED}", because only updates change fields`,
      } satisfies ErrorDetails;
    const viewContext = { user: viewer, req: undefined, service: host.service };
    const { errors } = await gateway.prepareFilter(request, viewContext);
    return Object.fromEntries(Object.entries(errors).map(([name, message]) => [`${at}.${name}`, message]));
  }

  async function findErrors(filter: EndpointFilter, viewer: Viewer): Promise<ErrorDetails> {
    const all: ErrorDetails[] = [];
    for (const [pattern, conditions] of Object.entries(filter))
      all.push(await findConditionErrors(pattern, conditions, viewer));
    return Object.assign({}, ...all);
  }

  const assertSubscribed: FilterChecks['assertSubscribed'] = ({ filter, events }) => {
    const others = Object.keys(filter ?? {}).filter((pattern) => !isSubscribed(events, pattern));
    if (others.length === 0) return;
    throw validationError(
      Object.fromEntries(others.map((one) => [`filter.${one}`, 'Must be an event to which the webhook subscribes'])),
    );
  };

  return {
    viewerOf,
    assertSubscribed,
    async assertValid(endpoint, owner) {
      if (endpoint.filter === null) return;
      const errors = await findErrors(endpoint.filter, viewerOf(owner, endpoint.scopes));
      if (Object.keys(errors).length > 0) throw validationError(errors);
      assertSubscribed(endpoint);
    },
    async findError({ filter, scopes }, owner, translate = (text) => text) {
      if (filter === null) return null;
      try {
        const [first] = Object.entries(await findErrors(filter, viewerOf(owner, scopes)));
        return first === undefined ? null : `${first[0]}: ${translate(String(first[1]))}`;
      } catch (error) {
        if (isTransient(error)) throw error;
        if (!(error instanceof ApiError)) host.log.error({ err: error }, 'the filter of a webhook cannot be evaluated');
        return translate(RULE_ERROR);
      }
    },
  };
}
