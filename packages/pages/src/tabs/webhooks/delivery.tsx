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
import { richText } from '../../kit/rich-text.ts';
import type { Attempt, DeliveryContent, DeliveryDetails } from './responses.ts';
import { DeliveryState, endpointHref, HOME, Owner, outcomeText, UrlText } from './states.tsx';
import { texts } from './texts.ts';

const REFRESH_MS = 3000;
const SEND_AGAIN = {
  title: texts.delivery.question,
  text: texts.delivery.questionText,
  action: texts.sendAgain,
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
      <Code text={isRaw || formatted === undefined ? body : formatted} label={texts.delivery.requestBody} />
      <p class="soft webhooks-note">
        {isBodyCut && `${texts.delivery.cut} `}
        {formatted !== undefined && (
          <>
            {isRaw ? texts.delivery.asSent : texts.delivery.formatted}
            <button type="button" class="plain" onClick={() => setRaw(!isRaw)}>
              {isRaw ? texts.delivery.format : texts.delivery.showAsSent}
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
      <Section title={texts.delivery.request}>
        {endpoint.url !== null && (
          <p class="webhooks-request">
            <b>POST</b> <code>{endpoint.url}</code>
          </p>
        )}
        {content.headers === null ? (
          <p class="soft">{texts.delivery.notSigned}</p>
        ) : (
          <>
            <Code text={headersText(content.headers)} label={texts.delivery.headers} />
            <p class="soft webhooks-note">{texts.delivery.headersNote}</p>
          </>
        )}
        <Body {...content} />
      </Section>
      <Section title={texts.delivery.response}>
        {content.response === null ? (
          <p class="soft">{statusCode === null ? texts.delivery.noResponse : texts.delivery.withoutBody(statusCode)}</p>
        ) : (
          <>
            <p class="webhooks-status">{texts.delivery.responseStatus(statusCode)}</p>
            {content.response === '' ? (
              <p class="soft">{texts.delivery.emptyBody}</p>
            ) : (
              <Code text={content.response} label={texts.delivery.responseBody} />
            )}
          </>
        )}
        <p class="soft webhooks-note">{texts.delivery.stored}</p>
      </Section>
    </>
  );
}

/** Says why there is no content. `onReveal`: shows it, if it is only encrypted. */
function HiddenContent({ onReveal }: { onReveal: (() => Promise<void>) | undefined }) {
  return (
    <Section title={texts.delivery.hidden}>
      <p class="banner warn">
        {onReveal === undefined ? (
          texts.delivery.notReadable
        ) : (
          <>
            <span>{texts.delivery.encrypted}</span>
            <ActionButton run={onReveal}>{texts.delivery.reveal}</ActionButton>
          </>
        )}
      </p>
    </Section>
  );
}

function Attempts({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <p class="soft">{texts.delivery.noAttempt}</p>;
  const longest = Math.max(1, ...attempts.map(({ durationMs }) => durationMs ?? 0));
  const rows = attempts.map((attempt, index) => ({ ...attempt, id: index + 1 }));
  return (
    <DataTable
      label={texts.delivery.attempts}
      rows={rows}
      columns={[
        { name: 'number', label: texts.delivery.attempt, render: ({ id }) => id },
        { name: 'at', label: texts.delivery.time, render: ({ at }) => <Time value={at} /> },
        {
          name: 'outcome',
          label: texts.delivery.result,
          render: ({ error, statusCode }) => (
            <span class={error === null ? '' : 'bad-text'}>{outcomeText({ error, statusCode, durationMs: null })}</span>
          ),
        },
        {
          name: 'duration',
          label: texts.delivery.duration,
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
        {texts.delivery.explain}
      </a>
      <ActionButton
        kind="primary"
        run={onRetry}
        confirm={status === 'succeeded' ? SEND_AGAIN : undefined}
        done={texts.delivery.sentAgain}
        disabled={status === 'sending' || !endpoint.enabled}
      >
        {texts.sendAgain}
      </ActionButton>
    </>
  );
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetails }) {
  const { endpoint } = delivery;
  return (
    <Facts
      of={[
        [texts.status, <DeliveryState delivery={delivery} />],
        [texts.delivery.lastAttempt, outcomeText(delivery)],
        [texts.delivery.nextAttempt, timeOf(delivery.nextAttemptAt)],
        [
          texts.endpoint,
          <a href={endpointHref(endpoint.id)}>
            <UrlText url={endpoint.url} />
          </a>,
        ],
        [texts.owner, <Owner of={endpoint} />],
        [texts.delivery.created, <Time value={delivery.createdAt} />],
        [texts.backfill.origin, delivery.backfill ? texts.backfill.isBackfill : undefined],
        [texts.delivery.size, bytesText(delivery.bytes)],
        [texts.delivery.messageId, <code>{delivery.messageId}</code>],
        [texts.delivery.eventId, <code>{delivery.eventId}</code>],
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
      ? { href: `${HOME}/deliveries`, label: texts.deliveries.title }
      : { href: endpointHref(data.endpoint.id), label: texts.endpoint };
  return (
    <Page
      title={data?.type ?? texts.delivery.title}
      intro={richText(texts.delivery.intro, { id: <code>{id}</code> })}
      back={back}
      actions={data && <DeliveryActions delivery={data} onRetry={retry} />}
    >
      <Loaded from={loaded}>
        {(delivery) => {
          const content = revealed === undefined ? delivery.content : revealed;
          return (
            <>
              <DeliveryFacts delivery={delivery} />
              <Section title={texts.delivery.attempts}>
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
