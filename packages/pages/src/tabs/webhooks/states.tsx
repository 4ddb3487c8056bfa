import { durationText, RecordLink, Status, Time, userResource } from '../../console/kit.ts';
import { DELIVERY_KINDS, ENDPOINT_KINDS } from '../../kit/states.ts';
import type { Delivery, DeliveryStatus, EndpointStatus, Outcome } from './responses.ts';
import { texts } from './texts.ts';

export const HOME = '/console/webhooks';

/** The path of the page of an endpoint. */
export const endpointHref = (id: string) => `${HOME}/endpoints/${encodeURIComponent(id)}`;

/** The states of endpoints. */
export const ENDPOINT_STATES: EndpointStatus[] = ['active', 'retrying', 'failing', 'disabled'];

const REASONS: Readonly<Record<string, string>> = texts.reasons;

/** Why an endpoint is disabled, in words. */
export const reasonText = (reason: string | null) => REASONS[reason ?? ''] ?? texts.reasons.unknown;

/** The state of an endpoint. */
export function EndpointState({ state }: { state: EndpointStatus }) {
  return <Status kind={ENDPOINT_KINDS[state]}>{texts.states[state]}</Status>;
}

/** The states of deliveries, in the order in which they are offered as filters. */
export const DELIVERY_STATES = ['succeeded', 'failed', 'pending', 'sending'] as const satisfies DeliveryStatus[];

/** The state of a delivery. A delivery that waits after a failed attempt is retried. */
export function DeliveryState({ delivery: { status, attempts } }: { delivery: Pick<Delivery, 'status' | 'attempts'> }) {
  const text = texts.deliveryStates[status === 'pending' && attempts > 0 ? 'retrying' : status];
  return <Status kind={DELIVERY_KINDS[status]}>{text}</Status>;
}

/** The name of an event, which breaks only after its full stop. */
export function EventName({ name }: { name: string }) {
  const [group, ...rest] = name.split('.');
  return (
    <span class="webhooks-word">
      {rest.length === 0 ? (
        group
      ) : (
        <>
          {group}.<wbr />
          {rest.join('.')}
        </>
      )}
    </span>
  );
}

/** A time that stays on one line; `never` for null. */
export function When({ value }: { value: string | null }) {
  return value === null ? (
    <span class="soft">{texts.never}</span>
  ) : (
    <span class="webhooks-nowrap">
      <Time value={value} />
    </span>
  );
}

/** The outcome of an attempt in a few words: `204 · 35 ms`, or the error. */
export function outcomeText({ statusCode, durationMs, error }: Outcome): string {
  const parts = [
    error ?? (statusCode === null ? undefined : texts.attemptStatus(statusCode)),
    durationMs === null ? undefined : durationText(durationMs),
  ];
  return parts.filter((part) => part !== undefined).join(' · ') || '–';
}

/** A URL with its host in front, or that the endpoint is polled, as text: it is not a link, because its receiver expects only deliveries. */
export function UrlText({ url }: { url: string | null }) {
  if (url === null) return <span class="webhooks-url">{texts.polled}</span>;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return <span class="webhooks-url">{url}</span>;
  const rest = url.slice(url.indexOf(parsed.host) + parsed.host.length);
  return (
    <span class="webhooks-url" title={url}>
      {parsed.host}
      <span class="soft">{rest}</span>
    </span>
  );
}

/** The owner of an endpoint, as a link to the record of the user, or of the organisation with the role as which it reads. */
export function Owner({ of: { owner, as } }: { of: { owner: string; as?: string } }) {
  if (as !== undefined)
    return (
      <>
        <RecordLink resource="organisation" id={owner} /> <code>{as}</code>
      </>
    );
  const users = userResource();
  return users === undefined ? <code>{owner}</code> : <RecordLink resource={users.name} id={owner} />;
}

/** The names of events, as chips. */
export function EventNames({ names, most = Number.POSITIVE_INFINITY }: { names: string[]; most?: number }) {
  const shown = names.slice(0, most);
  return (
    <span class="webhooks-events">
      {shown.map((name) => (
        <span key={name} class="chip">
          {name === '*' ? texts.allEvents : name}
        </span>
      ))}
      {names.length > shown.length && <span class="soft">+{names.length - shown.length}</span>}
    </span>
  );
}
