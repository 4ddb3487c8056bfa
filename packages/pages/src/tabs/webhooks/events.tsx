import {
  Code,
  DataTable,
  Loaded,
  Nothing,
  Page,
  place,
  Section,
  setParams,
  type TableColumn,
  useLoaded,
} from '../../console/kit.ts';
import type { EventDetails, EventSummary } from './responses.ts';
import { Snippets } from './snippets.tsx';
import { HOME } from './states.tsx';

const COLUMNS: TableColumn<EventSummary>[] = [
  {
    name: 'name',
    label: 'Event',
    render: ({ name }) => <a href={`${HOME}/events/${encodeURIComponent(name)}`}>{name}</a>,
  },
  { name: 'description', label: 'When it happens', render: ({ description }) => description },
];

/** The catalogue of events, and code that verifies signatures. */
export function EventsPage() {
  const loaded = useLoaded<EventSummary[]>('/webhooks/events');
  const text = place.value.params.get('q') ?? '';
  const matches = ({ name, description }: EventSummary) =>
    `${name} ${description}`.toLowerCase().includes(text.trim().toLowerCase());
  return (
    <Page title="Events" intro="What endpoints can subscribe to, with the schema and a sample of each body.">
      <div class="filters webhooks-filters" role="search" aria-label="Filter the events">
        <label>
          Name or description
          <input
            type="search"
            value={text}
            placeholder="any"
            onInput={(event) => setParams({ q: event.currentTarget.value }, { replace: true })}
          />
        </label>
      </div>
      <Loaded from={loaded}>
        {(events) => {
          const rows = events.filter(matches);
          if (events.length === 0)
            return (
              <Nothing title="No event is sent">
                <p>
                  Changes of resources are sent unless they are declared with <code>webhooks: false</code>. Declare
                  events of your app with <code>webhooks({'{ events }'})</code>.
                </p>
              </Nothing>
            );
          return rows.length === 0 ? (
            <Nothing title="No event matches">
              <p>Change the filter.</p>
            </Nothing>
          ) : (
            <DataTable label="Events" rows={rows} columns={COLUMNS} keyOf={({ name }) => name} />
          );
        }}
      </Loaded>
      <Section title="Verify signatures">
        <Snippets url="https://example.com/webhooks" />
      </Section>
    </Page>
  );
}

/** An event: a sample and the JSON Schema of its body. */
export function EventPage({ name }: { name: string }) {
  const loaded = useLoaded<EventDetails>(`/webhooks/event?name=${encodeURIComponent(name)}`);
  return (
    <Page title={name} intro={loaded.data?.description} back={{ href: `${HOME}/events`, label: 'Events' }}>
      <Loaded from={loaded}>
        {({ sample, schema }) => (
          <>
            <div class="webhooks-columns">
              <Section title="Sample body">
                <Code text={JSON.stringify(sample, null, 2)} label={`Sample of ${name}`} />
              </Section>
              <Section title="JSON Schema">
                <Code text={JSON.stringify(schema, null, 2)} label={`Schema of ${name}`} />
              </Section>
            </div>
            <p class="soft webhooks-note">
              Fields that the owner of an endpoint may not see are absent from its bodies.
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}
