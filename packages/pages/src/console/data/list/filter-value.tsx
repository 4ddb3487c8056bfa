import { ReferencePicker } from '../../components/reference-picker.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo } from '../app-info.ts';
import { NumberInput, toLocalInput } from '../editors/basic.tsx';

const NUMBERS = ['integer', 'number', 'decimal'];
/** Operators whose value is a list, separated by commas. */
const LISTS = ['in', 'nin', 'all'];

/** Whether an operator compares with a single value of the field's type. */
export const isSingle = (operator: string): boolean => !LISTS.includes(operator) && operator !== 'exists';

/** The type of a single compared value: that of the items of a list. */
export function comparedType(field: FieldInfo): Pick<FieldInfo, 'type' | 'values' | 'target'> {
  if (field.type === 'refs') return { type: 'ref', target: field.target };
  return field.type === 'array' && field.inner ? field.inner : field;
}

interface ChoicesProps {
  id?: string;
  options: readonly (readonly [value: string, text: string])[];
  value: string;
  onChange: (value: string) => void;
  /** The text of an option for no choice. */
  empty?: string;
}

export function Choices({ id, options, value, onChange, empty }: ChoicesProps) {
  return (
    <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {empty !== undefined && <option value="">{empty}</option>}
      {options.map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
    </select>
  );
}

function CheckedChoices({
  options,
  value,
  onChange,
}: {
  options: readonly string[];
  /** The chosen options, separated by commas. */
  value: string;
  onChange: (value: string) => void;
}) {
  const chosen = value === '' ? [] : value.split(',');
  const toggle = (one: string) =>
    onChange(options.filter((each) => chosen.includes(each) !== (each === one)).join(','));
  return (
    <div class="checks" role="group" aria-label={texts.list.filters.values}>
      {options.map((one) => (
        <label key={one} class="check">
          <input type="checkbox" checked={chosen.includes(one)} onClick={() => toggle(one)} />
          {one}
        </label>
      ))}
    </div>
  );
}

const YES_NO = [
  ['true', texts.list.filters.yes],
  ['false', texts.list.filters.no],
] as const;

const fromLocalInput = (text: string) => (text === '' ? '' : new Date(text).toISOString());

/** The input for the value of a filter, by the type of the field. */
export function FilterValue({
  field,
  operator,
  value,
  onChange,
  label,
  onLabel,
}: {
  field: FieldInfo;
  operator: string;
  value: string;
  onChange: (value: string) => void;
  /** Of a chosen record. */
  label: string | undefined;
  onLabel: (label: string | undefined) => void;
}) {
  const id = 'filter-value';
  const { type, values, target } = comparedType(field);
  const choices = (options: ChoicesProps['options']) => (
    <Choices id={id} options={options} value={value} onChange={onChange} empty={texts.list.filters.choose} />
  );
  if (operator === 'exists' || type === 'boolean') return choices(YES_NO);
  if (values && LISTS.includes(operator)) return <CheckedChoices options={values} value={value} onChange={onChange} />;
  if (values) return choices(values.map((one) => [one, one]));
  if (type === 'ref' && target !== undefined && isSingle(operator))
    return (
      <ReferencePicker
        id={id}
        resource={target}
        value={value === '' ? null : value}
        label={label}
        onChange={(chosen, chosenLabel) => {
          onLabel(chosenLabel);
          onChange(chosen);
        }}
      />
    );
  if (type === 'date' && isSingle(operator))
    return (
      <input
        id={id}
        type="datetime-local"
        value={toLocalInput(value).slice(0, 16)}
        onInput={(event) => onChange(fromLocalInput(event.currentTarget.value))}
      />
    );
  if (NUMBERS.includes(type) && isSingle(operator))
    return <NumberInput id={id} value={value} inputmode="decimal" onChange={onChange} />;
  return (
    <input
      id={id}
      value={value}
      placeholder={isSingle(operator) ? undefined : texts.list.filters.valuesHint}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
