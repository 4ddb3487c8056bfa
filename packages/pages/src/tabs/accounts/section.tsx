import { useState } from 'preact/hooks';
import {
  ActionButton,
  FilterForm,
  hrefOf,
  Listing,
  Nothing,
  openDialog,
  Page,
  place,
  SelectFilter,
  setParams,
  usePages,
} from '../../console/kit.ts';
import { language } from '../../kit/language.ts';
import { ActionDialog, ChoicesField, type CloseDialog, EmailField, ErrorText } from './dialog.tsx';
import { PanelRows } from './panel.tsx';
import { texts } from './texts.ts';
import type { PanelRow, SectionField, ShownForm, ShownSection } from './types.ts';
import { ACCOUNTS, accountFacts } from './values.tsx';

type FieldValue = string | string[];

const pathOf = ({ id }: ShownSection) => `/accounts/sections/${id}`;

/** A field of a form that the server describes. */
function Field(props: {
  field: SectionField;
  value: FieldValue | undefined;
  error: string | undefined;
  onChange: (value: FieldValue) => void;
}) {
  const { field, value, error, onChange } = props;
  const { name } = field;
  const label = field.label;
  if (field.kind === 'email')
    return <EmailField name={name} label={label} value={String(value ?? '')} error={error} onChange={onChange} />;
  return (
    <ChoicesField
      legend={
        <>
          <legend>{label}</legend>
          {field.hint && <p class="soft">{field.hint}</p>}
        </>
      }
      choices={field.choices}
      value={Array.isArray(value) ? value : []}
      onChange={onChange}
    >
      <ErrorText id={`accounts-${name}-error`} text={error} />
    </ChoicesField>
  );
}

/** The form of a section in a dialog. Errors of the server are shown at their fields. */
function FormDialog({ path, form, close }: { path: string; form: ShownForm; close: CloseDialog }) {
  const { fields } = form;
  const label = form.label;
  const [values, setValues] = useState<Record<string, FieldValue>>(
    Object.fromEntries(fields.map(({ name, kind }) => [name, kind === 'choices' ? [] : ''])),
  );
  return (
    <ActionDialog title={label} submit={label} path={`${path}/${form.id}`} body={values} done={form.done} close={close}>
      {(error) => (
        <>
          {fields.map((field) => (
            <Field
              key={field.name}
              field={field}
              value={values[field.name]}
              error={error?.details[field.name]}
              onChange={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
          {!fields.some(({ name }) => error?.details[name] !== undefined) && <ErrorText text={error?.message} />}
        </>
      )}
    </ActionDialog>
  );
}

/** The filter by state, or the search that must be filled in. */
function Toolbar({ section }: { section: ShownSection }) {
  const { params } = place.value;
  const [text, setText] = useState(params.get('search') ?? '');
  const submit = () => setParams({ search: text.trim() });
  return (
    <FilterForm kind="accounts-filters" label={section.label} onSubmit={submit}>
      {section.states && (
        <SelectFilter name="state" label={texts.status} options={section.states.map(({ id, label }) => [id, label])} />
      )}
      {section.search && (
        <>
          <label class="accounts-search">
            {section.search.label}
            <input
              type="search"
              spellcheck={false}
              autocapitalize="none"
              maxlength={320}
              placeholder={section.search.hint}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <button type="submit">{texts.section.lookUp}</button>
        </>
      )}
    </FilterForm>
  );
}

function Rows({ section, search }: { section: ShownSection; search: string }) {
  const { states, columns, rowActions, empty } = section;
  const label = section.label;
  const state = place.value.params.get('state') ?? states?.[0]?.id;
  const query = new URLSearchParams({ ...(state && { state }), ...(section.search && search !== '' && { search }) });
  const list = usePages<PanelRow>(hrefOf(pathOf(section), query));
  const kind = states?.find(({ id }) => id === state)?.label ?? '';
  const rows = `${kind} ${label}`.trim();
  const nothing = (
    <Nothing title={texts.section.none(language === 'en' ? rows.toLowerCase() : rows)}>
      <p>{empty}</p>
    </Nothing>
  );
  return (
    <Listing from={list} empty={nothing}>
      {(rows) => (
        <PanelRows
          label={label}
          columns={columns}
          rows={rows}
          actions={rowActions}
          pathOf={({ id }) => `${pathOf(section)}/${id}`}
          onDone={list.reload}
        />
      )}
    </Listing>
  );
}

/** The rows of a section; those with a search are read once it is filled in. */
function Content({ section }: { section: ShownSection }) {
  const search = place.value.params.get('search') ?? '';
  if (section.search === undefined || search !== '') return <Rows section={section} search={search} />;
  return (
    <Nothing title={texts.section.lookUpAddress}>
      <p>{section.empty}</p>
    </Nothing>
  );
}

/** A page of the tab that a feature describes, such as the invitations. */
export function SectionPage({ section: id }: { section: string }) {
  const section = accountFacts.value.sections.find((one) => one.id === id);
  const [version, setVersion] = useState(0);
  if (section === undefined)
    return (
      <Page title={texts.section.missing}>
        <p>
          <a href={ACCOUNTS}>{texts.section.toUsers}</a>
        </p>
      </Page>
    );
  const { form } = section;
  const open = async (shown: ShownForm) => {
    const isDone = await openDialog<boolean>(({ close }) => (
      <FormDialog path={pathOf(section)} form={shown} close={close} />
    ));
    if (isDone) setVersion(version + 1);
  };
  return (
    <Page
      title={section.label}
      intro={section.intro}
      actions={
        form && (
          <ActionButton kind="primary" run={() => open(form)}>
            {form.label}
          </ActionButton>
        )
      }
    >
      <Toolbar key={place.value.params.get('search')} section={section} />
      <Content key={version} section={section} />
    </Page>
  );
}
