import { useState } from 'preact/hooks';
import {
  ActionButton,
  bytesText,
  Code,
  call,
  DataTable,
  durationText,
  Facts,
  Loaded,
  Page,
  Section,
  Time,
  timeOf,
  useLoaded,
} from '../../console/kit.ts';
import type { Attempt, DeliveryContent, DeliveryDetails } from './responses.ts';
import { DeliveryState, endpointHref, HOME, Owner, outcomeText, UrlText } from './states.tsx';

const REFRESH_MS = 3000;
const SEND_AGAIN = {
  title: 'Send this delivery again?',
  text: 'It was delivered already. Its receiver gets the same message id, and should skip it.',
  action: 'Send again',
};

const headersText = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** JSON with line breaks; undefined if the text is no JSON, or already has them. */
function formatJson(text: string): string | undefined {
  try {
    const formatted = JSON.stringify(JSON.parse(text), null, 2);
    return formatted === text ? undefined : formatted;
  } catch {
    return undefined;
  }
}

function Body({ body, isBodyCut }: DeliveryContent) {
  const [isRaw, setRaw] = useState(false);
  const formatted = formatJson(body);
  return (
    <>
      <Code text={isRaw || formatted === undefined ? body : formatted} label="Body of the request" />
      <p class="soft webhooks-note">
        {isBodyCut && 'The body is longer; this is its start. '}
        {formatted !== undefined && (
          <>
            {isRaw ? 'As it is sent, byte for byte.' : 'Shown with line breaks, which the signed body does not have.'}
            <button type="button" class="plain" onClick={() => setRaw(!isRaw)}>
              {isRaw ? 'Format' : 'Show as sent'}
            </button>
          </>
        )}
      </p>
    </>
  );
}

function Content({ delivery, content }: { delivery: DeliveryDetails; content: DeliveryContent }) {
  const { statusCode, endpoint } = delivery;
  return (
    <>
      <Section title="Request">
        <p class="webhooks-request">
          <b>POST</b> <code>{endpoint.url}</code>
        </p>
        {content.headers === null ? (
          <p class="soft">No attempt was made yet, so nothing is signed.</p>
        ) : (
          <>
            <Code text={headersText(content.headers)} label="Headers of the last attempt" />
            <p class="soft webhooks-note">
              The headers of the last attempt. The signature is computed with the current secret, so it differs from
              what was sent before a rotation.
            </p>
          </>
        )}
        <Body {...content} />
      </Section>
      <Section title="Response">
        {content.response === null ? (
          <p class="soft">
            {statusCode === null ? 'The receiver did not respond.' : `Status ${statusCode}, without a body.`}
          </p>
        ) : (
          <>
            <p class="webhooks-status">Status {statusCode}</p>
            {content.response === '' ? (
              <p class="soft">The response has no body.</p>
            ) : (
              <Code text={content.response} label="Body of the response" />
            )}
          </>
        )}
        <p class="soft webhooks-note">
          The start of the body is stored, up to 1 KB. Headers of responses are not stored.
        </p>
      </Section>
    </>
  );
}

/** Says why there is no content. `onReveal`: shows it, if it is only encrypted. */
function HiddenContent({ onReveal }: { onReveal: (() => Promise<void>) | undefined }) {
  return (
    <Section title="Request and response">
      <p class="banner warn">
        {onReveal === undefined ? (
          'The owner of the endpoint may no longer read the data of this event, so it is neither sent again nor shown.'
        ) : (
          <>
            <span>
              The body has values of encrypted fields, so it is stored encrypted. Showing it is recorded in the audit
              trail.
            </span>
            <ActionButton run={onReveal}>Reveal</ActionButton>
          </>
        )}
      </p>
    </Section>
  );
}

function Attempts({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <p class="soft">No attempt was made yet.</p>;
  const longest = Math.max(1, ...attempts.map(({ durationMs }) => durationMs ?? 0));
  const rows = attempts.map((attempt, index) => ({ ...attempt, id: index + 1 }));
  return (
    <DataTable
      label="Attempts"
      rows={rows}
      columns={[
        { name: 'number', label: 'Attempt', render: ({ id }) => id },
        { name: 'at', label: 'Time', render: ({ at }) => <Time value={at} /> },
        {
          name: 'outcome',
          label: 'Result',
          render: ({ error, statusCode }) => (
            <span class={error === null ? '' : 'bad-text'}>{outcomeText({ error, statusCode, durationMs: null })}</span>
          ),
        },
        {
          name: 'duration',
          label: 'Duration',
          render: ({ durationMs }) =>
            durationMs === null ? (
              '–'
            ) : (
              <>
                <span class="webhooks-duration">
                  <i style={{ width: `${Math.max(2, (durationMs / longest) * 100)}%` }}></i>
                </span>{' '}
                {durationText(durationMs)}
              </>
            ),
        },
      ]}
    />
  );
}

function DeliveryActions({ delivery, onRetry }: { delivery: DeliveryDetails; onRetry: () => Promise<void> }) {
  const { id, status, endpoint } = delivery;
  return (
    <>
      <a class="button" href={`${HOME}/explain?${new URLSearchParams({ endpoint: endpoint.id, event: id })}`}>
        Explain
      </a>
      <ActionButton
        kind="primary"
        run={onRetry}
        confirm={status === 'succeeded' ? SEND_AGAIN : undefined}
        done="The delivery is sent again"
        disabled={status === 'sending' || !endpoint.enabled}
      >
        Send again
      </ActionButton>
    </>
  );
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetails }) {
  const { endpoint } = delivery;
  return (
    <Facts
      of={[
        ['Status', <DeliveryState delivery={delivery} />],
        ['Last attempt', outcomeText(delivery)],
        ['Next attempt', timeOf(delivery.nextAttemptAt)],
        [
          'Endpoint',
          <a href={endpointHref(endpoint.id)}>
            <UrlText url={endpoint.url} />
          </a>,
        ],
        ['Owner', <Owner id={endpoint.owner} />],
        ['Created', <Time value={delivery.createdAt} />],
        ['Size of the body', bytesText(delivery.bytes)],
        ['Message id', <code>{delivery.messageId}</code>],
        ['Event id', <code>{delivery.eventId}</code>],
      ]}
    />
  );
}

/** A delivery: its request, its response, and each attempt. */
export function DeliveryPage({ id }: { id: string }) {
  const path = `/webhooks/deliveries/${encodeURIComponent(id)}`;
  const loaded = useLoaded<DeliveryDetails>(path, { everyMs: REFRESH_MS });
  const [revealed, setRevealed] = useState<DeliveryDetails['content']>();
  const { data } = loaded;
  const retry = async () => {
    await call(`${path}/retry`, { method: 'POST' });
    await loaded.reload();
  };
  const reveal = async () => {
    setRevealed((await call<Pick<DeliveryDetails, 'content'>>(`${path}/reveal`, { method: 'POST' })).data.content);
  };
  const back =
    data === undefined
      ? { href: `${HOME}/deliveries`, label: 'Deliveries' }
      : { href: endpointHref(data.endpoint.id), label: 'Endpoint' };
  return (
    <Page
      title={data?.type ?? 'Delivery'}
      intro={
        <>
          Delivery <code>{id}</code>
        </>
      }
      back={back}
      actions={data && <DeliveryActions delivery={data} onRetry={retry} />}
    >
      <Loaded from={loaded}>
        {(delivery) => {
          const content = revealed === undefined ? delivery.content : revealed;
          return (
            <>
              <DeliveryFacts delivery={delivery} />
              <Section title="Attempts">
                <Attempts attempts={delivery.attemptLog} />
              </Section>
              {content === null ? (
                <HiddenContent onReveal={delivery.isEncrypted && revealed === undefined ? reveal : undefined} />
              ) : (
                <Content delivery={delivery} content={content} />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
