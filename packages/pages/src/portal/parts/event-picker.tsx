import { useState } from 'preact/hooks';
import { Copyable } from '../../kit/copy.tsx';
import { richText } from '../../kit/rich-text.ts';
import type { CatalogueEvent, EventSchema } from '../responses.ts';
import { texts } from '../texts.ts';
import { useCatalogue } from './catalogue.ts';
import { Loaded } from './page.tsx';
import { useData } from './requests.ts';

const FILTER_FROM = 10;

const getGroup = (name: string) => name.slice(0, name.indexOf('.'));

function EventDetails({ name }: { name: string }) {
  return (
    <Loaded from={useData<EventSchema>(`/event?name=${encodeURIComponent(name)}`)}>
      {({ sample, schema }) => (
        <div class="details">
          <p class="label">{texts.events.sample}</p>
          <Copyable block text={JSON.stringify(sample, null, 2)} label={texts.events.sampleOf(name)} />
          <details>
            <summary>{texts.events.schema}</summary>
            <Copyable block text={JSON.stringify(schema, null, 2)} label={texts.events.schemaOf(name)} />
          </details>
        </div>
      )}
    </Loaded>
  );
}

interface Choice {
  /** The names of events, `order.*` for a group, and `*` for all. */
  chosen: string[];
  onChange: (chosen: string[]) => void;
}

function EventChoice({
  event: { name, description },
  isContained,
  chosen,
  onChange,
}: Choice & { event: CatalogueEvent; isContained: boolean }) {
  const [open, setOpen] = useState(false);
  const toggle = () => onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  return (
    <li>
      <label class="check">
        <input
          type="checkbox"
          checked={isContained || chosen.includes(name)}
          disabled={isContained}
          onChange={toggle}
        />
        <span>
          <code>{name}</code>
          <br />
          <span class="soft">{description}</span>
        </span>
      </label>
      <button type="button" class="small link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? texts.events.hide : texts.events.show}
        <span class="visually-hidden"> {texts.events.of(name)}</span>
      </button>
      {open && <EventDetails name={name} />}
    </li>
  );
}

/** Chooses or removes a wildcard. It contains the events of its group, so they are no longer chosen by themselves. */
const toggleWildcard = (wildcard: string, chosen: string[], contains: (name: string) => boolean) =>
  chosen.includes(wildcard)
    ? chosen.filter((one) => one !== wildcard)
    : [...chosen.filter((one) => !contains(one)), wildcard];

function EventGroup({ group, events, chosen, onChange }: Choice & { group: string; events: CatalogueEvent[] }) {
  const wildcard = `${group}.*`;
  const hasAll = chosen.includes('*');
  const hasGroup = hasAll || chosen.includes(wildcard);
  const toggleGroup = () => onChange(toggleWildcard(wildcard, chosen, (name) => getGroup(name) === group));
  return (
    <fieldset class="group" aria-label={texts.events.group(group)}>
      {events.length > 1 && (
        <label class="check">
          <input type="checkbox" checked={hasGroup} disabled={hasAll} onChange={toggleGroup} />
          <span>{richText(texts.events.allOfGroup, { wildcard: <code>{wildcard}</code> })}</span>
        </label>
      )}
      <ul>
        {events.map((event) => (
          <EventChoice key={event.name} event={event} isContained={hasGroup} chosen={chosen} onChange={onChange} />
        ))}
      </ul>
    </fieldset>
  );
}

/** Lets the user choose events, with the description, a sample and the schema of each. */
export function EventPicker({ chosen, onChange, error }: Choice & { error: string | undefined }) {
  const { data: events = [], error: failure } = useCatalogue();
  const [filter, setFilter] = useState('');
  const shown = events.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(filter.trim().toLowerCase()),
  );
  const groups = Map.groupBy(shown, ({ name }) => getGroup(name));
  return (
    <fieldset class="events-field" aria-describedby={error ? 'events-error' : undefined}>
      <legend>{texts.events.legend}</legend>
      {error && (
        <p class="field-error" id="events-error">
          {error}
        </p>
      )}
      {failure && <p class="form-error">{failure.message}</p>}
      <label class="check all">
        <input
          type="checkbox"
          checked={chosen.includes('*')}
          aria-invalid={error ? 'true' : undefined}
          onChange={() => onChange(toggleWildcard('*', chosen, () => true))}
        />
        <span>{texts.events.all}</span>
      </label>
      {events.length >= FILTER_FROM && (
        <input
          type="search"
          aria-label={texts.events.filter}
          placeholder={texts.events.filter}
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      )}
      {[...groups].map(([group, own]) => (
        <EventGroup key={group} group={group} events={own} chosen={chosen} onChange={onChange} />
      ))}
      {shown.length === 0 && events.length > 0 && <p class="soft">{texts.events.noMatch}</p>}
    </fieldset>
  );
}
