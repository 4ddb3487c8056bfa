import type { ComponentChildren, TargetedEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { userResource } from '../data/schema.ts';
import { place, setParams } from '../router.ts';
import { texts } from '../texts.ts';
import { DataTable, type TableColumn } from './data-table.tsx';
import { type Load, Loaded, LoadMore, Pager, type Pages } from './loading.tsx';
import { ReferencePicker } from './reference-picker.tsx';

const TYPING_MS = 250;

/** Changes filters of a list, which then begins with its first page. */
const setFilters = (changes: Readonly<Record<string, string | undefined>>, options?: { replace?: boolean }) =>
  setParams({ ...changes, after: undefined }, options);

/** The parameters with these names that are in the address. */
export function chosenParams(names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...place.value.params].filter(([name]) => names.includes(name)));
}

/** The filters of a list. All of them are in the address. */
export function FilterForm({
  kind,
  label,
  clears = [],
  onClear,
  onSubmit,
  children,
}: {
  /** A further class. */
  kind: string;
  label: string;
  /** The filters that a button clears. */
  clears?: readonly string[];
  /** Clears what is typed but not yet in the address. */
  onClear?: () => void;
  onSubmit?: () => void;
  children: ComponentChildren;
}) {
  const clear = () => {
    onClear?.();
    setFilters(Object.fromEntries(clears.map((name) => [name, undefined])));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <form class={`filters ${kind}`} role="search" aria-label={label} onSubmit={submit}>
      {children}
      {chosenParams(clears).size > 0 && (
        <button type="button" onClick={clear}>
          {texts.components.clear}
        </button>
      )}
    </form>
  );
}

/** The properties of a search field. Its text is in the address as soon as the user stops typing. @param name of the parameter */
export function useSearchField(name: string) {
  const shown = place.value.params.get(name) ?? '';
  const [value, setValue] = useState(shown);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // Not `useEffect`, which runs after the next paint, and would undo what is typed before then.
  useLayoutEffect(() => {
    // The address has no spaces around the text, but the user may be about to type the next word.
    setValue((typed) => (typed.trim() === shown ? typed : shown));
    return () => clearTimeout(timer.current);
  }, [shown]);
  const search = (text: string) => {
    clearTimeout(timer.current);
    if (text.trim() !== shown) setFilters({ [name]: text.trim() }, { replace: true });
  };
  const onInput = ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
    setValue(currentTarget.value);
    clearTimeout(timer.current);
    timer.current = setTimeout(search, TYPING_MS, currentTarget.value);
  };
  const onChange = ({ currentTarget }: TargetedEvent<HTMLInputElement>) => search(currentTarget.value);
  return { type: 'search', value, onInput, onChange } as const;
}

/** A filter with fixed choices. */
export function SelectFilter({
  name,
  label,
  all,
  options,
}: {
  name: string;
  label: string;
  /** The choice without a filter; left out: the first option is chosen instead. */
  all?: string;
  options: readonly (readonly [value: string, text: string])[];
}) {
  const value = place.value.params.get(name) ?? (all === undefined ? options[0]?.[0] : '');
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => setFilters({ [name]: event.currentTarget.value })}>
        {all && (
          <option value="" selected={value === ''}>
            {all}
          </option>
        )}
        {options.map(([id, text]) => (
          <option key={id} value={id} selected={id === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A filter by user, in an app with accounts. */
export function UserFilter({ name, label }: { name: string; label: string }) {
  const users = userResource();
  return users && <RecordFilter name={name} label={label} resource={users.name} />;
}

/** A filter by a record. @param props `resource`: the name of its resource */
export function RecordFilter({ name, label, resource }: { name: string; label: string; resource: string }) {
  const id = `filter-${resource}-${name}`;
  return (
    <div class="form-field">
      <label for={id}>{label}</label>
      <ReferencePicker
        id={id}
        resource={resource}
        value={place.value.params.get(name)}
        onChange={(chosen) => setFilters({ [name]: chosen })}
      />
    </div>
  );
}

/** How a list shows its rows: as a table, or otherwise. */
type ListingContent<Row> =
  | { label: string; columns: readonly TableColumn<Row>[]; children?: undefined }
  | { label?: string; columns?: undefined; children: (rows: Row[]) => ComponentChildren };

/** A list with its further pages. @param props `empty`: what is shown without rows */
export function Listing<Row extends object>({
  from,
  empty,
  ...content
}: { from: Load<Row[]> | Pages<Row>; empty: ComponentChildren } & ListingContent<Row>) {
  const rows = ('rows' in from ? from.rows : from.data) ?? [];
  const show = () => (content.children === undefined ? <DataTable {...content} rows={rows} /> : content.children(rows));
  return (
    <>
      <Loaded from={from}>{() => (rows.length === 0 ? empty : show())}</Loaded>
      {'rows' in from ? <LoadMore from={from} /> : <Pager next={from.meta.next} />}
    </>
  );
}
