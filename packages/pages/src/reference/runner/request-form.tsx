import type { ComponentChildren } from 'preact';
import { type OpenApiDocument, type Parameter, simplify } from '../document.ts';
import type { Operation } from '../operations.ts';
import { Folded } from '../parts.tsx';
import { texts } from '../texts.ts';
import { BodyForm } from './body-form.tsx';
import { Control } from './controls.tsx';
import type { Part } from './members.ts';
import type { Values } from './request.ts';

/** From this number of parameters on, those of the query are folded. */
const FOLDED_FROM = 5;

/** What the parts of a form have in common. */
export interface FormProps {
  operation: Operation;
  document: OpenApiDocument;
  values: Values;
  onChange: (values: Values) => void;
  errors: Record<string, string>;
}

/** Whether a query parameter is a filter of a list: there are many, so they are folded. */
const isFilter = ({ name, description = '' }: Parameter) =>
  name.includes('[') || description.startsWith('Records whose');

function asPart(
  { name, required = false, description, schema: given = {} }: Parameter,
  document: OpenApiDocument,
): Part {
  const { schema, ...simple } = simplify(given, document);
  // A list in a query is a text with commas.
  const sent = schema.type === 'array' ? { ...schema, type: 'string' } : schema;
  return { name, isRequired: required, description, schema: sent, ...simple };
}

function Parameters({
  list,
  values,
  onChange,
  errors,
  document,
  actionOf,
}: FormProps & { list: readonly Parameter[]; actionOf?: (name: string) => ComponentChildren }) {
  return list.map((parameter) => {
    const { name, in: place } = parameter;
    const change = (value: unknown) =>
      onChange({ ...values, [place]: { ...values[place], [name]: typeof value === 'string' ? value : '' } });
    return (
      <Control
        key={`${place}-${name}`}
        id={`reference-${place}-${name}`}
        part={asPart(parameter, document)}
        value={values[place][name]}
        error={errors[`${place}.${name}`]}
        onChange={change}
        action={actionOf?.(name)}
      />
    );
  });
}

const countValues = (list: readonly Parameter[], values: Values) =>
  list.filter(({ name, in: place }) => (values[place][name] ?? '') !== '').length;

function FoldedParameters({ label, ...props }: FormProps & { label: string; list: readonly Parameter[] }) {
  return (
    <Folded label={label} count={countValues(props.list, props.values)}>
      {() => <Parameters {...props} />}
    </Folded>
  );
}

function Query({ list, ...props }: FormProps & { list: readonly Parameter[] }) {
  const filters = list.filter(isFilter);
  const plain = list.filter((one) => !filters.includes(one));
  return (
    <fieldset class="reference-group">
      <legend>{texts.request.query}</legend>
      {plain.length >= FOLDED_FROM ? (
        <FoldedParameters label={texts.request.parameters(plain.length)} list={plain} {...props} />
      ) : (
        <div class="reference-controls">
          <Parameters list={plain} {...props} />
        </div>
      )}
      {filters.length > 0 && (
        <FoldedParameters label={texts.request.filters(filters.length)} list={filters} {...props} />
      )}
    </fieldset>
  );
}

/** Headers that the route does not declare, such as the language or the organisation. */
function OtherHeaders({ values, onChange, errors }: FormProps) {
  return (
    <div class="reference-control">
      <label for="reference-other">{texts.request.otherHeaders}</label>
      <textarea
        id="reference-other"
        class="reference-code"
        rows={2}
        spellcheck={false}
        placeholder={texts.request.otherHeadersExample}
        aria-invalid={errors.other === undefined ? undefined : 'true'}
        value={values.other}
        onInput={(event) => onChange({ ...values, other: event.currentTarget.value })}
      />
    </div>
  );
}

function Headers({ list, lastTag, ...props }: FormProps & { list: readonly Parameter[]; lastTag: string | undefined }) {
  const { values, onChange, errors } = props;
  const setHeader = (name: string, value: string) =>
    onChange({ ...values, header: { ...values.header, [name]: value } });
  const actionOf = (name: string) => {
    if (name === 'Idempotency-Key')
      return (
        <button type="button" class="plain" onClick={() => setHeader(name, crypto.randomUUID())}>
          {texts.request.generate}
        </button>
      );
    if ((name === 'If-Match' || name === 'If-None-Match') && lastTag !== undefined)
      return (
        <button type="button" class="plain" onClick={() => setHeader(name, lastTag)}>
          {texts.request.lastVersion}
        </button>
      );
    return undefined;
  };
  return (
    <>
      <Folded label={texts.request.headers} count={countValues(list, values) + (values.other === '' ? 0 : 1)}>
        {() => (
          <>
            <Parameters list={list} {...props} actionOf={actionOf} />
            <OtherHeaders {...props} />
          </>
        )}
      </Folded>
      {errors.other !== undefined && (
        <p class="field-error" role="alert">
          {errors.other}
        </p>
      )}
    </>
  );
}

/** The form of a request: parameters and body. */
export function RequestForm({
  lastTag,
  ...props
}: FormProps & {
  /** The entity tag of the last response. */
  lastTag: string | undefined;
}) {
  const { operation, values } = props;
  const listOf = (place: Parameter['in']) => operation.parameters.filter((one) => one.in === place);
  return (
    <>
      {listOf('path').length > 0 && (
        <fieldset class="reference-group">
          <legend>{texts.request.path}</legend>
          <div class="reference-controls">
            <Parameters list={listOf('path')} {...props} />
          </div>
        </fieldset>
      )}
      {listOf('query').length > 0 && <Query list={listOf('query')} {...props} />}
      {operation.body && <BodyForm key={values.type} {...props} />}
      <Headers list={listOf('header')} lastTag={lastTag} {...props} />
    </>
  );
}
