import { useState } from 'preact/hooks';
import { useLoaded } from '../../console/kit.ts';
import type { EventSummary } from './responses.ts';
import { texts } from './texts.ts';

const FILTER_FROM = 12;
const groupOf = (name: string) => name.slice(0, name.indexOf('.'));

/** Chooses a name, or the opposite. `isPart`: whether a name is part of this one, which is then chosen instead. */
type Toggle = (name: string, isPart?: (name: string) => boolean) => void;

function EventGroup({
  group,
  events,
  chosen,
  onToggle,
}: {
  group: string;
  events: EventSummary[];
  chosen: string[];
  onToggle: Toggle;
}) {
  const wildcard = `${group}.*`;
  const hasAll = chosen.includes('*');
  const hasGroup = hasAll || chosen.includes(wildcard);
  return (
    <div role="group" aria-label={texts.picker.group(group)}>
      <label class="check">
        <input
          type="checkbox"
          checked={hasGroup}
          disabled={hasAll}
          onChange={() => onToggle(wildcard, (one) => groupOf(one) === group)}
        />
        <b>{wildcard}</b>
      </label>
      {events.map(({ name, description }) => (
        <label key={name} class="check" title={description}>
          <input
            type="checkbox"
            checked={hasGroup || chosen.includes(name)}
            disabled={hasGroup}
            onChange={() => onToggle(name)}
          />
          {name}
        </label>
      ))}
    </div>
  );
}

/**
 * Chooses events: all, the events of a group, or single ones.
 *
 * @param props `offered`: the names that can be chosen; all if left out
 */
export function EventPicker({
  offered,
  chosen,
  onChange,
  error,
}: {
  offered?: readonly string[] | undefined;
  chosen: string[];
  onChange: (names: string[]) => void;
  error?: string | undefined;
}) {
  const { data: known = [] } = useLoaded<EventSummary[]>('/webhooks/events');
  const events = offered === undefined ? known : known.filter(({ name }) => offered.includes(name));
  const [filter, setFilter] = useState('');
  const toggle: Toggle = (name, isPart = () => false) =>
    onChange(
      chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen.filter((one) => !isPart(one)), name],
    );
  const shown = events.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(filter.trim().toLowerCase()),
  );
  return (
    <fieldset class="webhooks-picker" aria-describedby={error ? 'webhooks-events-error' : undefined}>
      <legend>{texts.events}</legend>
      {error && (
        <p class="field-error" id="webhooks-events-error">
          {error}
        </p>
      )}
      <label class="check">
        <input type="checkbox" checked={chosen.includes('*')} onChange={() => toggle('*', () => true)} />
        {texts.picker.all}
      </label>
      {events.length >= FILTER_FROM && (
        <input
          type="search"
          aria-label={texts.picker.filter}
          placeholder={texts.picker.filter}
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      )}
      <div class="webhooks-groups" tabindex={0} role="group" aria-label={texts.picker.single}>
        {[...Map.groupBy(shown, ({ name }) => groupOf(name))].map(([group, own]) => (
          <EventGroup key={group} group={group} events={own} chosen={chosen} onToggle={toggle} />
        ))}
      </div>
    </fieldset>
  );
}
