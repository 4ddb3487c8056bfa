import './filter.css';
import { useEffect, useId, useState } from 'preact/hooks';
import {
  CHANGED,
  createRow,
  type EndpointFilter,
  errorsOfRow,
  type FilterFields,
  type FilterRow,
  isRepeated,
  listFilterEvents,
  OPERATORS,
  parameterOf,
  toFilter,
} from './rows.ts';
import { FilterTest, type FilterTestResult } from './test.tsx';
import { texts } from './texts.ts';

/** Reads the fields of an event. */
type LoadFields = (event: string) => Promise<FilterFields>;

const NO_FIELDS: FilterFields = { filters: [], changed: [] };
const LISTS: readonly string[] = ['in', 'nin', 'all'];

/** Reads the fields of an event or of a pattern. `names`: all events. The server checks conditions, so an error leaves only the suggestions empty. */
function useFields(event: string, names: readonly string[], loadFields: LoadFields): FilterFields {
  const [loaded, setLoaded] = useState<{ event: string; fields: FilterFields }>();
  useEffect(() => {
    let isCurrent = true;
    const name = event.endsWith('.*') ? names.find((one) => one.startsWith(event.slice(0, -1))) : event;
    if (name !== undefined && name !== '')
      loadFields(name).then(
        (fields) => isCurrent && setLoaded({ event, fields }),
        () => isCurrent && setLoaded({ event, fields: NO_FIELDS }),
      );
    return () => {
      isCurrent = false;
    };
  }, [event, names.length]);
  return loaded?.event === event ? loaded.fields : NO_FIELDS;
}

/** The operators of a field. Of a path, the fields are not known, so all are offered. */
function listOperators({ filters, changed }: FilterFields, { event, field }: FilterRow): readonly string[] {
  const isUpdate = event.endsWith('.updated');
  const known = filters.find((one) => one.field === field.trim());
  if (known === undefined && changed.includes(field.trim())) return isUpdate ? [CHANGED] : OPERATORS;
  const operators = OPERATORS.filter((one) => known === undefined || known.operators.includes(one));
  return isUpdate && known !== undefined ? [...operators, CHANGED] : operators;
}

function ValueInput({ row, onChange }: { row: FilterRow; onChange: (value: string) => void }) {
  if (row.operator === CHANGED) return null;
  if (row.operator === 'exists')
    return (
      <label>
        {texts.value}
        <select value={row.value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="true">{texts.true}</option>
          <option value="false">{texts.false}</option>
        </select>
      </label>
    );
  return (
    <label>
      {texts.value}
      <input
        value={row.value}
        autocomplete="off"
        spellcheck={false}
        placeholder={LISTS.includes(row.operator) ? texts.valueList : undefined}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  );
}

interface RowProps {
  row: FilterRow;
  number: number;
  /** The events and patterns to choose from. */
  events: readonly string[];
  names: readonly string[];
  errors: readonly string[];
  loadFields: LoadFields;
  onChange: (row: FilterRow) => void;
  onRemove: () => void;
}

function Row({ row, number, events, names, errors, loadFields, onChange, onRemove }: RowProps) {
  const id = useId();
  const fields = useFields(row.event, names, loadFields);
  const operators = listOperators(fields, row);
  const suggestions = [...new Set([...fields.filters.map(({ field }) => field), ...fields.changed])];
  const change = (values: Partial<FilterRow>) => {
    const next = { ...row, ...values };
    const allowed = listOperators(fields, next);
    const operator = allowed.includes(next.operator) ? next.operator : (allowed[0] ?? 'eq');
    const isBoolean = next.value === 'true' || next.value === 'false';
    onChange({ ...next, operator, value: operator === 'exists' && !isBoolean ? 'true' : next.value });
  };
  const describedBy = errors.length > 0 ? `${id}-error` : undefined;
  return (
    <fieldset class="filter-row" aria-label={texts.condition(number)}>
      <label>
        {texts.event}
        <select value={row.event} onChange={({ currentTarget }) => change({ event: currentTarget.value })}>
          {[...new Set([row.event, ...events])].map((event) => (
            <option key={event} value={event}>
              {event}
            </option>
          ))}
        </select>
      </label>
      <label>
        {texts.field}
        <input
          value={row.field}
          list={`${id}-fields`}
          autocomplete="off"
          spellcheck={false}
          title={texts.fieldHint}
          aria-invalid={errors.length > 0 ? 'true' : undefined}
          aria-describedby={describedBy}
          onInput={({ currentTarget }) => change({ field: currentTarget.value })}
        />
        <datalist id={`${id}-fields`}>
          {suggestions.map((field) => (
            <option key={field} value={field} />
          ))}
        </datalist>
      </label>
      <label>
        {texts.operator}
        <select value={row.operator} onChange={({ currentTarget }) => change({ operator: currentTarget.value })}>
          {[...new Set([row.operator, ...operators])].map((operator) => (
            <option key={operator} value={operator}>
              {(texts.operators as Record<string, string>)[operator] ?? operator}
            </option>
          ))}
        </select>
      </label>
      <ValueInput row={row} onChange={(value) => change({ value })} />
      <button
        type="button"
        class="plain"
        aria-label={texts.remove(`${row.event} ${parameterOf(row)}`)}
        onClick={onRemove}
      >
        ✕
      </button>
      <div class="field-error" id={`${id}-error`} role="alert">
        {errors.map((text) => (
          <p key={text}>{text}</p>
        ))}
      </div>
    </fieldset>
  );
}

/**
 * The editor of an endpoint's filter: a row for each condition.
 *
 * @param props `events`: that the endpoint subscribes to; `known`: the names of all events; `errors`: the `details` of the server's error;
 *   `onTest`: tests a filter with the last events of the endpoint, left out for a new endpoint
 */
export function FilterEditor({
  rows,
  events,
  known,
  errors,
  loadFields,
  onChange,
  onTest,
}: {
  rows: readonly FilterRow[];
  events: readonly string[];
  known: readonly string[];
  errors: Readonly<Record<string, string>>;
  loadFields: LoadFields;
  onChange: (rows: FilterRow[]) => void;
  onTest?: ((filter: EndpointFilter | null) => Promise<FilterTestResult[]>) | undefined;
}) {
  const [testErrors, setTestErrors] = useState<Readonly<Record<string, string>>>({});
  const choices = listFilterEvents(known, events);
  const all = { ...errors, ...testErrors };
  const change = (next: FilterRow[]) => {
    setTestErrors({});
    onChange(next);
  };
  const errorsOf = (row: FilterRow) => [
    ...errorsOfRow(row, rows, all),
    ...(isRepeated(row, rows) ? [texts.repeated] : []),
  ];
  const add = () =>
    change([...rows, createRow({ event: rows.at(-1)?.event ?? choices[0]!, field: '', operator: 'eq', value: '' })]);
  return (
    <fieldset class="filter-editor">
      <legend>{texts.legend}</legend>
      <p class="hint">{rows.length > 0 ? texts.hint : events.length === 0 ? texts.noEvents : texts.none}</p>
      {all.filter && <p class="field-error">{all.filter}</p>}
      {rows.length > 0 && (
        <div>
          {rows.map((row, i) => (
            <Row
              key={row.key}
              row={row}
              number={i + 1}
              events={choices}
              names={known}
              errors={errorsOf(row)}
              loadFields={loadFields}
              onChange={(next) => change(rows.map((one) => (one === row ? next : one)))}
              onRemove={() => change(rows.filter((one) => one !== row))}
            />
          ))}
        </div>
      )}
      <div class="filter-buttons">
        <button type="button" disabled={choices.length === 0} onClick={add}>
          {texts.add}
        </button>
      </div>
      {onTest && rows.length > 0 && <FilterTest run={() => onTest(toFilter(rows))} onErrors={setTestErrors} />}
    </fieldset>
  );
}
