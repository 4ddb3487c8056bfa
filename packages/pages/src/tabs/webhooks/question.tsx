import { useEffect, useState } from 'preact/hooks';
import { app, place, ReferencePicker, setParams, useLoaded } from '../../console/kit.ts';
import { EndpointChoice } from './endpoint-choice.tsx';
import type { EventSummary, WebhookFacts } from './responses.ts';
import { texts } from './texts.ts';

/** Chooses a change of a record: `name` is that of its event. */
function RecordChoice({
  record,
  onRecord,
  name,
  onName,
}: {
  record: string;
  onRecord: (id: string) => void;
  name: string;
  onName: (name: string) => void;
}) {
  const sent = useLoaded<WebhookFacts>('/webhooks/facts').data?.resources ?? [];
  const { data: events = [] } = useLoaded<EventSummary[]>('/webhooks/events');
  const known = app.value.resources.filter((resource) => sent.includes(resource.name));
  const [resource, setResource] = useState(place.value.params.get('name')?.split('.')[0]);
  const chosen = resource ?? known[0]?.name;
  const names = events.filter((event) => event.name.startsWith(`${chosen}.`));
  useEffect(() => {
    if (names[0] !== undefined && !names.some((event) => event.name === name)) onName(names[0].name);
  }, [chosen, names.length]);
  return (
    <>
      <label>
        {texts.explain.resource}
        <select
          value={chosen}
          onChange={(event) => {
            setResource(event.currentTarget.value);
            onRecord('');
          }}
        >
          {known.map((one) => (
            <option key={one.name} value={one.name}>
              {one.label}
            </option>
          ))}
        </select>
      </label>
      <div class="form-field">
        <label for="webhooks-record">{texts.explain.record}</label>
        {chosen !== undefined && (
          <ReferencePicker
            key={chosen}
            id="webhooks-record"
            resource={chosen}
            value={record || null}
            onChange={(id) => onRecord(id ?? '')}
          />
        )}
      </div>
      <label>
        {texts.explain.change}
        <select value={name} onChange={(event) => onName(event.currentTarget.value)}>
          {names.map((event) => (
            <option key={event.name} value={event.name}>
              {event.name}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

/** The form of a question. The answer is that of the address. */
export function Question() {
  const { params } = place.value;
  const [endpoint, setEndpoint] = useState(params.get('endpoint') ?? '');
  const [isByRecord, setByRecord] = useState(params.has('record'));
  const [event, setEvent] = useState(params.get('event') ?? '');
  const [record, setRecord] = useState(params.get('record') ?? '');
  const [name, setName] = useState(params.get('name') ?? '');
  const ask = (submitted: Event) => {
    submitted.preventDefault();
    const about = isByRecord
      ? { record, name, event: undefined }
      : { event: event.trim(), record: undefined, name: undefined };
    setParams({ endpoint, ...about });
  };
  const kind = (byRecord: boolean, label: string) => (
    <label class="check">
      <input type="radio" name="kind" checked={isByRecord === byRecord} onChange={() => setByRecord(byRecord)} />
      {label}
    </label>
  );
  return (
    <form class="card webhooks-question" onSubmit={ask} aria-label={texts.explain.question}>
      <EndpointChoice value={endpoint} onChange={setEndpoint} />
      <div class="webhooks-kinds" role="radiogroup" aria-label={texts.explain.kind}>
        {kind(false, texts.explain.byId)}
        {kind(true, texts.explain.byRecord)}
      </div>
      <div class="filters webhooks-filters">
        {isByRecord ? (
          <RecordChoice record={record} onRecord={setRecord} name={name} onName={setName} />
        ) : (
          <label>
            {texts.explain.id}
            <input
              value={event}
              spellcheck={false}
              autocomplete="off"
              placeholder="65f0c1d2e3a4b5c6d7e8f901"
              onInput={(typed) => setEvent(typed.currentTarget.value)}
            />
          </label>
        )}
        <button
          type="submit"
          class="primary"
          disabled={endpoint === '' || (isByRecord ? record === '' || name === '' : event.trim() === '')}
        >
          {texts.explain.submit}
        </button>
      </div>
    </form>
  );
}
