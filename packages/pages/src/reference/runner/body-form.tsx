import { useState } from 'preact/hooks';
import { Choice } from '../../kit/parts.tsx';
import { isObject, mediaTypes, type OpenApiDocument } from '../document.ts';
import type { Operation } from '../operations.ts';
import { Folded } from '../parts.tsx';
import { texts } from '../texts.ts';
import { Control } from './controls.tsx';
import { formMembers, type Part, readMember, writeMember } from './members.ts';
import { bodySchema, type FormValue, isFormType, isJsonType } from './request.ts';
import type { FormProps } from './request-form.tsx';

function parseObject(json: string): Record<string, unknown> | undefined {
  if (json.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The members of a JSON body as controls. The JSON text stays what is sent, so that nothing is lost between both views. */
function MemberControls({
  members,
  json,
  onJson,
}: {
  members: readonly Part[];
  json: string;
  onJson: (json: string) => void;
}) {
  const [typed, setTyped] = useState<Record<string, FormValue>>({});
  const [errors, setErrors] = useState<Record<string, string | undefined>>({});
  const value = parseObject(json);
  const isShown = ({ name, isRequired }: Part) => isRequired || value?.[name] !== undefined;
  const [firstNames] = useState(() => members.filter(isShown).map(({ name }) => name));
  if (value === undefined)
    return (
      <p class="form-error" role="alert">
        {texts.request.errors.notAnObject}
      </p>
    );
  const change = (member: Part, text: FormValue) => {
    const { name } = member;
    setTyped({ ...typed, [name]: text });
    try {
      const read = readMember(member, typeof text === 'string' ? text : '');
      const { [name]: _, ...others } = value;
      setErrors({ ...errors, [name]: undefined });
      const next = read === undefined ? others : { ...value, [name]: read };
      onJson(Object.keys(next).length === 0 ? '' : JSON.stringify(next, null, 2));
    } catch {
      setErrors({ ...errors, [name]: texts.request.errors.notJson });
    }
  };
  const control = (member: Part) => (
    <Control
      key={member.name}
      id={`reference-body-${member.name}`}
      part={member}
      value={typed[member.name] ?? writeMember(value[member.name])}
      error={errors[member.name]}
      onChange={(text) => change(member, text)}
    />
  );
  const first = members.filter(({ name }) => firstNames.includes(name) || members.length <= 5);
  const rest = members.filter((member) => !first.includes(member));
  return (
    <>
      <div class="reference-controls">{first.map(control)}</div>
      {rest.length > 0 && (
        <Folded label={texts.request.body.optional(rest.length)} count={0}>
          {() => rest.map(control)}
        </Folded>
      )}
    </>
  );
}

/** The members of a form with files: those of the JSON body, with the files in place of their ids. */
function fileFormMembers(operation: Operation, document: OpenApiDocument): Part[] {
  const types = mediaTypes(operation.body);
  const membersOf = (type: string | undefined) => formMembers(bodySchema(operation, type), document) ?? [];
  const own = membersOf(types.find(isFormType));
  const fromJson = membersOf(types.find(isJsonType));
  return [...fromJson.filter(({ name }) => !own.some((one) => one.name === name)), ...own];
}

type BodyView = 'form' | 'json';

function JsonBody({ operation, document, values, onChange, errors }: FormProps) {
  const members = formMembers(bodySchema(operation, values.type), document);
  const [view, setView] = useState<BodyView>('form');
  const onJson = (json: string) => onChange({ ...values, json });
  const views: [BodyView, string][] = [
    ['form', texts.request.body.form],
    ['json', texts.request.body.json],
  ];
  return (
    <>
      {members !== undefined && (
        <Choice label={texts.request.body.view} options={views} value={view} onChange={setView} />
      )}
      {members !== undefined && view === 'form' ? (
        <MemberControls members={members} json={values.json} onJson={onJson} />
      ) : (
        <textarea
          class="reference-code"
          rows={Math.min(22, Math.max(6, values.json.split('\n').length + 1))}
          aria-label={texts.request.body.jsonLabel}
          aria-invalid={errors.body === undefined ? undefined : 'true'}
          spellcheck={false}
          value={values.json}
          onInput={(event) => onJson(event.currentTarget.value)}
        />
      )}
      {errors.body !== undefined && (
        <p class="field-error" role="alert">
          {errors.body}
        </p>
      )}
    </>
  );
}

function FormBody({ operation, document, values, onChange }: FormProps) {
  return (
    <div class="reference-controls">
      {fileFormMembers(operation, document).map((member) => (
        <Control
          key={member.name}
          id={`reference-form-${member.name}`}
          part={member}
          value={values.form[member.name]}
          onChange={(value) => onChange({ ...values, form: { ...values.form, [member.name]: value } })}
        />
      ))}
    </div>
  );
}

function FileBody({ values, onChange }: FormProps) {
  return (
    <label>
      {texts.request.body.file}
      <input type="file" onChange={(event) => onChange({ ...values, file: event.currentTarget.files?.[0] })} />
    </label>
  );
}

/** The controls of the body, in one of its media types. */
export function BodyForm(props: FormProps) {
  const { operation, values, onChange } = props;
  const types = mediaTypes(operation.body);
  const Content = isJsonType(values.type) ? JsonBody : isFormType(values.type) ? FormBody : FileBody;
  return (
    <fieldset class="reference-group">
      <legend>{texts.request.body.label}</legend>
      {types.length > 1 && (
        <label class="reference-media">
          {texts.request.body.format}
          <select value={values.type} onChange={(event) => onChange({ ...values, type: event.currentTarget.value })}>
            {types.map((type) => (
              <option key={type} value={type}>
                {type}
              </option>
            ))}
          </select>
        </label>
      )}
      <Content {...props} />
    </fieldset>
  );
}
