import { allowsAction, type Host, type Viewer, withReadLimit } from '../../../../extension/index.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { Candidate, CandidatesByEvent } from './candidates.ts';
import type { OutgoingEvent } from './outgoing-event.ts';

/** Selects the events for each endpoint of a user: with scope `own`, readable events; with `global`, all in the user's scope filter. */
export async function selectReceivedEvents(
  { service, globalPolicy }: Pick<Host, 'service'> & Pick<WebhookSettings, 'globalPolicy'>,
  candidates: CandidatesByEvent,
  user: Viewer,
): Promise<CandidatesByEvent> {
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
    return [event, list.filter((one) => (one.global ? inScope : readable))] as const;
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
  const viewerOfKey = new Map<string, Viewer>();
  const limit = (scopes: readonly string[]): Viewer => {
    const key = scopes.join(' ');
    const auth = { via: 'api-key', scopes, id: '' } as const;
    const viewer = viewerOfKey.get(key) ?? withReadLimit(owner, limits.findReadLimit(auth));
    viewerOfKey.set(key, viewer);
    return viewer;
  };
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
