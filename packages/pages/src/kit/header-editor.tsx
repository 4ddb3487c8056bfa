import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts as kitTexts } from './texts.ts';

/** The most headers of an endpoint. */
const MAX_ROWS = 10;

/** A header in the editor. */
interface HeaderRow {
  key: number;
  name: string;
  /** What is typed. Empty in a row of a stored header: the value stays. */
  value: string;
  /** The masked value of a stored header, whose name cannot change. */
  mask?: string;
}

/** The headers that a request changes: names with the new value, or null to remove the header. */
export type HeaderChanges = Record<string, string | null>;

/** The headers of a form. */
export interface HeaderRows {
  rows: readonly HeaderRow[];
  /** Whether two rows have the same name. Then `readChanges` has no use, because an object has each name once. */
  hasDuplicate: boolean;
  setRows(rows: readonly HeaderRow[]): void;
  /** Returns what differs from the stored headers; undefined if nothing does. */
  readChanges(): HeaderChanges | undefined;
}

const nameOf = ({ name }: HeaderRow) => name.trim().toLowerCase();
const isBlank = ({ name, value }: HeaderRow) => name.trim() === '' && value === '';

/** Keeps the headers of a form. @param stored with masked values, as the server returns them */
export function useHeaderRows(stored: Readonly<Record<string, string>> = {}): HeaderRows {
  const [rows, setRows] = useState<readonly HeaderRow[]>(() =>
    Object.entries(stored).map(([name, mask], key) => ({ key, name, value: '', mask })),
  );
  const filled = rows.filter((row) => !isBlank(row));
  const names = new Set(filled.map(nameOf));

  function readChanges(): HeaderChanges | undefined {
    const removed = Object.keys(stored).filter((name) => !names.has(name.toLowerCase()));
    const set = filled.filter(({ mask, value }) => mask === undefined || value !== '');
    const changes = [...removed.map((name) => [name, null]), ...set.map(({ name, value }) => [name.trim(), value])];
    return changes.length === 0 ? undefined : (Object.fromEntries(changes) as HeaderChanges);
  }

  return { rows, hasDuplicate: names.size < filled.length, setRows, readChanges };
}

/** The errors of headers: of all together, and of each by its name in lower case. */
function splitErrors(errors: Readonly<Record<string, string>>): { all?: string; byName: Map<string, string> } {
  const prefix = 'headers.';
  const own = Object.entries(errors).filter(([key]) => key.startsWith(prefix));
  const byName = new Map(own.map(([key, text]) => [key.slice(prefix.length).toLowerCase(), text]));
  return errors.headers === undefined ? { byName } : { all: errors.headers, byName };
}

function RowFields({
  row,
  place,
  isInvalid,
  describedBy,
  onChange,
  onRemove,
}: {
  row: HeaderRow;
  /** From 1. */
  place: number;
  isInvalid: boolean;
  describedBy: string;
  onChange: (row: HeaderRow) => void;
  onRemove: () => void;
}) {
  const texts = kitTexts.headers;
  const common = { autocomplete: 'off', spellcheck: false, 'aria-describedby': describedBy };
  const invalid = isInvalid ? ('true' as const) : undefined;
  return (
    <li class="header-row">
      <input
        {...common}
        aria-label={texts.name(place)}
        aria-invalid={row.mask === undefined ? invalid : undefined}
        placeholder={texts.example}
        maxlength={64}
        readonly={row.mask !== undefined}
        value={row.name}
        onInput={({ currentTarget }) => onChange({ ...row, name: currentTarget.value })}
      />
      <input
        {...common}
        aria-label={texts.value(row.name.trim() || String(place))}
        aria-invalid={invalid}
        maxlength={1024}
        placeholder={row.mask === undefined ? '' : texts.kept(row.mask)}
        value={row.value}
        onInput={({ currentTarget }) => onChange({ ...row, value: currentTarget.value })}
      />
      <button type="button" aria-label={texts.removeLabel(row.name.trim() || String(place))} onClick={onRemove}>
        {texts.remove}
      </button>
    </li>
  );
}

/**
 * The editor of the custom headers of a webhook endpoint.
 *
 * @param props `form`: begins the ids; `errors`: the `details` of an error of the server; `onChange`: called after each change
 */
export function HeaderEditor({
  form,
  headers: { rows, hasDuplicate, setRows },
  errors,
  onChange,
}: {
  form: string;
  headers: HeaderRows;
  errors: Readonly<Record<string, string>>;
  onChange: () => void;
}) {
  const texts = kitTexts.headers;
  const list = useRef<HTMLUListElement>(null);
  const adder = useRef<HTMLButtonElement>(null);
  const focusNext = useRef<'added' | 'removed' | undefined>(undefined);
  useLayoutEffect(() => {
    if (focusNext.current === 'added') list.current?.querySelector<HTMLInputElement>('li:last-child input')?.focus();
    // The button that had the focus is gone.
    if (focusNext.current === 'removed') adder.current?.focus();
    focusNext.current = undefined;
  });
  const update = (next: readonly HeaderRow[], focus?: 'added' | 'removed') => {
    focusNext.current = focus;
    setRows(next);
    onChange();
  };
  const { all, byName } = splitErrors(errors);
  const shown = [
    ...(hasDuplicate ? [texts.duplicate] : []),
    ...(all === undefined ? [] : [all]),
    ...[...byName].map(([name, text]) => `${rows.find((row) => nameOf(row) === name)?.name.trim() ?? name}: ${text}`),
  ];
  const describedBy = `${form}-headers-errors`;
  const nextKey = Math.max(-1, ...rows.map(({ key }) => key)) + 1;
  return (
    <fieldset class="header-editor">
      <legend>{texts.legend}</legend>
      <p class="hint">{texts.hint}</p>
      <ul ref={list} class="header-rows">
        {rows.map((row, i) => (
          <RowFields
            key={row.key}
            row={row}
            place={i + 1}
            isInvalid={byName.has(nameOf(row)) || (all !== undefined && i === 0)}
            describedBy={describedBy}
            onChange={(changed) => update(rows.map((one) => (one.key === row.key ? changed : one)))}
            onRemove={() =>
              update(
                rows.filter(({ key }) => key !== row.key),
                'removed',
              )
            }
          />
        ))}
      </ul>
      <div id={describedBy} class="field-error" role="alert">
        {shown.map((text) => (
          <p key={text}>{text}</p>
        ))}
      </div>
      <div>
        <button
          type="button"
          ref={adder}
          aria-disabled={rows.length >= MAX_ROWS}
          onClick={() => rows.length < MAX_ROWS && update([...rows, { key: nextKey, name: '', value: '' }], 'added')}
        >
          {texts.add}
        </button>
      </div>
    </fieldset>
  );
}
