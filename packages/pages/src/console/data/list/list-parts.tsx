import { Code } from '../../../kit/copy.tsx';
import { Dialog, openDialog } from '../../../kit/dialog.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { Menu } from '../../components/menu.tsx';
import { hrefOf, place, setParams } from '../../router.ts';
import { texts } from '../../texts.ts';
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
    <Dialog title={texts.list.api.title} onClose={close} wide={true}>
      <p>{texts.list.api.intro}</p>
      <Code text={listCommand(resource, place.value.params)} label={texts.list.api.command} />
    </Dialog>
  ));

/** What can be done with the list as a whole. */
export function ListActions({ resource, reload }: { resource: ResourceInfo; reload: () => Promise<void> }) {
  const isReadOnly = viewer() !== undefined;
  return (
    <div class="actions">
      <Menu label={texts.list.more} icon="more" isEnd={true}>
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
                    {texts.list.exportCsv}
                  </button>
                  <button type="button" onClick={run(() => exportRecords(resource, 'csv', { isExact: true }))}>
                    <Icon name="download" />
                    {texts.list.exportExactCsv}
                  </button>
                  <button type="button" onClick={run(() => exportRecords(resource, 'ndjson'))}>
                    <Icon name="download" />
                    {texts.list.exportNdjson}
                  </button>
                  <button type="button" onClick={run(() => importRecords(resource, reload))}>
                    <Icon name="upload" />
                    {texts.list.importFile}
                  </button>
                </>
              )}
              <button type="button" onClick={run(() => showCommand(resource))}>
                <Icon name="link" />
                {texts.list.apiCall}
              </button>
              <button type="button" onClick={run(showShortcuts)}>
                <Icon name="bolt" />
                {texts.list.shortcuts.title}
              </button>
            </div>
          );
        }}
      </Menu>
      {!isReadOnly && (
        <a class="button primary" href={dataHref([resource.name, 'new'])}>
          <Icon name="add" />
          <span class="text">{texts.list.newRecord(nameOf(resource))}</span>
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
    <nav class="pager" aria-label={texts.list.pages}>
      <button type="button" disabled={after === null || isLoading} onClick={() => setParams({ after: undefined })}>
        {texts.list.first}
      </button>
      <button type="button" disabled={trail.length === 0 || isLoading} onClick={showPrevious}>
        {texts.list.previous}
      </button>
      <button type="button" disabled={!next || isLoading} onClick={showNext}>
        {texts.list.next}
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
        <h2>{texts.list.noMatch(nameOf(resource))}</h2>
        <p>{texts.list.noMatchHint}</p>
        <a class="button" href={hrefOf(place.value.path, keep)}>
          {texts.list.showAll(nameOf(resource, 2))}
        </a>
      </div>
    );
  }
  if (viewer() !== undefined)
    return (
      <div class="nothing">
        <h2>{texts.list.viewerSeesNone(nameOf(resource, 2))}</h2>
        <p>
          {meta.why ?? (
            <>
              {texts.list.listPolicy} <code>{resource.policies.list}</code>
              {resource.hasScope && texts.list.andScope}
            </>
          )}
          .
        </p>
      </div>
    );
  return (
    <div class="nothing">
      <h2>{texts.list.noneYet(nameOf(resource, 2))}</h2>
      <p>{texts.list.noneYetHint}</p>
      <a class="button primary" href={dataHref([resource.name, 'new'])}>
        <Icon name="add" />
        {texts.list.createFirst(nameOf(resource))}
      </a>
      <Code text={newRecordCommand(resource)} label={texts.list.api.command} />
    </div>
  );
}
