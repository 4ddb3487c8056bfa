import { useRef } from 'preact/hooks';
import { ActionButton, call, Loaded, setParams, Time, useLoaded } from '../../console/kit.ts';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import type { Endpoint, RecoveryProgress, WebhookFacts } from './responses.ts';
import { texts } from './texts.ts';

const POLL_MS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The local time in the form of a `datetime-local` input. */
export const toInputValue = (ms: number) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function Progress({ endpoint, id }: { endpoint: string; id: string }) {
  const path = `/webhooks/endpoints/${endpoint}/recoveries/${encodeURIComponent(id)}`;
  const own = texts.recovery;
  const recovery = useLoaded<RecoveryProgress>(path, { everyMs: POLL_MS });
  return (
    <Loaded from={recovery}>
      {({ status, since, total, resent }) => (
        <div class="webhooks-progress" role="status">
          <p>
            {richText(own.progress(own.states[status], numberText(resent), numberText(total)), {
              time: <Time value={since} />,
            })}
          </p>
          {total > 0 && <progress max={total} value={resent} aria-label={own.progressLabel}></progress>}
        </div>
      )}
    </Loaded>
  );
}

/** Sends all deliveries again that failed since a time. `id`: of the recovery whose progress is shown. */
export function Recovery({ endpoint, id }: { endpoint: Endpoint; id: string | null }) {
  const input = useRef<HTMLInputElement>(null);
  const keepDays = useLoaded<WebhookFacts>('/webhooks/facts').data?.keepDays;
  const start = async () => {
    const since = new Date(input.current?.value ?? '');
    if (Number.isNaN(since.getTime())) throw new Error(texts.recovery.noTime);
    const body = { since: since.toISOString() };
    const { data } = await call<RecoveryProgress>(`/webhooks/endpoints/${endpoint.id}/recover`, {
      method: 'POST',
      body,
    });
    await setParams({ recovery: data.id }, { replace: true });
  };
  return (
    <>
      <p class="soft part-text">{texts.recovery.text}</p>
      <div class="filters webhooks-filters">
        <label>
          {texts.recovery.since}
          <input
            type="datetime-local"
            ref={input}
            defaultValue={toInputValue(Date.now() - HOUR_MS)}
            min={keepDays && toInputValue(Date.now() - keepDays * DAY_MS)}
          />
        </label>
        <ActionButton run={start} disabled={!endpoint.enabled || !endpoint.isOwnerActive}>
          {texts.sendAgain}
        </ActionButton>
      </div>
      {id && <Progress endpoint={endpoint.id} id={id} />}
    </>
  );
}
