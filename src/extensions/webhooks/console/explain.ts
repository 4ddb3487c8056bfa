import { z } from 'zod';
import { isAccountActive } from '../../../declare/actor.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import { allowsAction, type Viewer } from '../../../declare/policy.ts';
import type { RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { createdMsOf, isId } from '../../../platform/ids.ts';
import { isTransient } from '../../../platform/postgres/errors.ts';
import { boundKeyOf, type KeyLimits } from '../endpoints/access.ts';
import { listMatchingNames, listSubscribableNames, TEST_EVENT } from '../events.ts';
import { isKeptSql } from '../log/deliveries-sql.ts';
import type { EventFinder, KnownEvent } from '../log/known-events.ts';
import type { DeletedRecords } from '../readability/deleted-records.ts';
import type { WebhookSettings } from '../settings.ts';
import { type AdministeredEndpoint, type OwnerRoutes, serializeForAdministrator } from './as-owner.ts';

const DAY_MS = 86_400_000;
const MOST_DELIVERIES = 5;
const name = (error: string) => z.string().regex(/^[\w.-]{1,200}$/, { error });
const id = z.string().refine(isId, { error: 'Must be an id' });

/** The query: an event by its id or that of a delivery, or a change of a record by the id of the record. */
export const explainQuery = z
  .strictObject({
    endpoint: id,
    event: id.optional(),
    record: id.optional(),
    name: name('Must be the name of an event, such as post.created').optional(),
  })
  .refine(({ event, record, name: given }) => (event === undefined) === (record !== undefined && given !== undefined), {
    path: ['event'],
    error: 'Give the id of an event, or the id of a record and the name of an event',
  });

/** A rule that decides whether an endpoint gets an event. */
interface Rule {
  rule: string;
  /** `unknown`: nothing is stored from which it follows. */
  result: 'pass' | 'fail' | 'unknown';
  text: string;
}

interface FoundDelivery {
  id: string;
  status: string;
  attempts: number;
  error: string | null;
}

/** Why an endpoint did or did not get an event. */
interface Explanation {
  /** The id of the event; null if it was asked for by its record. */
  event: string | null;
  name: string | null;
  /** The result in one sentence. */
  verdict: string;
  isDelivered: boolean;
  /** In the order in which they apply. Rules are evaluated as they are now. */
  rules: Rule[];
  /** The deliveries of the event, or of the last events of the record with this name, newest first. */
  deliveries: FoundDelivery[];
}

/** Resolves the id of a delivery to its event. $1 delivery. Uses the primary keys. */
const EVENT_OF_DELIVERY = (isKept: string) => `
  select event_id, type, created_at, subject from (
    select event_id, type, created_at, body::jsonb #>> '{data,id}' as subject from webhook_deliveries where id = $1 and body <> ''
    union all select event_id, type, created_at, null from webhook_deliveries where id = $1 and body = ''
    union all
    select event_id, type, created_at, case when body <> '' then body::jsonb #>> '{data,id}' end from webhook_delivery_log d
    where id = $1 and ${isKept}) d limit 1`;

/** Finds deliveries of an endpoint. $1 endpoint, $2 event, or null and $3 name of events and $4 record. */
const FIND_DELIVERIES = (isKept: string) => {
  const from = (table: string, kept: string) => `
    (select d.id, d.status, d.attempts, d.error from ${table} d where d.endpoint_id = $1 and ($2::text is null or d.event_id = $2)
      and ($3::text is null or d.type = $3 and d.mentions @> array[$4]::text[]) ${kept} order by d.event_id desc limit ${MOST_DELIVERIES})`;
  return `select * from (${from('webhook_deliveries', '')} union all ${from('webhook_delivery_log', `and ${isKept}`)}) d
    order by id desc limit ${MOST_DELIVERIES}`;
};

type EventRow = [eventId: string, type: string, createdAt: string, subject: string | null];

/** What an event is about. `record`: its current state, or the last one if it is deleted; undefined if it is unknown. */
type Subject = { gateway: ResourceGateway; record: StoredRecord | undefined } | { owner: string | null } | undefined;

/** What the explanation is about. */
interface Question {
  event: string | null;
  name: string;
  /** When the event happened; null if it is not known. */
  at: string | null;
  waits: boolean;
  subject: Subject;
}

const DISABLED: Record<string, string> = {
  gone: 'its receiver responded with 410',
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

function stateText({ status, attempts, error }: FoundDelivery): string {
  const tried = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  if (status === 'succeeded') return `It was delivered, after ${tried}`;
  if (status === 'failed') return `It was tried, and failed after ${tried}: ${error ?? 'no reason is stored'}`;
  return `It waits to be sent, after ${tried}${error === null ? '' : `; the last one failed: ${error}`}`;
}

/** Creates the function that explains to administrators why an endpoint did or did not get an event. */
export function createAdministratorExplainer(
  host: Pick<Host, 'database' | 'resources' | 'service' | 'log'>,
  settings: WebhookSettings,
  parts: { as: OwnerRoutes; finder: EventFinder; deleted: Pick<DeletedRecords, 'read'>; limits: KeyLimits },
): (ctx: RouteContext) => Promise<Explanation> {
  const { database, service } = host;
  const { as, finder, deleted, limits } = parts;
  const gateways = new Map(host.resources.map((gateway) => [gateway.name, gateway]));
  const names = new Set(listSubscribableNames(host.resources, Object.keys(settings.events)));
  const isKept = isKeptSql(settings);
  const [eventText, deliveriesText] = [EVENT_OF_DELIVERY(isKept), FIND_DELIVERIES(isKept)];

  const gatewayOf = (event: string) =>
    Object.hasOwn(settings.events, event) ? undefined : gateways.get(event.slice(0, event.indexOf('.')));

  async function loadSubject(event: string, recordId: string | null): Promise<Subject> {
    const gateway = gatewayOf(event);
    if (gateway === undefined) return undefined;
    if (recordId === null || !isId(recordId)) return { gateway, record: undefined };
    const [current] = await gateway.load([recordId]);
    const [last] = current === undefined ? await deleted.read([{ resource: gateway.name, id: recordId }]) : [];
    return { gateway, record: current ?? last?.record };
  }

  function toSubject(about: KnownEvent['about']): Subject {
    if (about === undefined || 'owner' in about) return about;
    return { gateway: gateways.get(about.resource)!, record: about.record };
  }

  /** @throws ApiError NOT_FOUND if nothing is stored about the event */
  async function findQuestion(given: string, endpoint: AdministeredEndpoint, owner: Viewer): Promise<Question> {
    const [delivered] = await database.readSlowly<EventRow>({ text: eventText, values: [given] });
    const event = delivered?.[0] ?? given;
    const rows = await finder.findDeliveries(owner.id, event);
    const known = await finder.findEvent(event, rows, endpoint, owner);
    if (known === undefined && delivered === undefined) {
      if (createdMsOf(given) >= Date.now() - settings.keepDeliveriesDays * DAY_MS)
        throw new ApiError(
          'NOT_FOUND',
          'Nothing is stored about this event. Events that matched no endpoint are not stored: ask by record instead',
        );
      return { event, name: '', at: new Date(createdMsOf(given)).toISOString(), waits: false, subject: undefined };
    }
    const type = known?.name ?? delivered![1];
    const subject = toSubject(known?.about) ?? (await loadSubject(type, await findRecordId(delivered, rows)));
    return { event, name: type, at: known?.at ?? delivered![2], waits: known?.waitsForEndpoint ?? false, subject };
  }

  /** The id of the record that an event is about, by the body of a delivery; null if the body is encrypted. */
  async function findRecordId(
    delivered: EventRow | undefined,
    rows: Awaited<ReturnType<EventFinder['findDeliveries']>>,
  ): Promise<string | null> {
    if (delivered !== undefined) return delivered[3];
    const [first] = rows;
    if (first === undefined) return null;
    const [row] = await database.readSlowly<EventRow>({ text: eventText, values: [first[3]] });
    return row?.[3] ?? null;
  }

  /** Returns the result of a rule of the app. If it throws, the owner does not get the event, as in a fan-out. */
  async function evaluate(
    rule: string,
    texts: [pass: string, fail: string],
    decide: () => Promise<boolean>,
  ): Promise<Rule> {
    try {
      return toRule(rule, await decide(), ...texts);
    } catch (error) {
      if (isTransient(error)) throw error;
      host.log.error({ err: error, rule }, 'a policy threw while an event was explained');
      return { rule, result: 'fail', text: 'The rule threw an error, which is in the log; so the event is not sent' };
    }
  }

  async function accessRules(subject: Subject, { scope }: AdministeredEndpoint, owner: Viewer): Promise<Rule[]> {
    const viewContext = { user: owner, req: undefined, service };
    const rules: Rule[] = [];
    if (scope === 'global') {
      const args = { ...viewContext, action: 'webhook', doc: undefined };
      rules.push(
        await evaluate(
          'Global endpoints',
          [
            'The owner may have endpoints of scope "global"',
            'The owner may no longer have endpoints of scope "global" (globalPolicy)',
          ],
          () => allowsAction(settings.globalPolicy, args, false),
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
    const { gateway, record } = subject;
    if (record === undefined)
      return [
        ...rules,
        {
          rule: 'Record',
          result: 'unknown',
          text: 'The record does not exist or is not known, so access to it cannot be checked',
        },
      ];
    rules.push(
      await evaluate(
        'Scope filter',
        [
          gateway.declaration.scope === undefined
            ? `${gateway.name} has no scope filter`
            : 'The scope filter includes the record',
          `The scope filter of ${gateway.name} hides the record from the owner`,
        ],
        () => gateway.inScope(record, viewContext),
      ),
    );
    if (scope === 'own' && rules.every(({ result }) => result === 'pass')) {
      const policy = `policies.read of ${gateway.name}: ${gateway.readPolicy.text}`;
      const texts: [string, string] = [
        `The owner may read the record (${policy})`,
        `The owner may not read the record (${policy})`,
      ];
      rules.push(await evaluate('Read policy', texts, () => gateway.readableBy(record, viewContext)));
    }
    return rules;
  }

  async function keyRules(endpoint: AdministeredEndpoint, event: string): Promise<Rule[]> {
    const key = boundKeyOf(endpoint);
    if (key === undefined) return [];
    const ended = (await limits.ended([key.id])).length > 0;
    const [may, mayNot] = [
      `The scopes of its API key include ${event}`,
      `The scopes of its API key do not include ${event}`,
    ];
    return [
      toRule(
        'API key',
        !ended,
        'The API key of the endpoint is valid',
        'The API key of the endpoint was revoked or has expired',
      ),
      toRule('Key scopes', limits.reads(key, [event]), may, `${mayNot}: ${key.scopes.join(', ') || 'none'}`),
    ];
  }

  function endpointRules({ name: event, at, waits }: Question, endpoint: AdministeredEndpoint, owner: Viewer): Rule[] {
    const { createdAt, events, enabled, disabledReason } = endpoint;
    const isOlder = waits || at === null || Date.parse(createdAt) <= Date.parse(at);
    const isSubscribed = event === TEST_EVENT || listMatchingNames(event).some((one) => events.includes(one));
    return [
      toRule(
        'Sent events',
        names.has(event) || event === TEST_EVENT,
        `${event} is sent to webhooks`,
        `${event} is no event that is sent to webhooks`,
      ),
      ...(at === null
        ? []
        : [toRule('Age', isOlder, 'The endpoint is older than the event', 'The endpoint was created after the event')]),
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

  function verdictOf(question: Question, rules: readonly Rule[], deliveries: readonly FoundDelivery[]): string {
    const [newest] = deliveries;
    if (newest !== undefined && question.event !== null) return stateText(newest);
    const failed = rules.find(({ result }) => result === 'fail');
    if (failed !== undefined) return failed.text;
    if (newest !== undefined) return `The last delivery of this record: ${stateText(newest)}`;
    if (question.waits) return 'The event waits for the relay, which will create a delivery';
    return question.event === null
      ? 'No rule prevents a delivery now, but no delivery for this record is stored'
      : 'The endpoint would get the event now, but a rule was different when the event happened';
  }

  return async (ctx) => {
    const query = ctx.query as unknown as z.output<typeof explainQuery>;
    const { row, owner } = await as.load(query.endpoint);
    const endpoint = serializeForAdministrator(row);
    const question: Question =
      query.event !== undefined
        ? await findQuestion(query.event, endpoint, owner)
        : {
            event: null,
            name: query.name!,
            at: null,
            waits: false,
            subject: await loadSubject(query.name!, query.record!),
          };
    const { event, name: type } = question;
    if (type === '') {
      const text = `The event is older than ${settings.keepDeliveriesDays} days (keepDeliveriesDays), so nothing is stored about it`;
      return {
        event,
        name: null,
        verdict: text,
        isDelivered: false,
        rules: [{ rule: 'Age', result: 'unknown', text }],
        deliveries: [],
      };
    }
    const values = [endpoint.id, event, event === null ? type : null, query.record ?? null];
    const found = await database.readSlowly<[string, string, number, string | null]>({ text: deliveriesText, values });
    const deliveries = found.map(([deliveryId, status, attempts, error]) => ({
      id: deliveryId,
      status,
      attempts,
      error,
    }));
    const rules = [
      ...endpointRules(question, endpoint, owner),
      ...(type === TEST_EVENT
        ? []
        : [...(await keyRules(endpoint, type)), ...(await accessRules(question.subject, endpoint, owner))]),
    ];
    return {
      event,
      name: type,
      verdict: verdictOf(question, rules, deliveries),
      isDelivered: event !== null && deliveries[0]?.status === 'succeeded',
      rules,
      deliveries,
    };
  };
}
