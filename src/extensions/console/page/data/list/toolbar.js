import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { showToast } from '../../components/feedback.js';
import { Icon, IconButton } from '../../components/icons.js';
import { useSearchField } from '../../components/listing.js';
import { Menu } from '../../components/menu.js';
import { hrefOf, navigate, place, setParams } from '../../router.js';
import { columnsOf, DATA, nameOf, viewer } from '../schema.js';
import { FilterMenu } from './filters.js';
import { DEFAULT_PAGE_SIZE, PAGE_SIZES, readViews, shownColumns, sortOf, viewParams, writeViews } from './query.js';

/** The columns that a choice starts with, if the user has not chosen any. */
const USUAL_COLUMNS = 6;

function Search({ resource }) {
  const field = useSearchField('q');
  const label = resource.searchable ? `Search ${nameOf(resource, 2)}` : 'No field of this resource is searchable()';
  return html`<div class="search">
    <${Icon} name="search" />
    <input
      ...${field}
      id="search"
      aria-label=${label}
      title="Press / to search"
      placeholder=${label}
      maxlength="500"
      disabled=${!resource.searchable}
    />
  </div>`;
}

/** The order, for screens whose list has no headers to click. */
function SortChoice({ resource }) {
  const { name, isDescending } = sortOf(resource, place.value.params);
  const options = columnsOf(resource).filter(({ sortable }) => sortable);
  const sortBy = (next, descending) => setParams({ sort: `${descending ? '-' : ''}${next}`, after: undefined });
  return html`<div class="sort-choice">
    <label>
      Sort by
      <select value=${name} onChange=${(event) => sortBy(event.target.value, isDescending)}>
        ${options.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}
      </select>
    </label>
    <${IconButton}
      icon=${isDescending ? 'arrowDown' : 'arrowUp'}
      label=${isDescending ? 'Descending; change to ascending' : 'Ascending; change to descending'}
      onClick=${() => sortBy(name, !isDescending)}
    />
  </div>`;
}

/** Chooses the columns, the page size and whether deleted records are shown. */
function DisplayMenu({ resource }) {
  const { params } = place.value;
  const names = shownColumns(resource, params, USUAL_COLUMNS).map(({ name }) => name);
  const all = columnsOf(resource);
  const show = (next) => setParams({ columns: next.join(',') }, { replace: true });
  const toggle = (name) => {
    const next = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
    if (next.length > 0) show(next);
  };
  const moveFirst = (name) => show([name, ...names.filter((one) => one !== name)]);
  return html`<${Menu} label="Display" icon="columns" isEnd=${true}>
    <fieldset class="column-choice">
      <legend>Columns</legend>
      ${all.map(
        ({ name }) => html`<div key=${name} class="row">
          <label class="check">
            <input type="checkbox" checked=${names.includes(name)} onClick=${() => toggle(name)} />${name}
          </label>
          ${
            names.indexOf(name) > 0 &&
            html`<${IconButton} icon="arrowUp" label=${`Show ${name} first`} onClick=${() => moveFirst(name)} />`
          }
        </div>`,
      )}
    </fieldset>
    ${
      params.has('columns') &&
      html`<button type="button" onClick=${() => setParams({ columns: undefined })}>Show the usual columns</button>`
    }
    <label>
      Records per page
      <select
        value=${params.get('limit') ?? DEFAULT_PAGE_SIZE}
        onChange=${(event) => setParams({ limit: event.target.value, after: undefined })}
      >
        ${PAGE_SIZES.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
      </select>
    </label>
    ${
      resource.softDelete &&
      html`<label>
        Deleted records
        <select
          value=${params.get('deleted') ?? ''}
          onChange=${(event) => setParams({ deleted: event.target.value, after: undefined })}
        >
          <option value="">Hide</option>
          <option value="with">Show</option>
          <option value="only">Show only these</option>
        </select>
      </label>`
    }
  <//>`;
}

/** Saves the search, filters, order and columns under a name, in this browser. */
function ViewsMenu({ resource }) {
  const [views, setViews] = useState(() => readViews(resource));
  const [name, setName] = useState('');
  const query = viewParams(place.value.params).toString();
  const store = (next) => {
    writeViews(resource, next);
    setViews(next);
  };
  const save = (event) => {
    event.preventDefault();
    store([...views.filter((one) => one.name !== name.trim()), { name: name.trim(), query }]);
    showToast(`Saved the view “${name.trim()}”`);
    setName('');
  };
  const open = (view, close) => {
    const params = new URLSearchParams(view.query);
    if (viewer() !== undefined) params.set('as', viewer());
    navigate(hrefOf(`${DATA}/${encodeURIComponent(resource.name)}`, params));
    close();
  };
  return html`<${Menu} label="Views" icon="star" isEnd=${true}>
    ${(
      close,
    ) => html`${views.length === 0 && html`<p class="soft">Save what you see now, to find it again quickly.</p>`}
      <ul class="views">
        ${views.map(
          (view) => html`<li key=${view.name}>
            <button
              type="button"
              aria-current=${view.query === query ? 'true' : undefined}
              onClick=${() => open(view, close)}
            >
              ${view.name}
            </button>
            <${IconButton}
              icon="trash"
              label=${`Delete the view ${view.name}`}
              onClick=${() => store(views.filter((one) => one !== view))}
            />
          </li>`,
        )}
      </ul>
      <form onSubmit=${save}>
        <label>
          Name
          <input value=${name} maxlength="60" required onInput=${(event) => setName(event.target.value)} />
        </label>
        <button type="submit" class="primary" disabled=${name.trim() === ''}>Save this view</button>
      </form>`}
  <//>`;
}

/** What selects the records of a list, and how they are shown. */
export function Toolbar({ resource }) {
  return html`<div class="toolbar" role="search" aria-label=${`Find ${nameOf(resource, 2)}`}>
    <${Search} resource=${resource} />
    <${FilterMenu} key=${`filter ${resource.name}`} resource=${resource} />
    <${SortChoice} resource=${resource} />
    <${ViewsMenu} key=${`views ${resource.name}`} resource=${resource} />
    <${DisplayMenu} key=${`display ${resource.name}`} resource=${resource} />
  </div>`;
}
