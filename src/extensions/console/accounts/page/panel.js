import { signal } from '@preact/signals';
import {
  ActionButton,
  app,
  call,
  DataTable,
  Facts,
  html,
  RecordLink,
  Section,
  Status,
  sendWithCode,
  showToast,
  Time,
  userResource,
} from 'belfry/console';

/** The path of the tab. */
export const ACCOUNTS = '/console/accounts';

/** Other values of users, such as “System”, are shown as text. */
const ID = /^[0-9a-f]{24}$/;

/** Texts of a list that are shown; the others are counted. */
const MAX_LISTED = 6;

/** What accounts of this app have. Set before a page of the tab is shown. */
export const accountFacts = signal(undefined);

export const accountHref = (id) => `${ACCOUNTS}/users/${encodeURIComponent(id)}`;

const Empty = () => html`<span class="empty-value" title="No value">–</span>`;

/** Short texts side by side, such as roles. @param {{ of: string[] }} props */
export function Chips({ of }) {
  if (of.length === 0) return html`<${Empty} />`;
  return html`<span class="accounts-chips">
    ${of.slice(0, MAX_LISTED).map((text) => html`<span key=${text} class="chip" title=${text}>${text}</span>`)}
    ${of.length > MAX_LISTED && html`<span class="soft" title=${of.slice(MAX_LISTED).join(', ')}>+${of.length - MAX_LISTED}</span>`}
  </span>`;
}

/** A record as the resource and id of a value, `post/65f0…`: a link if it is one of the app. Something else has an id of its own, or none. */
function PanelRecord({ value }) {
  const [resource, ...rest] = value.split('/');
  const id = rest.join('/');
  if (id === '') return html`<span>${resource}</span>`;
  const isResource = app.value.resources.some(({ name }) => name === resource);
  return html`<span>${resource} ${isResource ? html`<${RecordLink} resource=${resource} id=${id} />` : html`<code>${id}</code>`}</span>`;
}

/** A value of a panel. Everything is shown as text, because users choose some of it. */
export function PanelValue({ value, kind }) {
  if (value === null || value === undefined || value === '') return html`<${Empty} />`;
  if (Array.isArray(value)) return html`<${Chips} of=${value.map(String)} />`;
  if (kind === 'time') return html`<${Time} value=${value} />`;
  if (kind === 'code') return html`<code>${String(value)}</code>`;
  if (kind === 'record') return html`<${PanelRecord} value=${String(value)} />`;
  if (kind === 'user' && ID.test(value))
    return html`<${RecordLink} resource=${userResource().name} id=${value} href=${accountHref(value)} />`;
  return typeof value === 'boolean' ? (value ? 'Yes' : 'No') : String(value);
}

/**
 * Sends an action, with a code of the administrator's second factor if it needs one.
 *
 * @returns {Promise<boolean>} false if the administrator cancels
 */
export const sendAction = (path, body) =>
  sendWithCode((code) => call(path, { method: 'POST', body: { ...body, ...code } }));

/**
 * The button of an action that the server describes.
 *
 * @param {{ action: any, path: string, body?: object, of?: string, onDone: () => unknown }} props `of`: the name of the row, for the
 *   accessible name; `onDone`: after success, and after a failure, which may be due to a change by another person
 */
export function PanelActionButton({ action, path, body = {}, of, onDone }) {
  const { label, confirm, isDangerous, done } = action;
  const run = async () => {
    try {
      if (await sendAction(path, body)) showToast(done);
    } finally {
      await onDone();
    }
  };
  return html`<${ActionButton}
    kind=${isDangerous ? 'danger quiet' : ''}
    label=${of === undefined ? undefined : `${label}: ${of}`}
    confirm=${confirm === null ? undefined : { ...confirm, text: of === undefined ? confirm.text : `${of}. ${confirm.text}`, action: label, isDangerous }}
    run=${run}
  >
    ${label}
  <//>`;
}

/** Rows with a column of buttons, if any row has an action. @param {{ label: string, columns: any[], rows: any[], buttons: (row: any, name: string) => any }} props */
export function PanelRows({ label, columns, rows, actions, pathOf, onDone }) {
  const actionsOf = (row) => actions.filter(({ id }) => row.actions === undefined || row.actions.includes(id));
  const nameOf = (row) => String(row.values[columns[0].name] || row.id);
  const shown = columns.map(({ name, label: columnLabel, kind }) => ({
    name,
    label: columnLabel,
    render: ({ values }) => html`<${PanelValue} value=${values[name]} kind=${kind} />`,
  }));
  const buttons = {
    name: 'actions',
    label: '',
    render: (row) => html`<span class="accounts-buttons">
      ${actionsOf(row).map(
        (action) => html`<${PanelActionButton}
          key=${action.id}
          action=${action}
          path=${pathOf(action)}
          body=${{ row: row.id }}
          of=${nameOf(row)}
          onDone=${onDone}
        />`,
      )}
    </span>`,
  };
  const hasButtons = rows.some((row) => actionsOf(row).length > 0);
  return html`<div class="accounts-table">
    <${DataTable} label=${label} rows=${rows} columns=${hasButtons ? [...shown, buttons] : shown} />
  </div>`;
}

const toFact = ({ label, value, kind, tone }) => [
  label,
  tone === undefined
    ? html`<${PanelValue} value=${value} kind=${kind} />`
    : html`<${Status} kind=${tone}>${String(value)}<//>`,
];

/** Whether the console has a tab with this address. */
const hasTab = (href) =>
  app.value.tabs.some(({ path }) => href === path || href.startsWith(`${path}/`) || href.startsWith(`${path}?`));

/** A panel of an account, as the server describes it. @param {{ panel: any, userId: string, onDone: () => unknown }} props */
export function Panel({ panel, userId, onDone }) {
  const { id, label, columns, empty, error, facts = [], rows = [], link, rowActions, accountActions } = panel;
  const pathOf = (action) => `/accounts/users/${encodeURIComponent(userId)}/panels/${id}/${action.id}`;
  const offered = accountActions.filter((action) => panel.actions === undefined || panel.actions.includes(action.id));
  const buttons = offered.map(
    (action) =>
      html`<${PanelActionButton} key=${action.id} action=${action} path=${pathOf(action)} onDone=${onDone} />`,
  );
  const isEmpty = facts.length === 0 && rows.length === 0;
  return html`<${Section} title=${label} actions=${buttons.length > 0 && buttons}>
    ${error && html`<p class="banner bad" role="alert">${error}</p>`}
    ${facts.length > 0 && html`<div class="card accounts-facts"><${Facts} of=${facts.map(toFact)} /></div>`}
    ${rows.length > 0 && html`<${PanelRows} label=${label} columns=${columns} rows=${rows} actions=${rowActions} pathOf=${pathOf} onDone=${onDone} />`}
    ${isEmpty && !error && empty && html`<p class="soft part-text">${empty}</p>`}
    ${link && hasTab(link.href) && html`<p class="accounts-link"><a href=${link.href}>${link.label}</a></p>`}
  <//>`;
}
