import {
  allowsAction,
  type Host,
  isTransient,
  type ResourceGateway,
  type Viewer,
  withReadLimit,
} from '../../../../extension/index.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import { toOwnerAuth } from '../../endpoints/owners.ts';
import { createFilterEvaluator, type FilterEvaluator } from '../../filters/evaluate.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { Candidate, CandidatesByEvent } from './candidates.ts';
import type { OutgoingEvent, RecordEvent } from './outgoing-event.ts';

/** Creates the function that returns an owner with the limits of an endpoint's API key, for keys with these scopes. */
function createKeyViewers(
  limits: Pick<KeyLimits, 'findReadLimit'>,
  owner: Viewer,
): (keyScopes: readonly string[]) => Viewer {
  const viewerOfKey = new Map<string, Viewer>();
  return (scopes) => {
    const key = scopes.join(' ');
    const viewer = viewerOfKey.get(key) ?? withReadLimit(owner, limits.findReadLimit(toOwnerAuth(owner, scopes)));
    viewerOfKey.set(key, viewer);
    return viewer;
  };
}

/** What the selection of events depends on. */
interface SelectionDependencies extends Pick<Host, 'service' | 'log'>, Pick<WebhookSettings, 'globalPolicy'> {
  /** The resources by name, with their former names. */
  gateways: ReadonlyMap<string, ResourceGateway>;
  limits: Pick<KeyLimits, 'findReadLimit'>;
}

/** Creates the function that leaves out the endpoints of an owner whose filters an event does not meet. */
function createEndpointFilter(
  { service, log, gateways, limits }: SelectionDependencies,
  owner: Viewer,
): (event: OutgoingEvent, endpoints: Candidate[]) => Candidate[] | Promise<Candidate[]> {
  const limit = createKeyViewers(limits, owner);
  const evaluators = new Map<Viewer, FilterEvaluator>();

  function findEvaluator({ keyScopes }: Candidate): FilterEvaluator {
    const viewer = keyScopes === null ? owner : limit(keyScopes);
    const evaluator =
      evaluators.get(viewer) ?? createFilterEvaluator(gateways, { user: viewer, req: undefined, service });
    evaluators.set(viewer, evaluator);
    return evaluator;
  }

  async function meetsFilter(event: RecordEvent, endpoint: Candidate): Promise<boolean> {
    if (endpoint.filter === null) return true;
    try {
      return await findEvaluator(endpoint).meets(endpoint.filter, event);
    } catch (error) {
      if (isTransient(error)) throw error;
      // The owner's endpoints without this filter still get the event.
      const where = { event: event.name, id: event.id, endpoint: endpoint.id };
      log.error(
        { err: error, ...where },
        'the filter of a webhook could not be evaluated; the event is not sent to it',
      );
      return false;
    }
  }

  return (event, endpoints) => {
    // Events that the app publishes have no record to filter by.
    if (event.gateway === undefined || endpoints.every(({ filter }) => filter === null)) return endpoints;
    return Promise.all(endpoints.map((one) => meetsFilter(event, one))).then((met) =>
      endpoints.filter((_, i) => met[i]),
    );
  };
}

/**
 * Selects the events for each endpoint of a user: with scope `own`, readable events; with `global`, all in the user's scope filter; of
 * these, the events that meet the filter of the endpoint.
 */
export async function selectReceivedEvents(
  dependencies: SelectionDependencies,
  candidates: CandidatesByEvent,
  user: Viewer,
): Promise<CandidatesByEvent> {
  const { service, globalPolicy } = dependencies;
  const filterEndpoints = createEndpointFilter(dependencies, user);
  // One context for all events, so that the scope of each resource is evaluated once.
  const viewContext = { user, req: undefined, service };
  const hasGlobal = [...candidates.values()].some((list) => list.some((one) => one.global));
  const isGlobalAllowed =
    hasGlobal && (await allowsAction(globalPolicy, { ...viewContext, action: 'webhook', doc: undefined }, false));
  // Side by side, so that look-ups of related records share a statement.
  const reachedByEvent = [...candidates].map(async ([event, list]) => {
    const own = list.some((one) => !one.global);
    const all = isGlobalAllowed && list.some((one) => one.global);
    const { gateway } = event;
    const readable =
      own && (gateway === undefined ? event.owner === user.id : await gateway.readableBy(event.record, viewContext));
    const inScope = all && (gateway === undefined || (await gateway.inScope(event.record, viewContext)));
    const reached = list.filter((one) => (one.global ? inScope : readable));
    return [event, await filterEndpoints(event, reached)] as const;
  });
  return new Map((await Promise.all(reachedByEvent)).filter(([, reached]) => reached.length > 0));
}

/**
 * Divides events by what the endpoints of an owner show of them. An endpoint that is bound to an API key expands only records that the key may
 * read; if that leaves out nothing, it gets what the owner's other endpoints get.
 */
export function divideByViewer(
  limits: Pick<KeyLimits, 'findReadLimit'>,
  selected: CandidatesByEvent,
  owner: Viewer,
): Map<Viewer, CandidatesByEvent> {
  const limit = createKeyViewers(limits, owner);
  const chooseViewer = ({ gateway }: OutgoingEvent, { keyScopes }: Candidate): Viewer => {
    if (keyScopes === null || gateway === undefined) return owner;
    const limited = limit(keyScopes);
    return gateway.visibilityKey(limited) === gateway.visibilityKey(owner) ? owner : limited;
  };
  const divided = new Map<Viewer, CandidatesByEvent>();
  for (const [event, list] of selected) {
    for (const [viewer, some] of Map.groupBy(list, (one) => chooseViewer(event, one))) {
      const byEvent: CandidatesByEvent = divided.get(viewer) ?? new Map();
      divided.set(viewer, byEvent.set(event, some));
    }
  }
  return divided;
}
