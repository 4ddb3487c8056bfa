import { useRef } from 'preact/hooks';
import { ActionButton, call, Loaded, setParams, Time, useLoaded } from '../../console/kit.ts';
import type { Endpoint, RecoveryProgress, WebhookFacts } from './responses.ts';

const POLL_MS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const STATES: Readonly<Record<RecoveryProgress['status'], string>> = {
  running: 'Sending again',
  finished: 'Finished',
  stopped: 'Stopped, because the endpoint was disabled',
};

/** The local time in the form of a `datetime-local` input. */
const toInputValue = (ms: number) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function Progress({ endpoint, id }: { endpoint: string; id: string }) {
  const path = `/webhooks/endpoints/${endpoint}/recoveries/${encodeURIComponent(id)}`;
  const recovery = useLoaded<RecoveryProgress>(path, { everyMs: POLL_MS });
  return (
    <Loaded from={recovery}>
      {({ status, since, total, resent }) => (
        <div class="webhooks-progress" role="status">
          <p>
            {STATES[status]}: {resent} of {total} deliveries that failed since <Time value={since} /> wait to be sent
            again or were sent.
          </p>
          {total > 0 && <progress max={total} value={resent} aria-label="Progress of the recovery"></progress>}
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
    if (Number.isNaN(since.getTime())) throw new Error('Choose a time.');
    const body = { since: since.toISOString() };
    const { data } = await call<RecoveryProgress>(`/webhooks/endpoints/${endpoint.id}/recover`, {
      method: 'POST',
      body,
    });
    await setParams({ recovery: data.id }, { replace: true });
  };
  return (
    <>
      <p class="soft part-text">
        Sends every delivery again whose attempts all failed, for example after an outage of the receiver. Deliveries
        that wait for their next attempt need no recovery.
      </p>
      <div class="filters webhooks-filters">
        <label>
          Failed since
          <input
            type="datetime-local"
            ref={input}
            defaultValue={toInputValue(Date.now() - HOUR_MS)}
            min={keepDays && toInputValue(Date.now() - keepDays * DAY_MS)}
          />
        </label>
        <ActionButton run={start} disabled={!endpoint.enabled || !endpoint.isOwnerActive}>
          Send again
        </ActionButton>
      </div>
      {id && <Progress endpoint={endpoint.id} id={id} />}
    </>
  );
}
