import { useState } from 'preact/hooks';
import { exactTime, localNumber, parseLocalNumber } from '../../../kit/format.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo } from '../app-info.ts';
import { isSafeLink } from '../format.tsx';
import { ariaProps, type ValueProps } from './editor-props.ts';

/** A text of this length or more gets a field of several lines. */
const LONG_TEXT = 80;

/** Texts, e-mail addresses and URLs. */
export function TextEditor(props: ValueProps) {
  const { id, field, value, onChange } = props;
  const text = String(value ?? '');
  // Decided once: the control must not be replaced while the user types.
  const [isLong] = useState(field.type === 'text' || text.length > LONG_TEXT || text.includes('\n'));
  if (isLong)
    return (
      <textarea
        id={id}
        rows={Math.min(14, Math.max(3, text.split('\n').length + 1))}
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
        {...ariaProps(props)}
      ></textarea>
    );
  return (
    <>
      <input
        id={id}
        type="text"
        inputmode={field.type === 'email' || field.type === 'url' ? field.type : undefined}
        spellcheck={field.type === 'string' ? undefined : false}
        autocomplete="off"
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
        {...ariaProps(props)}
      />
      {field.type === 'url' && isSafeLink(text) && (
        <p class="hint">
          <a href={text} target="_blank" rel="noopener noreferrer">
            {texts.editors.openAddress}
          </a>
        </p>
      )}
    </>
  );
}

/**
 * A field for a number in the notation of the page. Its text is kept while it is typed: `1.` is not a number yet, and a decimal may have more
 * digits than a number.
 *
 * @param props `value` and what `onChange` gets have a point; an empty text for no number
 */
export function NumberInput({
  value,
  onChange,
  ...attributes
}: {
  id: string;
  class?: string;
  inputmode: 'numeric' | 'decimal';
  value: string;
  onChange: (value: string) => void;
} & Partial<ReturnType<typeof ariaProps>>) {
  const [typed, setTyped] = useState(localNumber(value));
  const change = (text: string) => {
    setTyped(text);
    onChange(parseLocalNumber(text));
  };
  return (
    <input
      {...attributes}
      autocomplete="off"
      value={parseLocalNumber(typed) === value ? typed : localNumber(value)}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}

export function NumberEditor(props: ValueProps) {
  const { id, field, value, onChange } = props;
  return (
    <NumberInput
      id={id}
      class="number"
      inputmode={field.type === 'integer' ? 'numeric' : 'decimal'}
      value={String(value ?? '')}
      onChange={(text) => onChange(text.trim() === '' ? null : text)}
      {...ariaProps(props)}
    />
  );
}

/** The option for no value. A new record then gets the default, if the field has one. */
function EmptyOption({
  field,
  isNew,
  textOf = String,
}: Pick<ValueProps, 'field' | 'isNew'> & {
  /** The text of a default. */
  textOf?: (value: unknown) => string;
}) {
  const hasDefault = isNew && field.default !== undefined && field.default !== null;
  return (
    <option value="">{hasDefault ? texts.editors.defaultValue(textOf(field.default)) : texts.data.noValue}</option>
  );
}

const yesOrNo = (value: unknown) => (value ? texts.data.yes : texts.data.no);

/** Whether a select offers no value: also while a required field has none. */
const mayBeEmpty = (field: FieldInfo, value: unknown) => !field.required || value === null || value === undefined;

/** Yes or no; with a third state if the field may have no value. */
export function BooleanEditor(props: ValueProps) {
  const { id, field, value, onChange, isNew } = props;
  return (
    <select
      id={id}
      value={String(value ?? '')}
      onChange={({ currentTarget: { value: text } }) => onChange(text === '' ? null : text === 'true')}
      {...ariaProps(props)}
    >
      {mayBeEmpty(field, value) && <EmptyOption field={field} isNew={isNew} textOf={yesOrNo} />}
      <option value="true">{texts.data.yes}</option>
      <option value="false">{texts.data.no}</option>
    </select>
  );
}

/** One of the declared values. A stored value that is no longer declared stays visible. */
export function EnumEditor(props: ValueProps) {
  const { id, field, value, onChange, isNew } = props;
  const values = field.values ?? [];
  const current = typeof value === 'string' ? value : '';
  const options = current === '' || values.includes(current) ? values : [...values, current];
  return (
    <select
      id={id}
      value={current}
      onChange={({ currentTarget: { value: text } }) => onChange(text === '' ? null : text)}
      {...ariaProps(props)}
    >
      {mayBeEmpty(field, value) && <EmptyOption field={field} isNew={isNew} />}
      {options.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** `2030-01-31T12:00:00.000` in the time zone of the browser; an empty text for what is no time. */
export function toLocalInput(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

/** How fine the times of the control are, in seconds. */
const stepOf = (time: string) => (Date.parse(time) % 1000 > 0 ? '0.001' : '1');

/** A time, in the time zone of the browser, which is named beside it. */
export function DateEditor(props: ValueProps) {
  const { id, value, onChange } = props;
  const time = typeof value === 'string' ? value : '';
  return (
    <div class="date-row">
      <input
        id={id}
        type="datetime-local"
        step={stepOf(time)}
        value={toLocalInput(time).replace(/\.000$/, '')}
        onChange={({ currentTarget: { value: text } }) => onChange(text === '' ? null : new Date(text).toISOString())}
        {...ariaProps(props)}
      />
      <button type="button" onClick={() => onChange(new Date(Math.floor(Date.now() / 60_000) * 60_000).toISOString())}>
        {texts.editors.now}
      </button>
      {time && <span class="soft">{exactTime(time, { isShort: true })}</span>}
    </div>
  );
}

/** A date without a time: `2030-01-31`. */
export function DayEditor(props: ValueProps) {
  const { id, value, onChange } = props;
  return (
    <input
      id={id}
      type="date"
      value={typeof value === 'string' ? value : ''}
      onChange={({ currentTarget: { value: text } }) => onChange(text === '' ? null : text)}
      {...ariaProps(props)}
    />
  );
}
