import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { userResource } from '../data/schema.js';
import { place, setParams } from '../router.js';
import { DataTable } from './data-table.js';
import { Loaded, LoadMore, Pager } from './loading.js';
import { ReferencePicker } from './reference-picker.js';

const TYPING_MS = 250;

/** Changes filters of a list, which then begins with its first page. */
const setFilters = (changes, options) => setParams({ ...changes, after: undefined }, options);

/** The parameters with these names that are in the address. @param {string[]} names */
export function chosenParams(names) {
  const { params } = place.value;
  return new URLSearchParams(names.flatMap((name) => (params.has(name) ? [[name, params.get(name)]] : [])));
}

/**
 * The filters of a list. All of them are in the address.
 *
 * @param {{ kind: string, label: string, clears?: string[], onClear?: () => void, onSubmit?: () => void, children: any }} props `kind`: a
 *   further class; `clears`: the filters that a button clears; `onClear`: clears what is typed but not yet in the address
 */
export function FilterForm({ kind, label, clears = [], onClear, onSubmit, children }) {
  const clear = () => {
    onClear?.();
    setFilters(Object.fromEntries(clears.map((name) => [name, undefined])));
  };
  const submit = (event) => {
    event.preventDefault();
    onSubmit?.();
  };
  return html`<form class=${`filters ${kind}`} role="search" aria-label=${label} onSubmit=${submit}>
    ${children}
    ${chosenParams(clears).size > 0 && html`<button type="button" onClick=${clear}>Clear</button>`}
  </form>`;
}

/** The properties of a search field. Its text is in the address as soon as the user stops typing. @param {string} name of the parameter */
export function useSearchField(name) {
  const shown = place.value.params.get(name) ?? '';
  const [value, setValue] = useState(shown);
  const timer = useRef(undefined);
  useEffect(() => {
    setValue(shown);
    return () => clearTimeout(timer.current);
  }, [shown]);
  const search = (text) => {
    clearTimeout(timer.current);
    if (text.trim() !== shown) setFilters({ [name]: text.trim() }, { replace: true });
  };
  const onInput = ({ target }) => {
    setValue(target.value);
    clearTimeout(timer.current);
    timer.current = setTimeout(search, TYPING_MS, target.value);
  };
  return { type: 'search', value, onInput, onChange: ({ target }) => search(target.value) };
}

/**
 * A filter with fixed choices.
 *
 * @param {{ name: string, label: string, all?: string, options: [value: string, text: string][] }} props `all`: the choice without a filter;
 *   left out: the first option is chosen instead
 */
export function SelectFilter({ name, label, all, options }) {
  const value = place.value.params.get(name) ?? (all === undefined ? options[0]?.[0] : '');
  return html`<label>
    ${label}
    <select value=${value} onChange=${(event) => setFilters({ [name]: event.target.value })}>
      ${all && html`<option value="" selected=${value === ''}>${all}</option>`}
      ${options.map(([id, text]) => html`<option key=${id} value=${id} selected=${id === value}>${text}</option>`)}
    </select>
  </label>`;
}

/** A filter by user, in an app with accounts. @param {{ name: string, label: string }} props */
export function UserFilter({ name, label }) {
  const users = userResource();
  const id = `filter-${name}`;
  return (
    users &&
    html`<div class="form-field">
      <label for=${id}>${label}</label>
      <${ReferencePicker}
        id=${id}
        resource=${users.name}
        value=${place.value.params.get(name)}
        onChange=${(chosen) => setFilters({ [name]: chosen })}
      />
    </div>`
  );
}

/**
 * A list with its further pages.
 *
 * @param {{ from: ReturnType<typeof import('./loading.js').useLoaded> | ReturnType<typeof import('./loading.js').usePages>, empty: any,
 *   label: string, columns: Parameters<typeof DataTable>[0]['columns'], children?: (rows: any[]) => any }} props `empty`: what is shown without
 *   rows; `children`: shows the rows, if they are no table
 */
export function Listing({ from, empty, label, columns, children }) {
  const show = children ?? ((rows) => html`<${DataTable} label=${label} rows=${rows} columns=${columns} />`);
  const rows = 'rows' in from ? from.rows : from.data;
  return html`<${Loaded} from=${from}>${() => (rows.length === 0 ? empty : show(rows))}<//>
    ${'rows' in from ? html`<${LoadMore} from=${from} />` : html`<${Pager} next=${from.meta.next} />`}`;
}
