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
import { EventPicker } from './event-picker.tsx';
import { OwnerField } from './owner-field.tsx';
import type { Answer, ListedEndpoint, ReceivedContent, ReceivedRequest, Receiver } from './responses.ts';
import { EndpointState, EventNames, endpointHref, Owner } from './states.tsx';

const REFRESH_MS = 2000;
const ANSWERS: Readonly<Record<Answer, string>> = {
  accept: '204 No Content (accepts)',
  fail: '500 Internal Server Error (fails)',
  slow: '204 No Content after 5 seconds (slow)',
  gone: '410 Gone (disables the endpoint)',
};

const CLEAR = {
  title: 'Clear all received requests?',
  text: 'They exist only in the memory of this process. The log of deliveries stays.',
  action: 'Clear',
  isDangerous: true,
};

const nameOf = (url: string) => url.slice(url.lastIndexOf('/') + 1);

function CreateEndpoint({ onCreated }: { onCreated: () => Promise<unknown> }) {
  const [owner, setOwner] = useState<string | null>(null);
  const [events, setEvents] = useState(['*']);
  const create = async () => {
    await call('/webhooks/receiver/endpoints', { method: 'POST', body: { owner: owner ?? '', events } });
    await onCreated();
  };
  return (
    <details class="card">
      <summary>Create an endpoint for the receiver</summary>
      <div class="stack webhooks-form">
        <OwnerField form="webhooks-receiver" value={owner} onChange={setOwner} />
        <EventPicker chosen={events} onChange={setEvents} />
        <div class="actions">
          <ActionButton
            kind="primary"
            run={create}
            done="The endpoint is created"
            disabled={owner === null || events.length === 0}
          >
            Create
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
  const { id, url, owner, events, state, enabled } = endpoint;
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
        <a href={endpointHref(id)}>Receiver {nameOf(url)}</a> <EndpointState state={state} /> of <Owner id={owner} />{' '}
        <EventNames names={events} most={3} />
      </p>
      <div class="filters webhooks-filters">
        <label>
          Response
          <select value={answer} onChange={(event) => choose(event.currentTarget.value)}>
            {Object.entries(ANSWERS).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <ActionButton
          run={() => call(`/webhooks/endpoints/${id}/test`, { method: 'POST' })}
          disabled={!enabled}
          label={`Send a test to receiver ${nameOf(url)}`}
        >
          Send a test
        </ActionButton>
      </div>
      <p class="soft webhooks-note">The response is reset to 204 when the process restarts.</p>
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
            label="Headers"
          />
          <Code text={body} label="Body" />
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
          {verification.isValid ? 'valid' : verification.code.toLowerCase().replaceAll('_', ' ')}
        </Status>
        <b>{type ?? 'unknown event'}</b>
        <span class="soft">
          responded {status} · {bytes.toLocaleString('en')} B · {name} · <Time value={at} />
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
      <Nothing title="Nothing arrived yet">
        <p>
          Create an endpoint for the receiver, then change a record or send a test. The newest 100 requests are kept in
          memory.
        </p>
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
      title="Receiver"
      intro="Receives deliveries on this machine instead of a server of your own, and verifies their signatures. It exists in development only."
      actions={
        received.data !== undefined &&
        received.data.requests.length > 0 && (
          <ActionButton run={clear} confirm={CLEAR} done="The requests are cleared">
            Clear
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
              <p class="banner warn">No endpoint can lead to the receiver: {obstacle}.</p>
            )}
            {endpoints.data !== undefined && endpoints.data.length > 0 && (
              <Section title="Endpoints">
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
            <Section title="Requests, newest first">
              <Requests requests={requests} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
