import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../components/feedback.js';
import { Icon } from '../../components/icons.js';
import { Code, isTyping, Menu } from '../../components/menu.js';
import { hrefOf, navigate, place, setParams, usePageTitle } from '../../router.js';
import { app, dataHref, nameOf, viewer } from '../schema.js';
import { listCommand, newRecordCommand } from '../shell-command.js';
import { BulkBar } from './bulk.js';
import { FilterChips } from './filters.js';
import { useList } from './list-data.js';
import { isFiltered } from './query.js';
import { RecordTable } from './table.js';
import { Toolbar } from './toolbar.js';
import { exportRecords, importRecords } from './transfer.js';

const SHORTCUTS = [
  ['/', 'Search'],
  ['j, ↓', 'Next record'],
  ['k, ↑', 'Previous record'],
  ['Enter', 'Open the record'],
  ['x', 'Select the record'],
  ['n', 'New record'],
  ['Escape', 'Clear the selection'],
  ['?', 'Show these shortcuts'],
];

const showShortcuts = () =>
  openDialog(
    ({ close }) => html`<${Dialog} title="Keyboard shortcuts" onClose=${() => close()}>
      <dl class="shortcuts">
        ${SHORTCUTS.map(([keys, text]) => html`<div key=${keys}><dt><kbd>${keys}</kbd></dt><dd>${text}</dd></div>`)}
      </dl>
    <//>`,
  );

const showCommand = (resource) =>
  openDialog(
    ({ close }) => html`<${Dialog} title="The same list from the API" onClose=${() => close()} wide=${true}>
      <p>Clients may use the filters, searches and orders that the declaration allows, and see what its policies allow.</p>
      <${Code} text=${listCommand(resource, place.value.params)} label="Command" />
    <//>`,
  );

function moveFocus(step) {
  const links = [...document.querySelectorAll('.row-link')];
  const current = links.indexOf(document.activeElement?.closest('tr')?.querySelector('.row-link'));
  const next = links[current === -1 ? (step > 0 ? 0 : links.length - 1) : current + step];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** The keys of the list. They do nothing while a control is used that takes keys itself. */
function useShortcuts(resource, { toggle, clear }) {
  const latest = useRef(undefined);
  latest.current = (event) => {
    if (isTyping(event)) return;
    const focused = document.activeElement?.closest('tr[data-id]')?.dataset.id;
    const actions = {
      j: () => moveFocus(1),
      ArrowDown: () => moveFocus(1),
      k: () => moveFocus(-1),
      ArrowUp: () => moveFocus(-1),
      '/': () => document.getElementById('search')?.focus(),
      x: () => focused && toggle(focused),
      n: () => viewer() === undefined && navigate(dataHref([resource.name, 'new'])),
      '?': showShortcuts,
      Escape: clear,
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  };
  useEffect(() => {
    const handle = (event) => latest.current(event);
    document.addEventListener('keydown', handle);
    return () => document.removeEventListener('keydown', handle);
  }, []);
}

/** The ids of the selected records, and how clicks change them. */
function useSelection(rows) {
  const [selected, setSelected] = useState(new Set());
  const last = useRef(undefined);
  const ids = rows?.map(({ id }) => id) ?? [];
  const toggle = (id, isRange = false) => {
    const from = isRange && last.current !== undefined ? ids.indexOf(last.current) : ids.indexOf(id);
    const [start, end] = [from, ids.indexOf(id)].sort((a, b) => a - b);
    const next = new Set(selected);
    const isAdding = !selected.has(id);
    for (const one of ids.slice(Math.max(0, start), end + 1)) isAdding ? next.add(one) : next.delete(one);
    last.current = id;
    setSelected(next);
  };
  return {
    selected,
    toggle,
    toggleAll: (all) => setSelected(new Set(all ? ids : [])),
    clear: () => setSelected(new Set()),
  };
}

function totalText(resource, { total, totalCapped }) {
  if (typeof total !== 'number') return '';
  return `${total.toLocaleString()}${totalCapped ? '+' : ''} ${nameOf(resource, total)}`;
}

/** The message of an error with its details, as sentences. */
function errorText({ message, details }) {
  const reasons = Object.values(details ?? {}).join(' · ');
  return reasons === '' ? message : `${message.replace(/\.$/, '')}. ${reasons}`;
}

/** Steps through the pages. The cursors of former pages are in the history, so that the link of a page stays short. */
function Pager({ meta, isLoading }) {
  const { params, state } = place.value;
  const trail = state.trail ?? [];
  const after = params.get('after');
  const { next } = meta;
  const showNext = () => setParams({ after: next }, { state: { trail: [...trail, after ?? ''] } });
  const showPrevious = () => setParams({ after: trail.at(-1) }, { state: { trail: trail.slice(0, -1) } });
  if (after === null && !next) return null;
  return html`<nav class="pager" aria-label="Pages">
    <button type="button" disabled=${after === null || isLoading} onClick=${() => setParams({ after: undefined })}>First</button>
    <button type="button" disabled=${trail.length === 0 || isLoading} onClick=${showPrevious}>Previous</button>
    <button type="button" disabled=${!next || isLoading} onClick=${showNext}>Next</button>
  </nav>`;
}

/** What a list without records says: how to get the first one, or that the filters match none. */
function NoRecords({ resource, meta }) {
  const { params } = place.value;
  if (isFiltered(params) || params.has('after')) {
    const keep = new URLSearchParams([...params].filter(([key]) => ['as', 'columns'].includes(key)));
    return html`<div class="nothing">
      <h2>No ${nameOf(resource)} matches</h2>
      <p>Change the search or the filters, or show all.</p>
      <a class="button" href=${hrefOf(place.value.path, keep)}>Show all ${nameOf(resource, 2)}</a>
    </div>`;
  }
  if (viewer() !== undefined)
    return html`<div class="nothing">
      <h2>This viewer sees no ${nameOf(resource, 2)}</h2>
      <p>${meta.why ?? html`Policy of the list: <code>${resource.policies.list}</code>${resource.hasScope && ', and a scope filter'}`}.</p>
    </div>`;
  return html`<div class="nothing">
    <h2>No ${nameOf(resource, 2)} yet</h2>
    <p>Create the first one here, import a file, or send it to the API:</p>
    <a class="button primary" href=${dataHref([resource.name, 'new'])}><${Icon} name="add" />Create the first ${nameOf(resource)}</a>
    <${Code} text=${newRecordCommand(resource)} label="Command" />
  </div>`;
}

function Actions({ resource, reload }) {
  const isReadOnly = viewer() !== undefined;
  return html`<div class="actions">
    <${Menu} label="More" icon="more" isEnd=${true}>
      ${(close) => {
        const run = (action) => () => {
          close();
          action();
        };
        return html`<div class="menu-items">
          ${
            !isReadOnly &&
            html`<button type="button" onClick=${run(() => exportRecords(resource, 'csv'))}><${Icon} name="download" />Export as CSV</button>
              <button type="button" onClick=${run(() => exportRecords(resource, 'csv', { isExact: true }))}>
                <${Icon} name="download" />Export as CSV, exact texts
              </button>
              <button type="button" onClick=${run(() => exportRecords(resource, 'ndjson'))}>
                <${Icon} name="download" />Export as NDJSON
              </button>
              <button type="button" onClick=${run(() => importRecords(resource, reload))}><${Icon} name="upload" />Import a file…</button>`
          }
          <button type="button" onClick=${run(() => showCommand(resource))}><${Icon} name="link" />API call…</button>
          <button type="button" onClick=${run(showShortcuts)}><${Icon} name="bolt" />Keyboard shortcuts</button>
        </div>`;
      }}
    <//>
    ${
      !isReadOnly &&
      html`<a class="button primary" href=${dataHref([resource.name, 'new'])}
        ><${Icon} name="add" /><span class="text">New ${nameOf(resource)}</span></a
      >`
    }
  </div>`;
}

/** The list of a resource. */
export function ListPage({ resource }) {
  const list = useList(resource);
  usePageTitle(resource.plural, app.value.name);
  const { rows, meta, error } = list;
  const { selected, toggle, toggleAll, clear } = useSelection(rows);
  useShortcuts(resource, { toggle, clear });
  const finish = async () => {
    clear();
    // The bar that had the focus is gone.
    if (
      document.activeElement === null ||
      document.activeElement.closest('.bulk') ||
      document.activeElement === document.body
    )
      document.querySelector('#main h1')?.focus();
    await list.reload();
  };
  return html`<main id="main" class="page list-page">
    <header class="page-head">
      <div>
        <h1 tabindex="-1">${resource.plural}</h1>
        <p class="soft count" role="status">${totalText(resource, meta)}</p>
      </div>
      <${Actions} resource=${resource} reload=${list.reload} />
    </header>
    <${Toolbar} resource=${resource} />
    <${FilterChips} resource=${resource} />
    ${error && html`<p class="banner bad" role="alert">${errorText(error)}</p>`}
    ${
      rows?.length === 0 && !error && !list.isLoading
        ? html`<${NoRecords} resource=${resource} meta=${meta} />`
        : !error &&
          html`<${RecordTable} resource=${resource} list=${list} selected=${selected} onSelect=${toggle} onSelectAll=${toggleAll} />`
    }
    ${meta.truncated && html`<p class="soft">This page is shorter, because its records are large or were searched in part. Continue with “Next”.</p>`}
    <${Pager} meta=${meta} isLoading=${list.isLoading} />
    ${viewer() === undefined && html`<${BulkBar} resource=${resource} rows=${rows} selected=${selected} onDone=${finish} />`}
  </main>`;
}
