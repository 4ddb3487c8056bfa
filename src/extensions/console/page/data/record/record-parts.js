import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Icon } from '../../components/icons.js';
import { Code } from '../../components/menu.js';
import { hrefOf } from '../../router.js';
import { isEditable, toInput } from '../editors/rules.js';
import { plainText, Reference, Time } from '../format.js';
import { dataHref, fieldValue, recordsPath, userResource } from '../schema.js';
import { recordCommands } from '../shell-command.js';

const MAX_COUNTED = 1000;
const COMMAND_TITLES = { read: 'Read it', update: 'Change it', delete: 'Delete it' };

const countText = (count) => {
  if (count === null) return '?';
  return count >= MAX_COUNTED ? `${MAX_COUNTED}+` : count.toLocaleString();
};

/** What the system knows about a record, and the records that refer to it. */
export function Details({ resource, record, meta }) {
  const times = ['createdAt', 'updatedAt', 'deletedAt'].filter((name) => fieldValue(record, name));
  const { relations = [] } = meta;
  return html`<aside class="details" aria-label="Details">
    <dl>
      ${times.map(
        (name) => html`<div class="fact" key=${name}>
          <dt>${{ createdAt: 'Created', updatedAt: 'Changed', deletedAt: 'Deleted' }[name]}</dt>
          <dd><${Time} value=${record[name]} /></dd>
        </div>`,
      )}
    </dl>
    ${
      relations.length > 0 &&
      html`<h2>Related records</h2>
        <ul class="relations">
          ${relations.map(
            ({ name, resource: target, field, count }) => html`<li key=${name}>
              <a href=${dataHref([target], { [`${field}[eq]`]: record.id })}>${name}</a>
              <span class="count">${countText(count)}</span>
            </li>`,
          )}
        </ul>`
    }
    ${resource.description && html`<h2>About</h2><p class="soft">${resource.description}</p>`}
    <h2>Policies</h2>
    <dl class="policies">
      ${Object.entries(resource.policies ?? {}).map(
        ([action, text]) => html`<div class="fact" key=${action}><dt>${action}</dt><dd><code>${text}</code></dd></div>`,
      )}
    </dl>
    ${resource.hasScope && html`<p class="soft">A scope filter limits which records exist for a viewer.</p>`}
  </aside>`;
}

const ACTIONS = {
  created: 'Created',
  updated: 'Changed',
  deleted: 'Deleted',
  restored: 'Restored',
  'console.revealed': 'Value revealed',
};

/** One change of a field. The audit trail does not contain secret values. */
function Change({ field, change }) {
  const hasValues = Object.hasOwn(change, 'from') || Object.hasOwn(change, 'to');
  return html`<div>
    <dt>${field}</dt>
    <dd>
      ${
        hasValues
          ? html`<del>${plainText(change.from)}</del><${Icon} name="chevron" size=${12} /><ins>${plainText(change.to)}</ins>`
          : 'changed'
      }
    </dd>
  </div>`;
}

function Entry({ entry, labels }) {
  const { action, user, via, at, changes, details } = entry;
  const users = userResource();
  const fields = Object.entries(changes ?? {});
  return html`<li>
    <p class="entry-head">
      <b>${Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : action}</b>
      ${user && users ? html` by <${Reference} target=${users.name} id=${user} labels=${labels} />` : ' by the system'}
      <span class="soft"> ${via && via !== 'system' && `· ${via} `}· <${Time} value=${at} /></span>
    </p>
    ${
      fields.length > 0 &&
      html`<dl class="diff">
        ${fields.map(([field, change]) => html`<${Change} key=${field} field=${field} change=${change} />`)}
      </dl>`
    }
    ${details && html`<p class="soft">${plainText(details)}</p>`}
  </li>`;
}

/** Why there are no entries, and how to get some. */
function NoHistory({ resource, error }) {
  if (error) return html`<div class="nothing"><h2>No history</h2><p>${error.message}</p></div>`;
  return html`<div class="nothing">
    <h2>No recorded changes</h2>
    <p>
      ${
        resource.audit
          ? 'Changes to this record will appear here.'
          : html`Record the changes of this resource with <code>audit: true</code> in its declaration.`
      }
    </p>
  </div>`;
}

/** The changes of a record, from the audit trail. */
export function History({ resource, record }) {
  const [state, setState] = useState(undefined);
  const load = async (after) => {
    const query = new URLSearchParams(after === undefined ? {} : { after });
    try {
      const { data, meta } = await call(hrefOf(recordsPath(resource, record.id, 'history'), query));
      setState({
        entries: [...(after === undefined ? [] : state.entries), ...data],
        labels: { ...state?.labels, ...meta.labels },
        next: meta.next,
      });
    } catch (error) {
      setState({ entries: [], error });
    }
  };
  useEffect(() => {
    load(undefined);
  }, [record.id]);
  if (state === undefined) return html`<div aria-busy="true"><span class="bone"></span></div>`;
  const { entries, error, labels, next } = state;
  if (entries.length === 0) return html`<${NoHistory} resource=${resource} error=${error} />`;
  return html`<div>
    <ol class="history">
      ${entries.map((entry) => html`<${Entry} key=${entry.id} entry=${entry} labels=${labels} />`)}
    </ol>
    ${next && html`<nav class="pager" aria-label="Pages"><button type="button" onClick=${() => load(next)}>Older</button></nav>`}
  </div>`;
}

/** Whether clients can set the field of a record, and see its value. */
const isOpenToClients = (field) =>
  isEditable(field) && !['readOnly', 'immutable', 'hidden', 'writeOnly', 'encrypted'].some((mark) => field[mark]);

/** The value of one field, for the example of an update: of the label field if clients can set it. */
function unchangedExample(resource, record) {
  const fields = resource.fields.filter(isOpenToClients);
  const field = fields.find(({ name }) => name === resource.labelField) ?? fields[0];
  if (field === undefined) return {};
  return { [field.name]: toInput(field, fieldValue(record, field.name)) ?? `<${field.type}>` };
}

/** The changed values that are valid, for the example of an update. Without changes, the value of one field. */
function exampleValues(resource, record, draft) {
  const values = resource.fields.flatMap((field) => {
    if (!Object.hasOwn(draft, field.name)) return [];
    try {
      return [[field.name, toInput(field, draft[field.name])]];
    } catch {
      return [];
    }
  });
  return values.length === 0 ? unchangedExample(resource, record) : Object.fromEntries(values);
}

/** The record as JSON, and the requests that read and change it in the app's API. */
export function RawRecord({ resource, record, draft }) {
  const commands = Object.entries(recordCommands(resource, record.id, exampleValues(resource, record, draft)));
  const offered = commands.filter(([action]) => resource.crud.includes(action));
  return html`<div class="raw">
    <h2>JSON</h2>
    <${Code} text=${JSON.stringify(record, null, 2)} label="The record as JSON" />
    <h2>API</h2>
    ${offered.length === 0 && html`<p class="soft">The API has no routes for single records of this resource.</p>`}
    ${offered.map(([action, text]) => html`<h3 key=${action}>${COMMAND_TITLES[action]}</h3><${Code} text=${text} label=${COMMAND_TITLES[action]} />`)}
  </div>`;
}
