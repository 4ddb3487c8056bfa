import { Choice, FieldEditor, FormField, JsonEditor, showToast } from '../../console/kit.ts';
import { errorOf, type FieldErrors, type InputState, readInput, toDraft } from './input-draft.ts';
import { texts } from './texts.ts';
import type { InputField, InputForm } from './types.ts';

const { form: words } = texts;

interface InputProps {
  state: InputState;
  errors: FieldErrors;
  onChange: (state: InputState) => void;
}

function JsonInput({ state, errors, onChange }: InputProps) {
  return (
    <FormField form="run" name="input" label={words.json} errors={errors}>
      {({ id, 'aria-invalid': invalid, 'aria-describedby': describedBy }) => (
        <JsonEditor
          id={id}
          invalid={invalid === 'true'}
          describedBy={describedBy}
          value={state.json}
          onChange={(json) => onChange({ ...state, json })}
        />
      )}
    </FormField>
  );
}

function FieldInputs({ fields, state, errors, onChange }: InputProps & { fields: readonly InputField[] }) {
  return fields.map((field) => (
    <FieldEditor
      key={field.name}
      field={field}
      value={Object.hasOwn(state.draft, field.name) ? state.draft[field.name] : null}
      labels={undefined}
      isNew={true}
      error={errorOf(field, errors)}
      onChange={(value) => onChange({ ...state, draft: { ...state.draft, [field.name]: value } })}
    />
  ));
}

/** The input of a job: as a form if its schema allows one, or as JSON. */
export function InputEditor({ form, ...props }: InputProps & { form: InputForm | null }) {
  const { state, onChange } = props;
  if (form === null) return <p class="soft">{words.noInput}</p>;
  const { fields } = form;
  if (fields === null)
    return (
      <>
        <p class="soft">{words.onlyJson}</p>
        <JsonInput {...props} />
      </>
    );
  const choose = (view: 'form' | 'json') => {
    const { input, errors } = readInput(form, state);
    if (view === 'json') return onChange({ ...state, isJson: true, json: state.isJson ? state.json : (input ?? {}) });
    const draft = Object.keys(errors).length === 0 ? toDraft(fields, input) : undefined;
    return draft === undefined
      ? showToast(words.notInForm, { kind: 'error' })
      : onChange({ ...state, isJson: false, draft });
  };
  return (
    <>
      <Choice
        label={words.inputAs}
        value={state.isJson ? 'json' : 'form'}
        options={[
          ['form', words.asForm],
          ['json', words.asJson],
        ]}
        onChange={choose}
      />
      {state.isJson ? <JsonInput {...props} /> : <FieldInputs {...props} fields={fields} />}
    </>
  );
}
