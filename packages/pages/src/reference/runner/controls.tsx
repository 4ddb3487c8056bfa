import type { ComponentChildren } from 'preact';
import type { Json } from '../document.ts';
import { typeText } from '../schema-text.ts';
import { texts } from '../texts.ts';
import { controlOf, offersNull, type Part } from './members.ts';
import type { FormValue } from './request.ts';

/** The attributes of every control: its id, and those that connect it to its label and error. */
type Attributes = Record<string, string | undefined>;

function SelectInput({
  values,
  isRequired,
  value,
  onChange,
  attributes,
}: {
  values: readonly Json[];
  isRequired: boolean;
  value: string;
  onChange: (value: string) => void;
  attributes: Attributes;
}) {
  return (
    <select value={value} onInput={(event) => onChange(event.currentTarget.value)} {...attributes}>
      <option value="">{isRequired ? texts.request.choose : texts.request.notSet}</option>
      {values.map((one) => (
        <option key={String(one)} value={String(one)}>
          {String(one)}
        </option>
      ))}
    </select>
  );
}

/** The control for a value, by its schema. */
function Input({
  part,
  value,
  onChange,
  attributes,
}: {
  part: Part;
  value: FormValue;
  onChange: (value: FormValue) => void;
  attributes: Attributes;
}) {
  const { schema, isRequired } = part;
  const kind = controlOf(part);
  const text = typeof value === 'string' ? value : '';
  const onInput = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
  if (kind === 'choice' || kind === 'boolean') {
    const declared = kind === 'boolean' ? ['true', 'false'] : (schema.enum ?? []);
    const values = offersNull(part) ? [...declared, 'null'] : declared;
    return (
      <SelectInput values={values} isRequired={isRequired} value={text} onChange={onChange} attributes={attributes} />
    );
  }
  if (kind === 'file') {
    const isList = schema.type === 'array';
    const choose = ({ currentTarget: { files } }: { currentTarget: HTMLInputElement }) => {
      const chosen = [...(files ?? [])];
      onChange(isList ? chosen : chosen[0]);
    };
    return <input type="file" multiple={isList} {...attributes} onChange={choose} />;
  }
  if (kind === 'json')
    return (
      <textarea
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        class="reference-code"
        placeholder={schema.type === 'array' ? '[ ]' : '{ }'}
        spellcheck={false}
        value={text}
        onInput={onInput}
        {...attributes}
      />
    );
  const shared = {
    autocomplete: 'off',
    spellcheck: false,
    placeholder: schema.default === undefined ? undefined : String(schema.default),
    value: text,
    onInput,
    ...attributes,
  };
  return kind === 'password' ? (
    <input type="password" {...shared} />
  ) : (
    <input type="text" inputmode={kind === 'number' ? 'decimal' : undefined} {...shared} />
  );
}

/** A labelled control for a parameter or a member of the body. */
export function Control({
  id,
  part,
  value,
  onChange,
  error,
  action,
}: {
  id: string;
  part: Part;
  value: FormValue;
  onChange: (value: FormValue) => void;
  error?: string | undefined;
  /** A button beside the label. */
  action?: ComponentChildren;
}) {
  const attributes = {
    id,
    'aria-required': part.isRequired ? 'true' : undefined,
    'aria-invalid': error === undefined ? undefined : 'true',
    'aria-describedby': error === undefined ? undefined : `${id}-error`,
    title: part.description ?? part.schema.description,
  };
  return (
    <div class="reference-control">
      <div class="reference-label">
        <label for={id}>
          <code>{part.name}</code>
        </label>
        {part.isRequired && (
          <span class="reference-required" aria-hidden="true">
            {texts.required}
          </span>
        )}
        <span class="reference-type" aria-hidden="true">
          {typeText(part.schema, part.alternatives)}
        </span>
        {action}
      </div>
      <Input part={part} value={value} onChange={onChange} attributes={attributes} />
      {error !== undefined && (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
    </div>
  );
}
