import { useState } from 'preact/hooks';
import { Icon, IconButton } from '../../../kit/icons.tsx';
import { showToast } from '../../../kit/toasts.tsx';
import { useSearchField } from '../../components/listing.tsx';
import { Menu } from '../../components/menu.tsx';
import { hrefOf, navigate, place, setParams } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { columnsOf, DATA, listColumnsOf, nameOf, viewer } from '../schema.ts';
import { chooseColumns, hasChosenColumns, shownColumns, withColumns } from './columns.ts';
import { FilterMenu } from './filters.tsx';
import { DEFAULT_PAGE_SIZE, PAGE_SIZES, readViews, type SavedView, sortOf, viewParams, writeViews } from './query.ts';

interface ToolbarProps {
  resource: ResourceInfo;
}

/** The columns that a choice starts with, if the user has not chosen any. */
const USUAL_COLUMNS = 6;

function Search({ resource }: ToolbarProps) {
  const field = useSearchField('q');
  if (!resource.searchable) return null;
  const label = texts.list.search(nameOf(resource, 2));
  return (
    <div class="search">
      <Icon name="search" />
      <input
        {...field}
        id="search"
        aria-label={label}
        title={texts.list.searchHint}
        placeholder={label}
        maxlength={500}
      />
    </div>
  );
}

/** The order, for screens whose list has no headers to click. */
function SortChoice({ resource }: ToolbarProps) {
  const { name, isDescending } = sortOf(resource, place.value.params);
  const options = columnsOf(resource).filter(({ sortable }) => sortable);
  const sortBy = (next: string, descending: boolean) =>
    setParams({ sort: `${descending ? '-' : ''}${next}`, after: undefined });
  return (
    <div class="sort-choice">
      <label>
        <span class="text">{texts.list.sortBy}</span>
        <select value={name} onChange={(event) => sortBy(event.currentTarget.value, isDescending)}>
          {options.map((one) => (
            <option key={one.name} value={one.name}>
              {one.label}
            </option>
          ))}
        </select>
      </label>
      <IconButton
        icon={isDescending ? 'arrowDown' : 'arrowUp'}
        label={isDescending ? texts.list.toAscending : texts.list.toDescending}
        onClick={() => sortBy(name, !isDescending)}
      />
    </div>
  );
}

/** Chooses the columns, and which of them is the first. */
function ColumnChoice({ resource }: ToolbarProps) {
  const names = shownColumns(resource, place.value.params, USUAL_COLUMNS).map(({ name }) => name);
  const show = (next: readonly string[]) => chooseColumns(resource, next);
  const toggle = (name: string) => {
    const next = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
    if (next.length > 0) show(next);
  };
  const moveFirst = (name: string) => show([name, ...names.filter((one) => one !== name)]);
  return (
    <fieldset class="column-choice">
      <legend>{texts.list.display.columns}</legend>
      {listColumnsOf(resource).map(({ name, label }) => (
        <div key={name} class="row">
          <label class="check">
            <input type="checkbox" checked={names.includes(name)} onClick={() => toggle(name)} />
            {label}
          </label>
          {names.indexOf(name) > 0 && (
            <IconButton icon="arrowUp" label={texts.list.display.moveFirst(label)} onClick={() => moveFirst(name)} />
          )}
        </div>
      ))}
    </fieldset>
  );
}

/** Chooses the columns, the page size and whether deleted records are shown. */
function DisplayMenu({ resource }: ToolbarProps) {
  const { params } = place.value;
  return (
    <Menu label={texts.list.display.menu} icon="columns" isEnd={true}>
      <ColumnChoice resource={resource} />
      {hasChosenColumns(resource, params) && (
        <button type="button" onClick={() => chooseColumns(resource, [])}>
          {texts.list.display.usual}
        </button>
      )}
      <label>
        {texts.list.display.pageSize}
        <select
          value={params.get('limit') ?? DEFAULT_PAGE_SIZE}
          onChange={(event) => setParams({ limit: event.currentTarget.value, after: undefined })}
        >
          {PAGE_SIZES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {resource.softDelete && (
        <label>
          {texts.list.display.deleted}
          <select
            value={params.get('deleted') ?? ''}
            onChange={(event) => setParams({ deleted: event.currentTarget.value, after: undefined })}
          >
            <option value="">{texts.list.display.hide}</option>
            <option value="with">{texts.list.display.show}</option>
            <option value="only">{texts.list.display.only}</option>
          </select>
        </label>
      )}
    </Menu>
  );
}

/** The form that saves a view. */
function SaveViewForm({ onSave }: { onSave: (name: string) => void }) {
  const [name, setName] = useState('');
  const save = (event: Event) => {
    event.preventDefault();
    onSave(name.trim());
    setName('');
  };
  return (
    <form onSubmit={save}>
      <label>
        {texts.list.views.name}
        <input value={name} maxlength={60} required onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={name.trim() === ''}>
        {texts.list.views.save}
      </button>
    </form>
  );
}

/** Saves the search, filters, order and columns under a name, in this browser. */
function ViewsMenu({ resource }: ToolbarProps) {
  const [views, setViews] = useState(() => readViews(resource));
  const query = viewParams(withColumns(resource, place.value.params)).toString();
  const store = (next: SavedView[]) => {
    writeViews(resource, next);
    setViews(next);
  };
  const save = (name: string) => {
    store([...views.filter((one) => one.name !== name), { name, query }]);
    showToast(texts.list.views.saved(name));
  };
  const open = (view: SavedView, close: () => void) => {
    const params = new URLSearchParams(view.query);
    const as = viewer();
    if (as !== undefined) params.set('as', as);
    navigate(hrefOf(`${DATA}/${encodeURIComponent(resource.name)}`, params));
    close();
  };
  return (
    <Menu label={texts.list.views.menu} icon="star" isEnd={true}>
      {(close) => (
        <>
          {views.length === 0 && <p class="soft">{texts.list.views.none}</p>}
          <ul class="views">
            {views.map((view) => (
              <li key={view.name}>
                <button
                  type="button"
                  aria-current={view.query === query ? 'true' : undefined}
                  onClick={() => open(view, close)}
                >
                  {view.name}
                </button>
                <IconButton
                  icon="trash"
                  label={texts.list.views.delete(view.name)}
                  onClick={() => store(views.filter((one) => one !== view))}
                />
              </li>
            ))}
          </ul>
          <SaveViewForm onSave={save} />
        </>
      )}
    </Menu>
  );
}

/** What selects the records of a list, and how they are shown. */
export function Toolbar({ resource }: ToolbarProps) {
  return (
    <div class="toolbar" role="search" aria-label={texts.list.find(nameOf(resource, 2))}>
      <Search resource={resource} />
      <FilterMenu key={`filter ${resource.name}`} resource={resource} />
      <SortChoice resource={resource} />
      <ViewsMenu key={`views ${resource.name}`} resource={resource} />
      <DisplayMenu key={`display ${resource.name}`} resource={resource} />
    </div>
  );
}
