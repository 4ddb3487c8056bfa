import { useEffect, useState } from 'preact/hooks';
import { FormField } from '../../kit/form-field.tsx';
import { numberText } from '../../kit/numbers.ts';
import { RequestError } from '../../kit/request.ts';
import { richText } from '../../kit/rich-text.ts';
import { Notice } from '../parts/page.tsx';
import { useAction } from '../parts/requests.ts';
import type { Delivery, Endpoint, Explanation, Recovery } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';
import { Backfill } from './backfill.tsx';
import { DeliveryResult } from './delivery.tsx';

const POLL_MS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function Test({ endpoint, onSent }: { endpoint: Endpoint; onSent: () => void }) {
  const { busy, error, run } = useAction();
  const [sent, setSent] = useState<Delivery>();
  const isPolled = endpoint.delivery === 'poll';
  const test = () =>
    run(async () => {
      setSent(undefined);
      const { data } = await send<Delivery>(`/${endpoint.id}/test`, { method: 'POST' });
      setSent(data);
      onSent();
    });
  return (
    <section>
      <h2>{texts.tools.test.heading}</h2>
      <p class="soft">
        {richText(isPolled ? texts.tools.test.polledText : texts.tools.test.text, { event: <code>webhook.test</code> })}
      </p>
      <button type="button" class="primary" disabled={busy || !endpoint.enabled} onClick={test}>
        {busy ? texts.sending : texts.tools.test.submit}
      </button>
      <Notice kind="bad">{error?.message}</Notice>
      <div role="status">{sent && <DeliveryResult delivery={sent} />}</div>
    </section>
  );
}

/** The local time in the form of a `datetime-local` input. */
const toInputValue = (ms: number) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** Starts a recovery and follows its progress. */
function useRecovery(endpointId: string) {
  const { busy, error, run, clearError } = useAction();
  const [recovery, setRecovery] = useState<Recovery>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    if (recovery?.status !== 'running') return undefined;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { data } = await send<Recovery>(`/${endpointId}/recoveries/${recovery.id}`, { signal: abort.signal });
        setFailure(undefined);
        setRecovery(data);
      } catch (caught) {
        if (abort.signal.aborted) return;
        if (!(caught instanceof RequestError)) throw caught;
        setFailure(caught.message);
        // A copy, so that it is read again.
        setRecovery({ ...recovery });
      }
    }, POLL_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [recovery]);
  const start = (since: Date) =>
    run(async () => {
      setFailure(undefined);
      const body = { since: since.toISOString() };
      setRecovery((await send<Recovery>(`/${endpointId}/recover`, { method: 'POST', body })).data);
    });
  const details = error?.details ?? {};
  return {
    recovery,
    isBusy: busy || recovery?.status === 'running',
    details,
    failure: failure ?? (details.since === undefined ? error?.message : undefined),
    start,
    clearError,
  };
}

function Progress({ recovery: { status, resent, total } }: { recovery: Recovery }) {
  const { states, progress, progressLabel } = texts.tools.recovery;
  return (
    <>
      <p>{progress(states[status], numberText(resent), numberText(total))}</p>
      {total > 0 && <progress max={total} value={resent} aria-label={progressLabel}></progress>}
    </>
  );
}

function Recover({ endpoint, keepDays }: { endpoint: Endpoint; keepDays: number }) {
  const { recovery, isBusy, details, failure, start, clearError } = useRecovery(endpoint.id);
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const since = new Date(String(new FormData(event.currentTarget).get('since')));
    if (!Number.isNaN(since.getTime())) start(since);
  };
  return (
    <section>
      <h2>{texts.tools.recovery.heading}</h2>
      <p class="soft">{texts.tools.recovery.text}</p>
      <form onSubmit={submit} onInput={clearError}>
        <FormField
          form="recovery"
          name="since"
          label={texts.tools.recovery.since}
          hint={texts.tools.recovery.hint(keepDays)}
          errors={details}
        >
          {(control) => (
            <input
              {...control}
              name="since"
              type="datetime-local"
              required
              defaultValue={toInputValue(Date.now() - HOUR_MS)}
              min={toInputValue(Date.now() - keepDays * DAY_MS)}
              max={toInputValue(Date.now())}
            />
          )}
        </FormField>
        <button type="submit" disabled={isBusy || !endpoint.enabled}>
          {texts.tools.recovery.submit}
        </button>
      </form>
      <Notice kind="bad">{failure}</Notice>
      <div role="status">{recovery && <Progress recovery={recovery} />}</div>
    </section>
  );
}

function ExplanationNotice({ explanation: { reason, message, name, delivery, filter } }: { explanation: Explanation }) {
  const { reasons, states, ...own } = texts.tools.explain;
  const known: Readonly<Record<string, string>> = reasons;
  return (
    <div class="card">
      <p>
        <strong>{known[reason] ?? message}</strong>
      </p>
      {name && <p>{richText(own.event, { name: <code>{name}</code> })}</p>}
      {filter && <p>{own.condition(filter.event, filter.condition)}</p>}
      {filter?.error && <p class="soft">{filter.error}</p>}
      {delivery && <p>{own.delivery(states[delivery.status], delivery.attempts)}</p>}
    </div>
  );
}

function Explain({ endpoint }: { endpoint: Endpoint }) {
  const { busy, error, run, clearError } = useAction();
  const [found, setFound] = useState<Explanation>();
  const explain = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('event')).trim();
    setFound(undefined);
    run(async () =>
      setFound((await send<Explanation>(`/${endpoint.id}/explain?event=${encodeURIComponent(id)}`)).data),
    );
  };
  const problem = error?.status === 404 ? texts.tools.explain.unknown : error?.message;
  return (
    <section>
      <h2>{texts.tools.explain.heading}</h2>
      <form onSubmit={explain} onInput={clearError}>
        <FormField
          form="explanation"
          name="event"
          label={texts.tools.explain.label}
          errors={problem === undefined ? {} : { event: problem }}
        >
          {(control) => (
            <input
              {...control}
              name="event"
              required
              spellcheck={false}
              autocomplete="off"
              placeholder="65f0c1d2e3a4b5c6d7e8f901"
            />
          )}
        </FormField>
        <button type="submit" disabled={busy}>
          {texts.tools.explain.submit}
        </button>
      </form>
      <div role="status">{found && <ExplanationNotice explanation={found} />}</div>
    </section>
  );
}

/** Tests the endpoint, recovers failed deliveries, and explains what was not delivered. */
export function Tools({
  endpoint,
  keepDays,
  keepEventsDays,
  onSent,
}: {
  endpoint: Endpoint;
  keepDays: number;
  keepEventsDays: number;
  onSent: () => void;
}) {
  return (
    <>
      {!endpoint.enabled && <p class="banner warn">{texts.tools.disabled}</p>}
      <Test endpoint={endpoint} onSent={onSent} />
      <Recover endpoint={endpoint} keepDays={keepDays} />
      {keepEventsDays > 0 && <Backfill endpoint={endpoint} keepDays={keepEventsDays} />}
      <Explain endpoint={endpoint} />
    </>
  );
}
