import {
  allowsAction,
  gatewaysByName,
  type Host,
  isAccountActive,
  isTransient,
  type ResourceGateway,
  type StoredRecord,
  type Viewer,
} from '../../../extension/index.ts';
import type { KnownChange } from '../api/known-events.ts';
import { type KeyLimits, toBoundKey } from '../endpoints/key-limits.ts';
import type { FilterChecks } from '../filters/check.ts';
import { createFilterEvaluator, type FailedCondition } from '../filters/evaluate.ts';
import { listMatchingNames, listSubscribableNames, TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import type { AdministeredEndpoint, Rule } from './responses.ts';

/** What an event is about. `record`: its current state, or the last one if it is deleted; undefined if it is unknown. */
export type Subject =
  | { gateway: ResourceGateway; record: StoredRecord | undefined }
  | { owner: string | null }
  | undefined;

/** What the explanation is about. */
export interface Question {
  event: string | null;
  name: string;
  /** When the event happened; null if it is not known. */
  at: string | null;
  waits: boolean;
  /** Whether the endpoint has a delivery of the event. */
  isDelivered?: boolean;
  subject: Subject;
  /** The change that filters decide on; undefined if it is not known. */
  change: KnownChange | undefined;
}

const DISABLED: Record<string, string> = {
  gone: 'its receiver wants no more messages (410, or webhook-delivery: disable)',
  failing: 'too many deliveries in a row failed',
  manual: 'a user disabled it',
  password_reset: 'its owner got a new password',
  key_ended: 'its API key was revoked or has expired',
};

const toRule = (rule: string, isMet: boolean, passText: string, failText: string): Rule => ({
  rule,
  result: isMet ? 'pass' : 'fail',
  text: isMet ? passText : failText,
});

/** Checks each rule that decides whether an endpoint of an owner gets an event, in the order in which they apply. */
type CheckRules = (question: Question, endpoint: AdministeredEndpoint, owner: Viewer) => Promise<Rule[]>;

/** @param keepsEvents whether a backfill can send events that are older than the endpoint */
function ageRules({ at, waits, isDelivered }: Question, createdAt: string, keepsEvents: boolean): Rule[] {
  if (at === null) return [];
  const rule = 'Age';
  if (waits || Date.parse(createdAt) <= Date.parse(at))
    return [{ rule, result: 'pass', text: 'The endpoint is older than the event' }];
  if (isDelivered) return [{ rule, result: 'pass', text: 'The event is older than the endpoint; a backfill sent it' }];
  const text = keepsEvents
    ? 'The endpoint was created after the event; a backfill can send it'
    : 'The endpoint was created after the event';
  return [{ rule, result: 'fail', text }];
}

/** @param names the events that endpoints can subscribe to */
function endpointRules(
  names: ReadonlySet<string>,
  question: Question,
  endpoint: AdministeredEndpoint,
  owner: Viewer,
  keepsEvents: boolean,
): Rule[] {
  const { name: event } = question;
  const { createdAt, events, enabled, disabledReason } = endpoint;
  const isSubscribed = event === TEST_EVENT || listMatchingNames(event).some((one) => events.includes(one));
  return [
    toRule(
      'Sent events',
      names.has(event) || event === TEST_EVENT,
      `${event} is sent to webhooks`,
      `${event} is no event that is sent to webhooks`,
    ),
    ...ageRules(question, createdAt, keepsEvents),
    toRule(
      'Subscription',
      isSubscribed,
      `The endpoint subscribes to ${event}`,
      `The endpoint does not subscribe to ${event}, only to ${events.join(', ')}`,
    ),
    toRule(
      'Enabled',
      enabled,
      'The endpoint is enabled',
      `The endpoint is disabled: ${DISABLED[disabledReason ?? ''] ?? 'no reason is stored'}`,
    ),
    toRule(
      'Owner',
      isAccountActive(owner),
      'The account of the owner is active',
      'The account of the owner is not active',
    ),
  ];
}

async function keyRules(
  limits: Pick<KeyLimits, 'ended' | 'reads'>,
  endpoint: AdministeredEndpoint,
  event: string,
): Promise<Rule[]> {
  const key = toBoundKey(endpoint);
  if (key === undefined) return [];
  const ended = (await limits.ended([key.id])).length > 0;
  return [
    toRule(
      'API key',
      !ended,
      'The API key of the endpoint is valid',
      'The API key of the endpoint was revoked or has expired',
    ),
    toRule(
      'Key scopes',
      limits.reads(key, [event]),
      `The scopes of its API key include ${event}`,
      `The scopes of its API key do not include ${event}: ${key.scopes.join(', ') || 'none'}`,
    ),
  ];
}

/** Returns the result of a rule of the app. If it throws, the owner does not get the event, as in a fan-out. */
async function evaluate(
  { log }: Pick<Host, 'log'>,
  rule: string,
  passText: string,
  failText: string,
  decide: () => Promise<boolean>,
): Promise<Rule> {
  try {
    return toRule(rule, await decide(), passText, failText);
  } catch (error) {
    if (isTransient(error)) throw error;
    log.error({ err: error, rule }, 'a policy threw while an event was explained');
    return { rule, result: 'fail', text: 'The rule threw an error, which is in the log; so the event is not sent' };
  }
}

async function recordRules(
  host: Pick<Host, 'log'>,
  { gateway, record }: { gateway: ResourceGateway; record: StoredRecord | undefined },
  { scope }: Pick<AdministeredEndpoint, 'scope'>,
  viewContext: Parameters<ResourceGateway['inScope']>[1],
): Promise<Rule[]> {
  if (record === undefined)
    return [
      {
        rule: 'Record',
        result: 'unknown',
        text: 'The record does not exist or is not known, so access to it cannot be checked',
      },
    ];
  const rules = [
    await evaluate(
      host,
      'Scope filter',
      gateway.declaration.scope === undefined
        ? `${gateway.name} has no scope filter`
        : 'The scope filter includes the record',
      `The scope filter of ${gateway.name} hides the record from the owner`,
      () => gateway.inScope(record, viewContext),
    ),
  ];
  if (scope === 'own' && rules.every(({ result }) => result === 'pass')) {
    const policy = `policies.read of ${gateway.name}: ${gateway.readPolicy.text}`;
    const [may, mayNot] = [
      `The owner may read the record (${policy})`,
      `The owner may not read the record (${policy})`,
    ];
    rules.push(await evaluate(host, 'Read policy', may, mayNot, () => gateway.readableBy(record, viewContext)));
  }
  return rules;
}

/** Policies and scope filters are evaluated by the gateways, as in a fan-out. */
async function accessRules(
  host: Pick<Host, 'service' | 'log'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
  subject: Subject,
  { scope }: AdministeredEndpoint,
  owner: Viewer,
): Promise<Rule[]> {
  const viewContext = { user: owner, req: undefined, service: host.service };
  const rules: Rule[] = [];
  if (scope === 'global') {
    const args = { ...viewContext, action: 'webhook', doc: undefined };
    rules.push(
      await evaluate(
        host,
        'Global endpoints',
        'The owner may have endpoints of scope "global"',
        'The owner may no longer have endpoints of scope "global" (globalPolicy)',
        () => allowsAction(globalPolicy, args, false),
      ),
    );
  }
  if (subject === undefined) return rules;
  if ('owner' in subject) {
    const isOwn = scope === 'global' || subject.owner === owner.id;
    return [
      ...rules,
      toRule('Receiver', isOwn, 'The event was published for this owner', 'The event was published for another user'),
    ];
  }
  return [...rules, ...(await recordRules(host, subject, { scope }, viewContext))];
}

const failedText = ({ event, condition, error }: FailedCondition) =>
  error === null
    ? `The event does not meet "${condition}" of the filter for ${event}`
    : `The condition "${condition}" of the filter for ${event} cannot be used: ${error}`;

/** Creates the check of an endpoint's filter. */
function createFilterRules(
  { resources, service }: Pick<Host, 'resources' | 'service'>,
  { viewerOf }: Pick<FilterChecks, 'viewerOf'>,
): (question: Question, endpoint: AdministeredEndpoint, owner: Viewer) => Promise<Rule[]> {
  const gateways = gatewaysByName(resources);
  return async ({ change, subject }, { filter, scopes }, owner) => {
    // Events that the app publishes have no record to filter by.
    if (filter === null || subject === undefined || 'owner' in subject) return [];
    const rule = 'Filter';
    if (change === undefined)
      return [{ rule, result: 'unknown', text: 'The record is not known, so the filter cannot be evaluated' }];
    const viewContext = { user: viewerOf(owner, scopes), req: undefined, service };
    const failed = await createFilterEvaluator(gateways, viewContext).findFailed(filter, change);
    if (failed !== undefined) return [{ rule, result: 'fail', text: failedText(failed) }];
    if (!change.knowsChangedFields && Object.values(filter).some((conditions) => Array.isArray(conditions.changed)))
      return [{ rule, result: 'unknown', text: 'Which fields the update changed is not known' }];
    return [{ rule, result: 'pass', text: 'The record meets the filter of the endpoint' }];
  };
}

/** Creates the check of all rules. */
export function createRuleCheck(
  host: Pick<Host, 'resources' | 'service' | 'log'>,
  settings: Pick<WebhookSettings, 'globalPolicy' | 'events' | 'keepEventsDays'>,
  limits: Pick<KeyLimits, 'ended' | 'reads'>,
  filters: Pick<FilterChecks, 'viewerOf'>,
): CheckRules {
  const names = new Set(listSubscribableNames(host.resources, Object.keys(settings.events)));
  const filterRules = createFilterRules(host, filters);
  return async (question, endpoint, owner) => {
    const rules = endpointRules(names, question, endpoint, owner, settings.keepEventsDays > 0);
    if (question.name === TEST_EVENT) return rules;
    rules.push(...(await keyRules(limits, endpoint, question.name)));
    rules.push(...(await accessRules(host, settings, question.subject, endpoint, owner)));
    rules.push(...(await filterRules(question, endpoint, owner)));
    return rules;
  };
}
