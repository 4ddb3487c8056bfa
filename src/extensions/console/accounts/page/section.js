import {
  ActionButton,
  Dialog,
  FilterForm,
  hrefOf,
  html,
  Listing,
  Nothing,
  openDialog,
  Page,
  place,
  SelectFilter,
  setParams,
  showToast,
  usePages,
} from 'belfry/console';
import { useState } from 'preact/hooks';
import { ACCOUNTS, accountFacts, PanelRows, sendAction } from './panel.js';

/** A field of a form that the server describes. */
function Field({ field, value, error, onChange }) {
  const { name, label, kind, choices, hint } = field;
  const errorId = `accounts-${name}-error`;
  const toggle = (choice) =>
    onChange(value.includes(choice) ? value.filter((one) => one !== choice) : [...value, choice]);
  const message = error && html`<p id=${errorId} class="field-error" role="alert">${error}</p>`;
  if (kind === 'choices')
    return html`<fieldset class="accounts-choices">
      <legend>${label}</legend>
      ${hint && html`<p class="soft">${hint}</p>`}
      ${choices.map(
        (choice) => html`<label key=${choice} class="check">
          <input type="checkbox" checked=${value.includes(choice)} onChange=${() => toggle(choice)} />${choice}
        </label>`,
      )}
      ${message}
    </fieldset>`;
  return html`<div class="stack accounts-field">
    <label>
      ${label}
      <input
        type="email"
        autocomplete="off"
        required
        value=${value}
        aria-invalid=${error ? 'true' : undefined}
        aria-describedby=${error ? errorId : undefined}
        onInput=${(event) => onChange(event.target.value)}
      />
    </label>
    ${message}
  </div>`;
}

/** The form of a section in a dialog. Errors of the server are shown at their fields. */
function FormDialog({ section, close }) {
  const { form } = section;
  const [values, setValues] = useState(
    Object.fromEntries(form.fields.map(({ name, kind }) => [name, kind === 'choices' ? [] : ''])),
  );
  const [problem, setProblem] = useState({ details: {} });
  const [isSending, setSending] = useState(false);
  const send = async (event) => {
    event.preventDefault();
    setSending(true);
    try {
      if (!(await sendAction(`/accounts/sections/${section.id}/${form.id}`, values))) return setSending(false);
      showToast(form.done);
      close(true);
    } catch (error) {
      setProblem({ message: error.message, details: error.details ?? {} });
      setSending(false);
    }
  };
  const hasFieldError = form.fields.some(({ name }) => problem.details[name] !== undefined);
  return html`<${Dialog} title=${form.label} onClose=${() => close(false)}>
    <form class="stack" onSubmit=${send}>
      ${form.fields.map(
        (field) => html`<${Field}
          key=${field.name}
          field=${field}
          value=${values[field.name]}
          error=${problem.details[field.name]}
          onChange=${(value) => setValues({ ...values, [field.name]: value })}
        />`,
      )}
      ${problem.message && !hasFieldError && html`<p class="field-error" role="alert">${problem.message}</p>`}
      <footer>
        <button type="button" onClick=${() => close(false)}>Cancel</button>
        <button type="submit" class="primary" disabled=${isSending}>${form.label}</button>
      </footer>
    </form>
  <//>`;
}

/** The filter by state, or the search that must be filled in. */
function Toolbar({ section }) {
  const { params } = place.value;
  const [text, setText] = useState(params.get('search') ?? '');
  const submit = () => setParams({ search: text.trim() });
  return html`<${FilterForm} kind="accounts-filters" label=${section.label} onSubmit=${submit}>
    ${section.states && html`<${SelectFilter} name="state" label="Status" options=${section.states.map(({ id, label }) => [id, label])} />`}
    ${
      section.search &&
      html`<label class="accounts-search">
          ${section.search.label}
          <input
            type="search"
            spellcheck="false"
            autocapitalize="none"
            maxlength="320"
            placeholder=${section.search.hint}
            value=${text}
            onInput=${(event) => setText(event.target.value)}
          />
        </label>
        <button type="submit">Look up</button>`
    }
  <//>`;
}

function Rows({ section }) {
  const { params } = place.value;
  const search = params.get('search') ?? '';
  const state = params.get('state') ?? section.states?.[0].id;
  const query = new URLSearchParams({ ...(state && { state }), ...(section.search && search !== '' && { search }) });
  const isWaiting = section.search !== undefined && search === '';
  const list = usePages(isWaiting ? undefined : hrefOf(`/accounts/sections/${section.id}`, query));
  const kind = section.states?.find(({ id }) => id === state)?.label ?? '';
  const title = isWaiting ? 'Look up an address' : `No ${`${kind} ${section.label}`.trim().toLowerCase()}`;
  const nothing = html`<${Nothing} title=${title}><p>${section.empty}</p><//>`;
  if (isWaiting) return nothing;
  return html`<${Listing} from=${list} empty=${nothing}>
    ${(rows) => html`<${PanelRows}
      label=${section.label}
      columns=${section.columns}
      rows=${rows}
      actions=${section.rowActions}
      pathOf=${({ id }) => `/accounts/sections/${section.id}/${id}`}
      onDone=${list.reload}
    />`}
  <//>`;
}

/** A page of the tab that a feature describes, such as the invitations. */
export function SectionPage({ section: id }) {
  const section = accountFacts.value.sections.find((one) => one.id === id);
  const [version, setVersion] = useState(0);
  if (section === undefined)
    return html`<${Page} title="This page does not exist"><p><a href=${ACCOUNTS}>Go to the users</a></p><//>`;
  const open = async () => {
    if (await openDialog(({ close }) => html`<${FormDialog} section=${section} close=${close} />`))
      setVersion(version + 1);
  };
  return html`<${Page}
    title=${section.label}
    intro=${section.intro}
    actions=${section.form && html`<${ActionButton} kind="primary" run=${open}>${section.form.label}<//>`}
  >
    <${Toolbar} key=${place.value.params.get('search')} section=${section} />
    <${Rows} key=${version} section=${section} />
  <//>`;
}
