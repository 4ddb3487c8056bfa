import { Code } from '../../../kit/copy.tsx';
import { Dialog, openDialog } from '../../../kit/dialog.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { Menu } from '../../components/menu.tsx';
import { hrefOf, place, setParams } from '../../router.ts';
import type { ResourceInfo } from '../app-info.ts';
import { dataHref, nameOf, viewer } from '../schema.ts';
import { listCommand, newRecordCommand } from '../shell-command.ts';
import { exportRecords } from './export.ts';
import { importRecords } from './import/import.tsx';
import { showShortcuts } from './keyboard.tsx';
import type { ListMeta, RecordList } from './list-data.ts';
import { isFiltered } from './query.ts';

const showCommand = (resource: ResourceInfo) =>
  openDialog<void>(({ close }) => (
    <Dialog title="The same list from the API" onClose={close} wide={true}>
      <p>
        Clients may use the filters, searches and orders that the declaration allows, and see what its policies allow.
      </p>
      <Code text={listCommand(resource, place.value.params)} label="Command" />
    </Dialog>
  ));

/** What can be done with the list as a whole. */
export function ListActions({ resource, reload }: { resource: ResourceInfo; reload: () => Promise<void> }) {
  const isReadOnly = viewer() !== undefined;
  return (
    <div class="actions">
      <Menu label="More" icon="more" isEnd={true}>
        {(close) => {
          const run = (action: () => unknown) => () => {
            close();
            action();
          };
          return (
            <div class="menu-items">
              {!isReadOnly && (
                <>
                  <button type="button" onClick={run(() => exportRecords(resource, 'csv'))}>
                    <Icon name="download" />
                    Export as CSV
                  </button>
                  <button type="button" onClick={run(() => exportRecords(resource, 'csv', { isExact: true }))}>
                    <Icon name="download" />
                    Export as CSV, exact texts
                  </button>
                  <button type="button" onClick={run(() => exportRecords(resource, 'ndjson'))}>
                    <Icon name="download" />
                    Export as NDJSON
                  </button>
                  <button type="button" onClick={run(() => importRecords(resource, reload))}>
                    <Icon name="upload" />
                    Import a file…
                  </button>
                </>
              )}
              <button type="button" onClick={run(() => showCommand(resource))}>
                <Icon name="link" />
                API call…
              </button>
              <button type="button" onClick={run(showShortcuts)}>
                <Icon name="bolt" />
                Keyboard shortcuts
              </button>
            </div>
          );
        }}
      </Menu>
      {!isReadOnly && (
        <a class="button primary" href={dataHref([resource.name, 'new'])}>
          <Icon name="add" />
          <span class="text">New {nameOf(resource)}</span>
        </a>
      )}
    </div>
  );
}

/** Steps through the pages. The cursors of former pages are in the history, so that the link of a page stays short. */
export function Pager({ meta, isLoading }: Pick<RecordList, 'meta' | 'isLoading'>) {
  const { params, state } = place.value;
  const trail: unknown[] = Array.isArray(state.trail) ? state.trail : [];
  const after = params.get('after');
  const next = meta.next ?? undefined;
  const showNext = () => setParams({ after: next }, { state: { trail: [...trail, after ?? ''] } });
  const showPrevious = () => setParams({ after: String(trail.at(-1) ?? '') }, { state: { trail: trail.slice(0, -1) } });
  if (after === null && !next) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={after === null || isLoading} onClick={() => setParams({ after: undefined })}>
        First
      </button>
      <button type="button" disabled={trail.length === 0 || isLoading} onClick={showPrevious}>
        Previous
      </button>
      <button type="button" disabled={!next || isLoading} onClick={showNext}>
        Next
      </button>
    </nav>
  );
}

/** What a list without records says: how to get the first one, or that the filters match none. */
export function NoRecords({ resource, meta }: { resource: ResourceInfo; meta: ListMeta }) {
  const { params } = place.value;
  if (isFiltered(params) || params.has('after')) {
    const keep = new URLSearchParams([...params].filter(([key]) => ['as', 'columns'].includes(key)));
    return (
      <div class="nothing">
        <h2>No {nameOf(resource)} matches</h2>
        <p>Change the search or the filters, or show all.</p>
        <a class="button" href={hrefOf(place.value.path, keep)}>
          Show all {nameOf(resource, 2)}
        </a>
      </div>
    );
  }
  if (viewer() !== undefined)
    return (
      <div class="nothing">
        <h2>This viewer sees no {nameOf(resource, 2)}</h2>
        <p>
          {meta.why ?? (
            <>
              Policy of the list: <code>{resource.policies.list}</code>
              {resource.hasScope && ', and a scope filter'}
            </>
          )}
          .
        </p>
      </div>
    );
  return (
    <div class="nothing">
      <h2>No {nameOf(resource, 2)} yet</h2>
      <p>Create the first one here, import a file, or send it to the API:</p>
      <a class="button primary" href={dataHref([resource.name, 'new'])}>
        <Icon name="add" />
        Create the first {nameOf(resource)}
      </a>
      <Code text={newRecordCommand(resource)} label="Command" />
    </div>
  );
}
