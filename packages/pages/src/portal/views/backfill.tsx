import { useEffect } from 'preact/hooks';
import { FormField } from '../../kit/form-field.tsx';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { Notice } from '../parts/page.tsx';
import { useAction, useData } from '../parts/requests.ts';
import type { Backfill as BackfillProgress, Endpoint } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';

const POLL_MS = 1000;
const DAY_MS = 86_400_000;

/** The local time in the form of a `datetime-local` input. */
const toInputValue = (ms: number) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** Follows the latest backfill of an endpoint while it runs. */
function useLatest(endpointId: string) {
  const { data, error, reload } = useData<BackfillProgress[]>(`/${endpointId}/backfills`);
  const latest = data?.[0];
  useEffect(() => {
    if (latest?.status !== 'running') return undefined;
    const timer = setTimeout(reload, POLL_MS);
    return () => clearTimeout(timer);
  }, [data, error]);
  return { latest, error, reload };
}

const VERBS = { running: ['pause', 'cancel'], paused: ['resume', 'cancel'] } as const;

function Progress({
  endpointId,
  backfill,
  onChange,
}: {
  endpointId: string;
  backfill: BackfillProgress;
  onChange: () => void;
}) {
  const { busy, error, run } = useAction();
  const { id, status, sent, reachedAt } = backfill;
  const own = texts.tools.backfill;
  const verbs = status === 'running' || status === 'paused' ? VERBS[status] : [];
  const change = (verb: string) =>
    run(async () => {
      await send(`/${endpointId}/backfills/${id}/${verb}`, { method: 'POST' });
      onChange();
    });
  return (
    <>
      <div role="status">
        <p>{own.progress(own.states[status], numberText(sent))}</p>
        <p class="soft">
          {richText(own.reached, {
            time: <time dateTime={reachedAt}>{new Date(reachedAt).toLocaleString(document.documentElement.lang)}</time>,
          })}
        </p>
      </div>
      <Notice kind="bad">{error?.message}</Notice>
      <div class="row wrap">
        {verbs.map((verb) => (
          <button key={verb} type="button" disabled={busy} onClick={() => change(verb)}>
            {own[verb]}
          </button>
        ))}
      </div>
    </>
  );
}

/** Reads the request for a backfill from its form. Events are left out if all are chosen. */
function readRequest(form: HTMLFormElement, subscribed: readonly string[]) {
  const values = new FormData(form);
  const toIso = (name: string) => {
    const text = String(values.get(name));
    return text === '' ? undefined : new Date(text).toISOString();
  };
  const events = values.getAll('events').map(String);
  const hasAll = subscribed.length === 1 || events.length === subscribed.length;
  return { since: toIso('since'), until: toIso('until'), events: hasAll ? undefined : events };
}

function EventChoice({ names, errors }: { names: readonly string[]; errors: Readonly<Record<string, string>> }) {
  return (
    <fieldset>
      <legend>{texts.tools.backfill.events}</legend>
      {names.map((name) => (
        <label key={name} class="check">
          <input type="checkbox" name="events" value={name} defaultChecked />
          {name}
        </label>
      ))}
      {errors.events && (
        <p class="field-error" role="alert">
          {errors.events}
        </p>
      )}
    </fieldset>
  );
}

/** Sends an endpoint the events that it has missed. */
export function Backfill({ endpoint, keepDays }: { endpoint: Endpoint; keepDays: number }) {
  const { busy, error, run, clearError } = useAction();
  const { latest, error: failure, reload } = useLatest(endpoint.id);
  const own = texts.tools.backfill;
  const details = error?.details ?? {};
  const isUnfinished = latest?.status === 'running' || latest?.status === 'paused';
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const body = readRequest(event.currentTarget, endpoint.events);
    run(async () => {
      await send(`/${endpoint.id}/backfill`, { method: 'POST', body });
      reload();
    });
  };
  const time = (name: 'since' | 'until', hint: string, required: boolean) => (
    <FormField form="backfill" name={name} label={own[name]} hint={hint} errors={details}>
      {(control) => (
        <input
          {...control}
          name={name}
          type="datetime-local"
          required={required}
          defaultValue={required ? toInputValue(Date.now() - DAY_MS) : undefined}
        />
      )}
    </FormField>
  );
  return (
    <section>
      <h2>{own.heading}</h2>
      <p class="soft">{own.text}</p>
      <form onSubmit={submit} onInput={clearError}>
        {time('since', own.hint(keepDays), true)}
        {time('until', own.untilHint, false)}
        {endpoint.events.length > 1 && <EventChoice names={endpoint.events} errors={details} />}
        <button type="submit" disabled={busy || isUnfinished || !endpoint.enabled}>
          {own.submit}
        </button>
      </form>
      <Notice kind="bad">{failure?.message ?? (Object.keys(details).length === 0 ? error?.message : undefined)}</Notice>
      {latest && <Progress endpointId={endpoint.id} backfill={latest} onChange={reload} />}
    </section>
  );
}
