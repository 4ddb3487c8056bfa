import { useState } from 'preact/hooks';
import {
  ActionButton,
  Code,
  call,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  showError,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { EventPicker } from './event-picker.tsx';
import { OwnerField } from './owner-field.tsx';
import type { Answer, ListedEndpoint, ReceivedContent, ReceivedRequest, Receiver } from './responses.ts';
import { EndpointState, EventNames, endpointHref, Owner } from './states.tsx';
import { texts } from './texts.ts';

const REFRESH_MS = 2000;
const VERIFICATIONS: Readonly<Record<string, string>> = texts.receiver.verification;

const CLEAR = {
  title: texts.receiver.clearQuestion,
  text: texts.receiver.clearText,
  action: texts.receiver.clear,
  isDangerous: true,
};

const nameOf = (url: string | null) => url?.slice(url.lastIndexOf('/') + 1) ?? '';

function CreateEndpoint({ onCreated }: { onCreated: () => Promise<unknown> }) {
  const [owner, setOwner] = useState<string | null>(null);
  const [events, setEvents] = useState(['*']);
  const create = async () => {
    await call('/webhooks/receiver/endpoints', { method: 'POST', body: { owner: owner ?? '', events } });
    await onCreated();
  };
  return (
    <details class="card">
      <summary>{texts.receiver.create}</summary>
      <div class="stack webhooks-form">
        <OwnerField form="webhooks-receiver" value={owner} onChange={setOwner} />
        <EventPicker chosen={events} onChange={setEvents} />
        <div class="actions">
          <ActionButton
            kind="primary"
            run={create}
            done={texts.receiver.created}
            disabled={owner === null || events.length === 0}
          >
            {texts.receiver.submit}
          </ActionButton>
        </div>
      </div>
    </details>
  );
}

function ReceiverEndpoint({
  endpoint,
  answer = 'accept',
  onChanged,
}: {
  endpoint: ListedEndpoint;
  answer?: Answer | undefined;
  onChanged: () => Promise<unknown>;
}) {
  const { id, url, events, state, enabled } = endpoint;
  const choose = async (chosen: string) => {
    try {
      await call('/webhooks/receiver/answer', { method: 'POST', body: { name: nameOf(url), answer: chosen } });
      await onChanged();
    } catch (error) {
      showError(error);
    }
  };
  return (
    <li class="card">
      <p>
        {richText(texts.receiver.endpoint, {
          receiver: <a href={endpointHref(id)}>{texts.receiver.name(nameOf(url))}</a>,
          state: <EndpointState state={state} />,
          owner: <Owner of={endpoint} />,
          events: <EventNames names={events} most={3} />,
        })}
      </p>
      <div class="filters webhooks-filters">
        <label>
          {texts.receiver.response}
          <select value={answer} onChange={(event) => choose(event.currentTarget.value)}>
            {Object.entries(texts.receiver.answers).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <ActionButton
          run={() => call(`/webhooks/endpoints/${id}/test`, { method: 'POST' })}
          disabled={!enabled}
          label={texts.receiver.testLabel(nameOf(url))}
        >
          {texts.receiver.test}
        </ActionButton>
      </div>
      <p class="soft webhooks-note">{texts.receiver.reset}</p>
    </li>
  );
}

function Content({ id }: { id: string }) {
  const loaded = useLoaded<ReceivedContent>(`/webhooks/receiver/requests/${id}`);
  return (
    <Loaded from={loaded}>
      {({ headers, body, verification }) => (
        <>
          <p>{verification.message}.</p>
          <Code
            text={Object.entries(headers)
              .map(([name, value]) => `${name}: ${value}`)
              .join('\n')}
            label={texts.receiver.headers}
          />
          <Code text={body} label={texts.receiver.body} />
        </>
      )}
    </Loaded>
  );
}

function Request({ id, at, name, type, verification, status, bytes }: ReceivedRequest) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        class="webhooks-summary"
        aria-expanded={isOpen ? 'true' : 'false'}
        onClick={() => setOpen(!isOpen)}
      >
        <Status kind={verification.isValid ? 'good' : 'bad'}>
          {VERIFICATIONS[verification.code] ?? verification.code}
        </Status>
        <b>{type ?? texts.receiver.unknownEvent}</b>
        <span class="soft">
          {texts.receiver.request(status, texts.receiver.bytes(numberText(bytes)), name)} · <Time value={at} />
        </span>
      </button>
      {isOpen && (
        <div class="stack webhooks-opened">
          <Content id={id} />
        </div>
      )}
    </li>
  );
}

function Requests({ requests }: Pick<Receiver, 'requests'>) {
  if (requests.length === 0)
    return (
      <Nothing title={texts.receiver.empty}>
        <p>{texts.receiver.emptyText}</p>
      </Nothing>
    );
  return (
    <ol class="webhooks-requests">
      {requests.map((request) => (
        <Request key={request.id} {...request} />
      ))}
    </ol>
  );
}

/** The receiver of development: what arrived, and how it responds. */
export function ReceiverPage() {
  const received = useLoaded<Receiver>('/webhooks/receiver', { everyMs: REFRESH_MS });
  const endpoints = useLoaded<ListedEndpoint[]>('/webhooks/endpoints?limit=100&q=%2Fconsole%2Freceiver%2F', {
    everyMs: REFRESH_MS,
  });
  const reload = () => Promise.all([received.reload(), endpoints.reload()]);
  const clear = async () => {
    await call('/webhooks/receiver/requests', { method: 'DELETE' });
    await received.reload();
  };
  return (
    <Page
      title={texts.receiver.title}
      intro={texts.receiver.intro}
      actions={
        received.data !== undefined &&
        received.data.requests.length > 0 && (
          <ActionButton run={clear} confirm={CLEAR} done={texts.receiver.cleared}>
            {texts.receiver.clear}
          </ActionButton>
        )
      }
    >
      <Loaded from={received}>
        {({ obstacle, requests, answers }) => (
          <>
            {obstacle === null ? (
              <CreateEndpoint onCreated={reload} />
            ) : (
              <p class="banner warn">{texts.receiver.obstacle(obstacle)}</p>
            )}
            {endpoints.data !== undefined && endpoints.data.length > 0 && (
              <Section title={texts.receiver.endpoints}>
                <ul class="webhooks-list">
                  {endpoints.data.map((endpoint) => (
                    <ReceiverEndpoint
                      key={endpoint.id}
                      endpoint={endpoint}
                      answer={answers[nameOf(endpoint.url)]}
                      onChanged={reload}
                    />
                  ))}
                </ul>
              </Section>
            )}
            <Section title={texts.receiver.requests}>
              <Requests requests={requests} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
