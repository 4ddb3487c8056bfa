import { useState } from 'preact/hooks';
import { Icon } from '../../../kit/icons.tsx';
import { locale } from '../../../kit/language.ts';
import { Menu } from '../../components/menu.tsx';
import { useReferenceLabel } from '../../components/reference-picker.tsx';
import { place, setParams } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { Choices, comparedType, FilterValue, isSingle } from './filter-value.tsx';
import { type Filter, filterableColumns, filtersIn, operatorText } from './query.ts';

interface FilterFormProps {
  resource: ResourceInfo;
  /** The filter to change; left out for a new one. */
  initial?: Filter;
  /** Of the record that `initial` compares with. */
  initialLabel?: string;
  onDone: () => void;
}

/** The choices of the form of a filter: a field, an operator that the field has, and a value. */
function useFilter({ resource, initial, initialLabel }: FilterFormProps) {
  const columns = filterableColumns(resource);
  const [name, setName] = useState(initial?.name ?? columns[0]?.name ?? '');
  const field = columns.find((one) => one.name === name) ?? columns[0];
  const [operator, setOperator] = useState(initial?.operator ?? field?.operators[0] ?? '');
  const [value, setValue] = useState(initial?.value ?? '');
  const [label, setLabel] = useState(initialLabel);
  const chooseField = (next: string) => {
    const operators = columns.find((one) => one.name === next)?.operators ?? [];
    setName(next);
    setOperator(operators.includes('eq') ? 'eq' : (operators[0] ?? ''));
    setValue('');
  };
  const chooseOperator = (next: string) => {
    if (next === 'exists' || operator === 'exists') setValue(next === 'exists' ? 'true' : '');
    setOperator(next);
  };
  return { columns, name, field, operator, value, label, chooseField, chooseOperator, setValue, setLabel };
}

/** The form of one filter. */
function FilterForm(props: FilterFormProps) {
  const { initial, onDone } = props;
  const filter = useFilter(props);
  const { columns, name, field, operator, value, label } = filter;
  if (field === undefined) return <p class="soft">{texts.list.filters.none}</p>;
  const apply = (event: Event) => {
    event.preventDefault();
    const previous = initial === undefined ? {} : { [initial.key]: undefined };
    // An empty text is a value that texts can be compared with, but it would disappear from the address.
    const text = value === '' && operator === 'eq' ? undefined : value;
    setParams({ ...previous, [`${name}[${operator}]`]: text, after: undefined });
    onDone();
  };
  return (
    <form class="filter-form" onSubmit={apply}>
      <label for="filter-field">
        {texts.list.filters.field}
        <Choices
          id="filter-field"
          options={columns.map((one) => [one.name, one.label])}
          value={name}
          onChange={filter.chooseField}
        />
      </label>
      <label for="filter-operator">
        {texts.list.filters.comparison}
        <Choices
          id="filter-operator"
          options={field.operators.map((one) => [one, operatorText(field, one)])}
          value={operator}
          onChange={filter.chooseOperator}
        />
      </label>
      <div class="field">
        <label for="filter-value">{texts.list.filters.value}</label>
        <FilterValue
          key={`${name} ${operator}`}
          field={field}
          operator={operator}
          value={value}
          onChange={filter.setValue}
          label={label}
          onLabel={filter.setLabel}
        />
      </div>
      <footer>
        <button type="submit" class="primary" disabled={value === ''}>
          {texts.list.filters.apply}
        </button>
      </footer>
    </form>
  );
}

/** A compared value, for people. */
function valueText(type: string | undefined, value: string, label: string): string {
  if (type === 'ref') return label;
  const date = type === 'date' ? new Date(value) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? value : date.toLocaleString(locale);
}

/** A filter in use, which can be changed and removed. */
function FilterChip({ resource, filter }: { resource: ResourceInfo; filter: Filter }) {
  const { key, name, operator, value } = filter;
  const field = filterableColumns(resource).find((one) => one.name === name);
  const compared = field && comparedType(field);
  const isOne = compared?.type === 'ref' && isSingle(operator);
  const label = useReferenceLabel(isOne ? compared.target : undefined, value);
  const fieldName = field?.label ?? name;
  const { hasValue, hasNoValue } = texts.list.filters;
  const text =
    operator === 'exists'
      ? (value === 'true' ? hasValue : hasNoValue)(fieldName)
      : `${fieldName} ${operatorText(field, operator)} ${valueText(compared?.type, value, label)}`;
  return (
    <span class="filter-chip">
      <Menu label={text}>
        {(close) => <FilterForm resource={resource} initial={filter} initialLabel={label} onDone={close} />}
      </Menu>
      <button
        type="button"
        aria-label={texts.list.filters.remove(text)}
        onClick={() => setParams({ [key]: undefined, after: undefined })}
      >
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

/** The button that adds a filter. */
export function FilterMenu({ resource }: { resource: ResourceInfo }) {
  const count = filtersIn(place.value.params).length;
  return (
    <Menu label={texts.list.filters.filter} icon="filter" badge={count}>
      {(close) => <FilterForm resource={resource} onDone={close} />}
    </Menu>
  );
}

/** The filters in use. */
export function FilterChips({ resource }: { resource: ResourceInfo }) {
  const { params } = place.value;
  const filters = filtersIn(params);
  const deleted = params.get('deleted');
  if (filters.length === 0 && deleted === null) return null;
  const clear = () =>
    setParams(
      Object.fromEntries([...filters.map(({ key }) => key), 'deleted', 'after'].map((key) => [key, undefined])),
    );
  return (
    <div class="chips" role="group" aria-label={texts.list.filters.inUse}>
      {filters.map((filter) => (
        <FilterChip key={filter.key} resource={resource} filter={filter} />
      ))}
      {deleted !== null && (
        <span class="filter-chip">
          <span class="text">
            {deleted === 'only' ? texts.list.filters.onlyDeleted : texts.list.filters.withDeleted}
          </span>
          <button
            type="button"
            aria-label={texts.list.filters.hideDeleted}
            onClick={() => setParams({ deleted: undefined, after: undefined })}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      )}
      <button type="button" class="plain" onClick={clear}>
        {texts.components.clear}
      </button>
    </div>
  );
}
