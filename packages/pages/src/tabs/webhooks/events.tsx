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
import { richText } from '../../kit/rich-text.ts';
import type { EventDetails, EventSummary } from './responses.ts';
import { Snippets } from './snippets.tsx';
import { HOME } from './states.tsx';
import { texts } from './texts.ts';

const COLUMNS: TableColumn<EventSummary>[] = [
  {
    name: 'name',
    label: texts.event,
    render: ({ name }) => <a href={`${HOME}/events/${encodeURIComponent(name)}`}>{name}</a>,
  },
  { name: 'description', label: texts.catalogue.when, render: ({ description }) => description },
];

/** The catalogue of events, and code that verifies signatures. */
export function EventsPage() {
  const loaded = useLoaded<EventSummary[]>('/webhooks/events');
  const text = place.value.params.get('q') ?? '';
  const matches = ({ name, description }: EventSummary) =>
    `${name} ${description}`.toLowerCase().includes(text.trim().toLowerCase());
  return (
    <Page title={texts.events} intro={texts.catalogue.intro}>
      <div class="filters webhooks-filters" role="search" aria-label={texts.catalogue.filter}>
        <label>
          {texts.catalogue.search}
          <input
            type="search"
            value={text}
            placeholder={texts.any}
            onInput={(event) => setParams({ q: event.currentTarget.value }, { replace: true })}
          />
        </label>
      </div>
      <Loaded from={loaded}>
        {(events) => {
          const rows = events.filter(matches);
          if (events.length === 0)
            return (
              <Nothing title={texts.catalogue.none}>
                <p>
                  {richText(texts.catalogue.noneText, {
                    off: <code>webhooks: false</code>,
                    events: <code>webhooks({'{ events }'})</code>,
                  })}
                </p>
              </Nothing>
            );
          return rows.length === 0 ? (
            <Nothing title={texts.catalogue.noMatch}>
              <p>{texts.catalogue.noMatchText}</p>
            </Nothing>
          ) : (
            <DataTable label={texts.events} rows={rows} columns={COLUMNS} keyOf={({ name }) => name} />
          );
        }}
      </Loaded>
      <Section title={texts.verify}>
        <Snippets url="https://example.com/webhooks" />
      </Section>
    </Page>
  );
}

/** An event: a sample and the JSON Schema of its body. */
export function EventPage({ name }: { name: string }) {
  const loaded = useLoaded<EventDetails>(`/webhooks/event?name=${encodeURIComponent(name)}`);
  return (
    <Page title={name} intro={loaded.data?.description} back={{ href: `${HOME}/events`, label: texts.events }}>
      <Loaded from={loaded}>
        {({ sample, schema }) => (
          <>
            <div class="webhooks-columns">
              <Section title={texts.catalogue.sample}>
                <Code text={JSON.stringify(sample, null, 2)} label={texts.catalogue.sampleOf(name)} />
              </Section>
              <Section title={texts.catalogue.schema}>
                <Code text={JSON.stringify(schema, null, 2)} label={texts.catalogue.schemaOf(name)} />
              </Section>
            </div>
            <p class="soft webhooks-note">{texts.catalogue.note}</p>
          </>
        )}
      </Loaded>
    </Page>
  );
}
