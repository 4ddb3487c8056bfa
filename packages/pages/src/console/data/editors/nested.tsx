import { useState } from 'preact/hooks';
import { Icon, IconButton } from '../../../kit/icons.tsx';
import { ReferencePicker } from '../../components/reference-picker.tsx';
import { texts } from '../../texts.ts';
import type { FieldInfo } from '../app-info.ts';
import { dataHref, fieldValue, resourceOf } from '../schema.ts';
import type { EditorProps, ValueProps } from './editor-props.ts';
import { typeText } from './type-text.ts';
import { findLabel, isObject, referenceId } from './values.ts';

/** The labels of references: those of the server, and of the records that were chosen since. */
function useLabels({ field: { target }, labels }: Pick<ValueProps, 'field' | 'labels'>) {
  const [chosen, setChosen] = useState<Readonly<Record<string, string | undefined>>>({});
  return {
    labelOf: (id: string) => chosen[id] ?? findLabel(labels, target, id),
    remember: (id: string, label: string | undefined) => setChosen({ ...chosen, [id]: label }),
  };
}

/** A reference: a search for the record, and a link to the current one. */
export function ReferenceEditor(props: ValueProps) {
  const { id, field, value, onChange, invalid, describedBy } = props;
  const { labelOf, remember } = useLabels(props);
  const { target } = field;
  const current = referenceId(value);
  if (target === undefined || resourceOf(target) === undefined)
    return (
      <input id={id} value={current ?? ''} onInput={(event) => onChange(event.currentTarget.value.trim() || null)} />
    );
  const label = current === undefined ? undefined : labelOf(current);
  return (
    <div class="reference-row">
      <ReferencePicker
        id={id}
        resource={target}
        value={current ?? null}
        label={label}
        invalid={invalid}
        describedBy={describedBy}
        onChange={(next, nextLabel) => {
          remember(next, nextLabel);
          onChange(next);
        }}
      />
      {current && (
        <a class="button" href={dataHref([target, current])} aria-label={texts.editors.openRecord(label ?? current)}>
          <Icon name="link" />
          {texts.editors.open}
        </a>
      )}
    </div>
  );
}

function move<T>(items: readonly T[], from: number, to: number): T[] {
  const next = [...items];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

const without = <T,>(items: readonly T[], index: number): T[] => items.filter((_, at) => at !== index);

/** The buttons that move and remove an item of a list. */
function ItemTools<T>({
  items,
  index,
  name,
  onChange,
}: {
  items: readonly T[];
  index: number;
  /** Of the field. */
  name: string;
  onChange: (items: T[]) => void;
}) {
  return (
    <span class="item-tools">
      <IconButton
        icon="arrowUp"
        label={texts.editors.moveUp(index + 1, name)}
        disabled={index === 0}
        onClick={() => onChange(move(items, index, index - 1))}
      />
      <IconButton
        icon="arrowDown"
        label={texts.editors.moveDown(index + 1, name)}
        disabled={index === items.length - 1}
        onClick={() => onChange(move(items, index, index + 1))}
      />
      <IconButton
        icon="trash"
        label={texts.editors.removeItem(index + 1, name)}
        onClick={() => onChange(without(items, index))}
      />
    </span>
  );
}

/** References to several records, in an order. */
export function ReferencesEditor(props: ValueProps) {
  const { id, field, value, onChange } = props;
  const { target = '' } = field;
  const { labelOf, remember } = useLabels(props);
  const ids = Array.isArray(value) ? value.flatMap((item) => referenceId(item) ?? []) : [];
  const add = (next: string, label: string | undefined) => {
    remember(next, label);
    if (!ids.includes(next)) onChange([...ids, next]);
  };
  return (
    <>
      <ol class="items">
        {ids.map((one, index) => (
          <li key={one}>
            <a class="item-value" href={dataHref([target, one])}>
              {labelOf(one) ?? one}
            </a>
            <ItemTools items={ids} index={index} name={field.label} onChange={onChange} />
          </li>
        ))}
      </ol>
      <label class="visually-hidden" for={id}>
        {texts.editors.addTo(field.label)}
      </label>
      <ReferencePicker
        id={id}
        resource={target}
        value={null}
        placeholder={texts.editors.addReference(resourceOf(target)?.label ?? target)}
        onChange={add}
      />
    </>
  );
}

/** The value of a new item. */
function emptyItem({ type }: FieldInfo): unknown {
  if (type === 'boolean') return false;
  if (type === 'object') return {};
  return type === 'array' || type === 'refs' ? [] : null;
}

/** A list of values: add, change, move, remove. */
export function ArrayEditor({ Inner, ...props }: EditorProps) {
  const { id, field, value, onChange, labels, resource } = props;
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const { inner } = field;
  if (!inner) return <Inner {...props} field={{ ...field, type: 'json' }} />;
  if (inner.type === 'ref') return <ReferencesEditor {...props} field={{ ...field, target: inner.target }} />;
  // The items of a list of files are the files themselves; new ones are uploaded for the field.
  const itemField = {
    ...inner,
    name: inner.type === 'file' ? field.name : `${field.name} ${inner.type}`,
    label: field.label,
  };
  return (
    <>
      <ol class="items">
        {items.map((item, index) => (
          <li key={index}>
            <div class="item-value">
              <label class="visually-hidden" for={`${id}-${index}`}>
                {texts.editors.item(index + 1, field.label)}
              </label>
              <Inner
                id={`${id}-${index}`}
                field={itemField}
                resource={resource}
                value={item}
                labels={labels}
                onChange={(next) => onChange(items.map((one, at) => (at === index ? next : one)))}
              />
            </div>
            <ItemTools items={items} index={index} name={field.label} onChange={onChange} />
          </li>
        ))}
      </ol>
      <button type="button" id={id} onClick={() => onChange([...items, emptyItem(inner)])}>
        <Icon name="add" />
        {texts.editors.addItem}
      </button>
    </>
  );
}

/** The fields of an object. An optional object has no value until it is added. */
export function ObjectEditor({ id, field, value, onChange, labels, resource, Inner }: EditorProps) {
  const shape = field.shape ?? [];
  if (!isObject(value))
    return (
      <button type="button" id={id} onClick={() => onChange({})}>
        <Icon name="add" />
        {texts.editors.addValue}
      </button>
    );
  return (
    <div class="object">
      {shape.map((member) => {
        // Not with a hyphen: the ids of the name, hint and error of the group have one.
        const memberId = `${id}.${member.name}`;
        return (
          <div class="field" key={member.name}>
            <div class="field-head">
              <label class="name" for={memberId}>
                {member.label}
                {member.required && (
                  <span class="required" title={texts.editors.required}>
                    *
                  </span>
                )}
              </label>
              <span class="type">{typeText(member)}</span>
            </div>
            <Inner
              id={memberId}
              field={member}
              resource={resource}
              value={fieldValue(value, member.name) ?? null}
              labels={labels}
              onChange={(next) => onChange({ ...value, [member.name]: next })}
            />
            {member.description && <p class="hint">{member.description}</p>}
          </div>
        );
      })}
    </div>
  );
}
