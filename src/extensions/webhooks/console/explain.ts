import { z } from 'zod';
import { type Host, isId, type RouteContext } from '../../../extension/index.ts';
import type { EventFinder } from '../api/known-events.ts';
import { isKeptSql } from '../deliveries/deliveries-sql.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import type { DeletedRecords } from '../engine/readability/deleted-records.ts';
import type { FilterChecks } from '../filters/check.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type OwnerRoutes, serializeForAdministrator } from './as-owner.ts';
import { createQuestionFinder, toChange } from './explain-questions.ts';
import { createRuleCheck, type Question } from './explain-rules.ts';
import type { ExplainedDelivery, Explanation, Rule } from './responses.ts';

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

/** Finds deliveries of an endpoint. $1 endpoint, $2 event, or null and $3 name of events and $4 record. */
const FIND_DELIVERIES = (isKept: string) => {
  const from = (table: string, kept: string) => `
    (select d.id, case when d.status = 'waiting' then 'pending' else d.status end as status, d.attempts, d.error from ${table} d where d.endpoint_id = $1 and ($2::text is null or d.event_id = $2)
      and ($3::text is null or d.type = $3 and d.mentions @> array[$4]::text[]) ${kept} order by d.event_id desc limit ${MOST_DELIVERIES})`;
  return `select * from (${from('webhook_deliveries', '')} union all ${from('webhook_delivery_log', `and ${isKept}`)}) d
    order by id desc limit ${MOST_DELIVERIES}`;
};

function stateText({ status, attempts, error }: ExplainedDelivery): string {
  const tried = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  if (status === 'succeeded') return `It was delivered, after ${tried}`;
  if (status === 'failed') return `It was tried, and failed after ${tried}: ${error ?? 'no reason is stored'}`;
  return `It waits to be sent, after ${tried}${error === null ? '' : `; the last one failed: ${error}`}`;
}

function explainVerdict(question: Question, rules: readonly Rule[], deliveries: readonly ExplainedDelivery[]): string {
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

/** Creates the function that explains to administrators why an endpoint did or did not get an event. */
export function createAdministratorExplainer(
  host: Pick<Host, 'database' | 'resources' | 'service' | 'log' | 'languages'>,
  settings: WebhookSettings,
  parts: {
    as: OwnerRoutes;
    finder: EventFinder;
    deleted: Pick<DeletedRecords, 'read'>;
    limits: KeyLimits;
    filters: FilterChecks;
  },
): (ctx: RouteContext) => Promise<Explanation> {
  const { database } = host;
  const { as, finder, deleted, limits, filters } = parts;
  const { findQuestion, loadSubject } = createQuestionFinder(host, settings, finder, deleted);
  const checkRules = createRuleCheck(host, settings, limits, filters);
  const deliveriesText = FIND_DELIVERIES(isKeptSql(settings));

  async function askAboutRecord(event: string, recordId: string): Promise<Question> {
    const subject = await loadSubject(event, recordId);
    return { event: null, name: event, at: null, waits: false, subject, change: toChange(event, subject) };
  }

  return async (ctx) => {
    const { text: translate } = host.languages.for(ctx.req);
    const query = ctx.query as unknown as z.output<typeof explainQuery>;
    const { row, owner } = await as.load(query.endpoint);
    const endpoint = serializeForAdministrator(row);
    const question =
      query.event !== undefined
        ? await findQuestion(query.event, endpoint, owner)
        : await askAboutRecord(query.name!, query.record!);
    const { event, name: type } = question;
    if (type === '') {
      const text = translate(
        `The event is older than ${settings.keepDeliveriesDays} days (keepDeliveriesDays), so nothing is stored about it`,
      );
      return {
        event,
        name: null,
        verdict: text,
        isDelivered: false,
        rules: [{ rule: translate('Age'), result: 'unknown', text }],
        deliveries: [],
      };
    }
    const values = [endpoint.id, event, event === null ? type : null, query.record ?? null];
    type Row = [string, ExplainedDelivery['status'], number, string | null];
    const found = await database.readSlowly<Row>({ text: deliveriesText, values });
    const deliveries = found.map(([deliveryId, status, attempts, error]) => ({
      id: deliveryId,
      status,
      attempts,
      error,
    }));
    const isDelivered = event !== null && deliveries.length > 0;
    const rules = await checkRules({ ...question, isDelivered }, endpoint, owner);
    return {
      event,
      name: type,
      verdict: translate(explainVerdict(question, rules, deliveries)),
      isDelivered: event !== null && deliveries[0]?.status === 'succeeded',
      rules: rules.map(({ rule, result, text }) => ({ rule: translate(rule), result, text: translate(text) })),
      deliveries,
    };
  };
}
