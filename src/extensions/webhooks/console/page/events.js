import { Code, DataTable, html, Loaded, Nothing, Page, place, Section, setParams, useLoaded } from 'belfry/console';
import { Snippets } from './endpoint.js';
import { HOME } from './states.js';

const COLUMNS = [
  {
    name: 'name',
    label: 'Event',
    render: ({ name }) => html`<a href=${`${HOME}/events/${encodeURIComponent(name)}`}>${name}</a>`,
  },
  { name: 'description', label: 'When it happens', render: ({ description }) => description },
];

/** The catalogue of events, and code that verifies signatures. */
export function EventsPage() {
  const loaded = useLoaded('/webhooks/events');
  const text = place.value.params.get('q') ?? '';
  const matches = ({ name, description }) => `${name} ${description}`.toLowerCase().includes(text.trim().toLowerCase());
  return html`<${Page} title="Events" intro="What endpoints can subscribe to, with the schema and a sample of each body.">
    <div class="filters webhooks-filters" role="search" aria-label="Filter the events">
      <label>Name or description
        <input type="search" value=${text} placeholder="any" onInput=${(event) => setParams({ q: event.target.value }, { replace: true })} />
      </label>
    </div>
    <${Loaded} from=${loaded}>
      ${(events) => {
        const rows = events.filter(matches);
        if (events.length === 0)
          return html`<${Nothing} title="No event is sent">
            <p>Changes of resources are sent unless they are declared with <code>webhooks: false</code>. Declare events of your app with <code>webhooks(${'{ events }'})</code>.</p>
          <//>`;
        return rows.length === 0
          ? html`<${Nothing} title="No event matches"><p>Change the filter.</p><//>`
          : html`<${DataTable} label="Events" rows=${rows} columns=${COLUMNS} keyOf=${({ name }) => name} />`;
      }}
    <//>
    <${Section} title="Verify signatures"><${Snippets} /><//>
  <//>`;
}

/** An event: a sample and the JSON Schema of its body. */
export function EventPage({ name }) {
  const loaded = useLoaded(`/webhooks/event?name=${encodeURIComponent(name)}`);
  return html`<${Page} title=${name} intro=${loaded.data?.description} back=${{ href: `${HOME}/events`, label: 'Events' }}>
    <${Loaded} from=${loaded}>
      ${({ sample, schema }) => html`<div class="webhooks-columns">
        <${Section} title="Sample body"><${Code} text=${JSON.stringify(sample, null, 2)} label=${`Sample of ${name}`} /><//>
        <${Section} title="JSON Schema"><${Code} text=${JSON.stringify(schema, null, 2)} label=${`Schema of ${name}`} /><//>
      </div>
      <p class="soft webhooks-note">Fields that the owner of an endpoint may not see are absent from its bodies.</p>`}
    <//>
  <//>`;
}
