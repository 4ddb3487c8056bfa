import { Choice, html } from 'belfry/console';
import { useState } from 'preact/hooks';
import { mediaTypes, simplify } from '../api/document.js';
import { Control } from './controls.js';
import { bodySchema, formMembers, isFormType, isJsonType, readMember, writeMember } from './request.js';

/** Whether a query parameter is a filter of a list: there are many, so they are folded. */
const isFilter = ({ name, description = '' }) => name.includes('[') || description.startsWith('Records whose');

const asPart = (parameter, document) => {
  const { schema, alternatives } = simplify(parameter.schema ?? {}, document);
  // A list in a query is a text with commas.
  return { ...parameter, schema: schema.type === 'array' ? { ...schema, type: 'string' } : schema, alternatives };
};

function Parameters({ list, place, values, onChange, errors, document, actionOf }) {
  return list.map((parameter) => {
    const { name } = parameter;
    return html`<${Control}
      key=${`${place}-${name}`}
      id=${`reference-${place}-${name}`}
      part=${asPart(parameter, document)}
      value=${values[place][name]}
      error=${errors[`${place}.${name}`]}
      onChange=${(value) => onChange({ ...values, [place]: { ...values[place], [name]: value } })}
      action=${actionOf?.(name)}
    />`;
  });
}

/** A part of the form that is rendered while it is open. */
function Folded({ label, count, children }) {
  const [isOpen, setOpen] = useState(count > 0);
  return html`<details class="reference-nested" open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${label}${count > 0 && html`<span class="badge-count">${count}</span>`}</summary>
    ${isOpen && html`<div class="reference-controls">${children()}</div>`}
  </details>`;
}

function parseObject(json) {
  if (json.trim() === '') return {};
  try {
    const value = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The members of a JSON body as controls. The JSON text stays what is sent, so that nothing is lost between both views. */
function BodyForm({ members, json, onJson }) {
  const [texts, setTexts] = useState({});
  const [errors, setErrors] = useState({});
  const value = parseObject(json);
  if (value === undefined)
    return html`<p class="form-error" role="alert">The JSON is not an object. Correct it in the view “JSON”.</p>`;
  const change = (member, text) => {
    setTexts({ ...texts, [member.name]: text });
    try {
      const read = readMember(member, text);
      const { [member.name]: _, ...others } = value;
      setErrors({ ...errors, [member.name]: undefined });
      const next = read === undefined ? others : { ...value, [member.name]: read };
      onJson(Object.keys(next).length === 0 ? '' : JSON.stringify(next, null, 2));
    } catch {
      setErrors({ ...errors, [member.name]: 'Must be JSON' });
    }
  };
  const control = (member) => html`<${Control}
    key=${member.name}
    id=${`reference-body-${member.name}`}
    part=${member}
    value=${texts[member.name] ?? writeMember(value[member.name])}
    error=${errors[member.name]}
    onChange=${(text) => change(member, text)}
  />`;
  const isShown = ({ name, required }) => required || value[name] !== undefined;
  const [firstNames] = useState(() => members.filter(isShown).map(({ name }) => name));
  const first = members.filter(({ name }) => firstNames.includes(name) || members.length <= 5);
  const rest = members.filter((member) => !first.includes(member));
  return html`<div class="reference-controls">${first.map(control)}</div>
    ${rest.length > 0 && html`<${Folded} label=${`${rest.length} optional fields`} count=${0}>${() => rest.map(control)}<//>`}`;
}

/** The members of a form with files: those of the JSON body, with the files in place of their ids. */
function fileFormMembers(operation, document) {
  const types = mediaTypes(operation.body);
  const json = types.find(isJsonType);
  const own = formMembers(bodySchema(operation, types.find(isFormType)), document) ?? [];
  const fromJson = json === undefined ? [] : (formMembers(bodySchema(operation, json), document) ?? []);
  return [...fromJson.filter(({ name }) => !own.some((one) => one.name === name)), ...own];
}

function JsonBody({ operation, document, values, onChange, errors }) {
  const members = formMembers(bodySchema(operation, values.type), document);
  const [view, setView] = useState(members === undefined ? 'json' : 'form');
  const onJson = (json) => onChange({ ...values, json });
  const views = [
    ['form', 'Form'],
    ['json', 'JSON'],
  ];
  return html`
    ${
      members !== undefined &&
      html`<${Choice} label="View of the body" options=${views} value=${view} onChange=${setView} />`
    }
    ${
      view === 'form'
        ? html`<${BodyForm} members=${members} json=${values.json} onJson=${onJson} />`
        : html`<textarea
            class="reference-code"
            rows=${Math.min(22, Math.max(6, values.json.split('\n').length + 1))}
            aria-label="Body, as JSON"
            aria-invalid=${errors.body === undefined ? undefined : 'true'}
            spellcheck="false"
            value=${values.json}
            onInput=${(event) => onJson(event.target.value)}
          />`
    }
    ${errors.body !== undefined && html`<p class="field-error" role="alert">${errors.body}</p>`}
  `;
}

function Body({ operation, document, values, onChange, errors }) {
  const types = mediaTypes(operation.body);
  const content = isJsonType(values.type)
    ? html`<${JsonBody} operation=${operation} document=${document} values=${values} onChange=${onChange} errors=${errors} />`
    : isFormType(values.type)
      ? html`<div class="reference-controls">
          ${fileFormMembers(operation, document).map(
            (member) => html`<${Control}
              key=${member.name}
              id=${`reference-form-${member.name}`}
              part=${member}
              value=${values.form[member.name]}
              onChange=${(value) => onChange({ ...values, form: { ...values.form, [member.name]: value } })}
            />`,
          )}
        </div>`
      : html`<label>File<input type="file" onChange=${(event) => onChange({ ...values, file: event.target.files[0] })} /></label>`;
  return html`<fieldset class="reference-group">
    <legend>Body</legend>
    ${
      types.length > 1 &&
      html`<label class="reference-media">Format
        <select value=${values.type} onChange=${(event) => onChange({ ...values, type: event.target.value })}>
          ${types.map((type) => html`<option key=${type} value=${type}>${type}</option>`)}
        </select>
      </label>`
    }
    ${content}
  </fieldset>`;
}

/** Headers that the route does not declare, such as the language or the organisation. */
function OtherHeaders({ values, onChange, error }) {
  return html`<div class="reference-control">
    <label for="reference-other">Other headers</label>
    <textarea
      id="reference-other"
      class="reference-code"
      rows="2"
      spellcheck="false"
      placeholder="Accept-Language: de"
      aria-invalid=${error === undefined ? undefined : 'true'}
      value=${values.other}
      onInput=${(event) => onChange({ ...values, other: event.target.value })}
    />
  </div>`;
}

/**
 * The form of a request: parameters and body.
 *
 * @param {{ operation: object, document: object, values: import('./request.js').Values, onChange: (values: object) => void,
 *   errors: Record<string, string>, lastTag?: string }} props `lastTag`: the entity tag of the last response
 */
export function RequestForm({ operation, document, values, onChange, errors, lastTag }) {
  const listOf = (place) => operation.parameters.filter((one) => one.in === place);
  const query = listOf('query');
  const filters = query.filter(isFilter);
  const plain = query.filter((one) => !filters.includes(one));
  const shared = { values, onChange, errors, document };
  const countOf = (list, place) => list.filter(({ name }) => (values[place][name] ?? '') !== '').length;
  const setHeader = (name, value) => onChange({ ...values, header: { ...values.header, [name]: value } });
  const headerAction = (name) => {
    if (name === 'Idempotency-Key')
      return html`<button type="button" class="plain" onClick=${() => setHeader(name, crypto.randomUUID())}>Generate</button>`;
    if ((name === 'If-Match' || name === 'If-None-Match') && lastTag !== undefined)
      return html`<button type="button" class="plain" onClick=${() => setHeader(name, lastTag)}>Use the last version</button>`;
    return undefined;
  };
  return html`
    ${
      listOf('path').length > 0 &&
      html`<fieldset class="reference-group"><legend>Path</legend>
        <div class="reference-controls"><${Parameters} list=${listOf('path')} place="path" ...${shared} /></div>
      </fieldset>`
    }
    ${
      query.length > 0 &&
      html`<fieldset class="reference-group"><legend>Query</legend>
        ${
          plain.length > 4
            ? html`<${Folded} label=${`${plain.length} parameters`} count=${countOf(plain, 'query')}>
                ${() => html`<${Parameters} list=${plain} place="query" ...${shared} />`}
              <//>`
            : html`<div class="reference-controls"><${Parameters} list=${plain} place="query" ...${shared} /></div>`
        }
        ${
          filters.length > 0 &&
          html`<${Folded} label=${`${filters.length} filters`} count=${countOf(filters, 'query')}>
            ${() => html`<${Parameters} list=${filters} place="query" ...${shared} />`}
          <//>`
        }
      </fieldset>`
    }
    ${operation.body && html`<${Body} key=${values.type} operation=${operation} ...${shared} />`}
    <${Folded} label="Headers" count=${countOf(listOf('header'), 'header') + (values.other === '' ? 0 : 1)}>
      ${() => html`<${Parameters} list=${listOf('header')} place="header" ...${shared} actionOf=${headerAction} />
        <${OtherHeaders} values=${values} onChange=${onChange} error=${errors.other} />`}
    <//>
    ${errors.other !== undefined && html`<p class="field-error" role="alert">${errors.other}</p>`}
  `;
}
