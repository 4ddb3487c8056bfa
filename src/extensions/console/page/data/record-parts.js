import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.js';
import { Icon } from '../components/icons.js';
import { Code } from '../components/menu.js';
import { toInput } from './editors/rules.js';
import { isSame, plainText, Reference, Time } from './format.js';
import { recordsPath } from './list-data.js';
import { dataHref, fieldValue, userResource } from './schema.js';
import { recordCommands } from './shell-command.js';

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
        (name) => html`<div key=${name}>
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
        ([action, text]) => html`<div key=${action}><dt>${action}</dt><dd><code>${text}</code></dd></div>`,
      )}
    </dl>
    ${resource.hasScope && html`<p class="soft">A scope filter limits which records exist for a viewer.</p>`}
  </aside>`;
}

/** The changed fields of an entry: those whose values differ. */
function changesOf({ before, after, changes }) {
  if (Array.isArray(changes)) return changes;
  if (changes && typeof changes === 'object')
    return Object.entries(changes).map(([field, change]) => ({
      field,
      before: change?.before ?? change?.from,
      after: change?.after ?? change?.to,
    }));
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .filter((name) => name !== 'updatedAt' && !isSame(before?.[name], after?.[name]))
    .map((name) => ({ field: name, before: before?.[name], after: after?.[name] }));
}

const ACTIONS = { created: 'created', updated: 'changed', deleted: 'deleted', restored: 'restored' };

function Entry({ entry, labels }) {
  const changes = changesOf(entry);
  const { actor, action, at, createdAt } = entry;
  const actorId = typeof actor === 'object' && actor !== null ? actor.id : (actor ?? entry.user ?? entry.actorId);
  const users = userResource();
  const verb = String(action).split('.').at(-1);
  return html`<li>
    <p class="entry-head">
      <b>${ACTIONS[verb] ?? verb}</b>
      ${actorId && users ? html` by <${Reference} target=${users.name} id=${actorId} labels=${labels} />` : ' by the system'}
      <span class="soft"> · <${Time} value=${at ?? createdAt} /></span>
    </p>
    ${
      changes.length > 0 &&
      html`<dl class="diff">
        ${changes.map(
          ({ field, before, after }) => html`<div key=${field}>
            <dt>${field}</dt>
            <dd><del>${plainText(before)}</del><${Icon} name="chevron" size=${12} /><ins>${plainText(after)}</ins></dd>
          </div>`,
        )}
      </dl>`
    }
  </li>`;
}

/** The changes of a record, from the audit trail. */
export function History({ resource, record }) {
  const [state, setState] = useState(undefined);
  useEffect(() => {
    call(recordsPath(resource, record.id, 'history'))
      .then(({ data, meta }) => setState({ entries: data, labels: meta.labels }))
      .catch((error) => setState({ entries: [], error }));
  }, [record.id]);
  if (state === undefined) return html`<div aria-busy="true"><span class="bone"></span></div>`;
  const { entries, error, labels } = state;
  if (error) return html`<div class="nothing"><h2>No history</h2><p>${error.message}</p></div>`;
  if (entries.length === 0)
    return html`<div class="nothing">
      <h2>No recorded changes</h2>
      <p>${
        resource.audit
          ? 'Changes of this record will appear here.'
          : html`Record the changes of this resource with <code>audit: true</code> in its declaration.`
      }</p>
    </div>`;
  return html`<ol class="history">
    ${entries.map((entry, index) => html`<${Entry} key=${entry.id ?? index} entry=${entry} labels=${labels} />`)}
  </ol>`;
}

/** The changed values that are valid, for the example of an update. */
function exampleValues(resource, draft) {
  const values = resource.fields.flatMap((field) => {
    if (!Object.hasOwn(draft, field.name)) return [];
    try {
      return [[field.name, toInput(field, draft[field.name])]];
    } catch {
      return [];
    }
  });
  return Object.fromEntries(values);
}

/** The record as JSON, and the requests that read and change it in the app's API. */
export function RawRecord({ resource, record, draft }) {
  const commands = Object.entries(recordCommands(resource, record.id, exampleValues(resource, draft)));
  const offered = commands.filter(([action]) => resource.crud.includes(action));
  return html`<div class="raw">
    <h2>JSON</h2>
    <${Code} text=${JSON.stringify(record, null, 2)} label="The record as JSON" />
    <h2>API</h2>
    ${offered.length === 0 && html`<p class="soft">The API has no routes for single records of this resource.</p>`}
    ${offered.map(([action, text]) => html`<h3 key=${action}>${COMMAND_TITLES[action]}</h3><${Code} text=${text} label=${COMMAND_TITLES[action]} />`)}
  </div>`;
}
