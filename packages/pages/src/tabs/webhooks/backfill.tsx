import { useEffect, useRef, useState } from 'preact/hooks';
import { ActionButton, call, Loaded, Section, Time, useLoaded } from '../../console/kit.ts';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { toInputValue } from './recovery.tsx';
import type { Backfill as BackfillProgress, Endpoint, WebhookFacts } from './responses.ts';
import { texts } from './texts.ts';

const POLL_MS = 1000;
const DAY_MS = 86_400_000;

type Verb = 'pause' | 'resume' | 'cancel';

function Progress({
  path,
  backfill,
  onChanged,
}: {
  path: string;
  backfill: BackfillProgress;
  onChanged: () => Promise<void>;
}) {
  const { id, status, sent, reachedAt } = backfill;
  const own = texts.backfill;
  const change = (verb: Verb) => async () => {
    await call(`${path}/backfills/${id}/${verb}`, { method: 'POST' });
    await onChanged();
  };
  const verbs: Verb[] = status === 'running' ? ['pause', 'cancel'] : status === 'paused' ? ['resume', 'cancel'] : [];
  return (
    <div class="webhooks-progress">
      <p role="status">
        {richText(own.progress(own.states[status], numberText(sent)), {
          time: <Time value={reachedAt} />,
        })}
      </p>
      {verbs.length > 0 && (
        <div class="actions">
          {verbs.map((verb) => (
            <ActionButton key={verb} run={change(verb)}>
              {own[verb]}
            </ActionButton>
          ))}
        </div>
      )}
    </div>
  );
}

/** The names of the chosen events; undefined if all are chosen. */
function readChosen(form: HTMLFormElement, subscribed: readonly string[]): string[] | undefined {
  if (subscribed.length === 1) return undefined;
  const chosen = new FormData(form).getAll('events').map(String);
  if (chosen.length === 0) throw new Error(texts.backfill.noEvents);
  return chosen.length === subscribed.length ? undefined : chosen;
}

/** The range and the events of a backfill. */
function BackfillForm({
  endpoint,
  path,
  isUnfinished,
  onStarted,
}: {
  endpoint: Endpoint;
  path: string;
  /** Whether the endpoint has a backfill, so that it cannot start another one. */
  isUnfinished: boolean;
  onStarted: () => Promise<void>;
}) {
  const form = useRef<HTMLFormElement>(null);
  const own = texts.backfill;
  const { events } = endpoint;
  const start = async () => {
    const values = new FormData(form.current!);
    const [since, until] = ['since', 'until'].map((name) => String(values.get(name)));
    if (!since) throw new Error(own.noTime);
    const body = {
      since: new Date(since).toISOString(),
      ...(until && { until: new Date(until).toISOString() }),
      events: readChosen(form.current!, events),
    };
    await call(`${path}/backfill`, { method: 'POST', body });
    await onStarted();
  };
  return (
    <form class="webhooks-question" ref={form} onSubmit={(event) => event.preventDefault()}>
      <div class="filters webhooks-filters">
        <label>
          {own.since}
          <input type="datetime-local" name="since" required defaultValue={toInputValue(Date.now() - DAY_MS)} />
        </label>
        <label>
          {own.until}
          <input type="datetime-local" name="until" />
        </label>
      </div>
      {events.length > 1 && (
        <fieldset class="webhooks-picker">
          <legend>{own.events}</legend>
          {events.map((name) => (
            <label key={name} class="check">
              <input type="checkbox" name="events" value={name} defaultChecked />
              {name}
            </label>
          ))}
        </fieldset>
      )}
      <p>
        <ActionButton run={start} disabled={isUnfinished || !endpoint.enabled || !endpoint.isOwnerActive}>
          {own.submit}
        </ActionButton>
      </p>
    </form>
  );
}

function BackfillSection({ endpoint }: { endpoint: Endpoint }) {
  const path = `/webhooks/endpoints/${endpoint.id}`;
  const [isUnfinished, setUnfinished] = useState(false);
  const list = useLoaded<BackfillProgress[]>(`${path}/backfills`, isUnfinished ? { everyMs: POLL_MS } : {});
  const status = list.data?.[0]?.status;
  useEffect(() => setUnfinished(status === 'running' || status === 'paused'), [status]);
  return (
    <Section title={texts.backfill.title}>
      <p class="soft part-text">{texts.backfill.text}</p>
      <BackfillForm endpoint={endpoint} path={path} isUnfinished={isUnfinished} onStarted={list.reload} />
      <Loaded from={list}>
        {([latest]) => (latest ? <Progress path={path} backfill={latest} onChanged={list.reload} /> : null)}
      </Loaded>
    </Section>
  );
}

/** Sends an endpoint the events that it has missed. Shows nothing if events are not kept. */
export function Backfill({ endpoint }: { endpoint: Endpoint }) {
  const { data } = useLoaded<WebhookFacts>('/webhooks/facts');
  return data && data.keepEventsDays > 0 ? <BackfillSection endpoint={endpoint} /> : null;
}
