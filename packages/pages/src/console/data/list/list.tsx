import { locale } from '../../../kit/language.ts';
import type { RequestError } from '../../../kit/request.ts';
import { ResourceIcon } from '../../components/resource-icon.tsx';
import { usePageTitle } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo } from '../app-info.ts';
import { app, nameOf, viewer } from '../schema.ts';
import { BulkBar } from './bulk.tsx';
import { FilterChips } from './filters.tsx';
import { useSelection, useShortcuts } from './keyboard.tsx';
import { type ListMeta, useList } from './list-data.ts';
import { ListActions, NoRecords, Pager } from './list-parts.tsx';
import { RecordTable } from './table.tsx';
import { Toolbar } from './toolbar.tsx';

function totalText(resource: ResourceInfo, { total, totalCapped }: ListMeta): string {
  if (total === undefined) return '';
  return `${total.toLocaleString(locale)}${totalCapped ? '+' : ''} ${nameOf(resource, total)}`;
}

/** The message of an error with its details, as sentences. */
function errorText({ message, details }: RequestError): string {
  const reasons = Object.values(details).join(' · ');
  return reasons === '' ? message : `${message.replace(/\.$/, '')}. ${reasons}`;
}

/** The list of a resource. */
export function ListPage({ resource }: { resource: ResourceInfo }) {
  const list = useList(resource);
  usePageTitle(resource.plural, app.value.name);
  const { rows, meta, error } = list;
  const { selected, toggle, toggleAll, clear } = useSelection(rows);
  useShortcuts(resource, { toggle, clear });
  const finish = async () => {
    clear();
    const { activeElement, body } = document;
    // The bar that had the focus is gone.
    if (activeElement === null || activeElement === body || activeElement.closest('.bulk') !== null)
      document.querySelector<HTMLElement>('#main h1')?.focus();
    await list.reload();
  };
  return (
    <main id="main" class="page list-page">
      <header class="page-head">
        <div>
          <h1 class="resource-heading" tabindex={-1}>
            <ResourceIcon resource={resource} size={22} />
            {resource.plural}
          </h1>
          <p class="soft count" role="status">
            {totalText(resource, meta)}
          </p>
        </div>
        <ListActions resource={resource} reload={list.reload} />
      </header>
      <Toolbar resource={resource} />
      <FilterChips resource={resource} />
      {error && (
        <p class="banner bad" role="alert">
          {errorText(error)}
        </p>
      )}
      {rows?.length === 0 && !error && !list.isLoading ? (
        <NoRecords resource={resource} meta={meta} />
      ) : (
        !error && (
          <RecordTable resource={resource} list={list} selected={selected} onSelect={toggle} onSelectAll={toggleAll} />
        )
      )}
      {meta.truncated && <p class="soft">{texts.list.truncated}</p>}
      <Pager meta={meta} isLoading={list.isLoading} />
      {viewer() === undefined && <BulkBar resource={resource} rows={rows} selected={selected} onDone={finish} />}
    </main>
  );
}
