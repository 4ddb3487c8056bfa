import { Time } from '../../kit/format.tsx';
import { Icon } from '../../kit/icons.tsx';
import { locale } from '../../kit/language.ts';
import { ResourceIcon } from '../components/resource-icon.tsx';
import type { ResourceInfo } from '../data/app-info.ts';
import { dataHref, nameOf } from '../data/schema.ts';
import { texts } from '../texts.ts';
import type { ResourceState } from './types.ts';

function CountText({ resource, records }: { resource: ResourceInfo } & Pick<ResourceState, 'records'>) {
  if (records === null)
    return (
      <span class="count" title={texts.overview.countUnread}>
        <b aria-hidden="true">–</b>
        <span class="visually-hidden">{texts.overview.countUnread}</span>
      </span>
    );
  const { count, isMore } = records;
  const number = count.toLocaleString(locale);
  return (
    <span class="count">
      {isMore && <span class="soft">{texts.overview.moreThan}</span>} <b>{number}</b>
      <span class="visually-hidden"> {nameOf(resource, count)}</span>
    </span>
  );
}

function Newest({ resource, newest }: { resource: ResourceInfo } & Pick<ResourceState, 'newest'>) {
  if (newest === null) return <p class="soft">{texts.overview.newestUnread(nameOf(resource, 2))}</p>;
  if (newest.length === 0) return <p class="soft">{texts.overview.none(nameOf(resource, 2))}</p>;
  return (
    <ul class="newest" aria-label={texts.overview.newest(nameOf(resource, 2))}>
      {newest.map(({ id, label, createdAt }) => (
        <li key={id}>
          <a href={dataHref([resource.name, id])} title={label}>
            {label}
          </a>
          <span class="soft">
            <Time value={createdAt} isShort={true} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** A resource at a glance: its number, its newest records, and the way to create one. @param props `state`: undefined until it is read */
export function ResourceCard({ resource, state }: { resource: ResourceInfo; state: ResourceState | undefined }) {
  return (
    <li class="card resource-card" aria-busy={state === undefined ? 'true' : undefined}>
      <header>
        <span class="tile">
          <ResourceIcon resource={resource} size={18} />
        </span>
        <h3>
          <a href={dataHref([resource.name])} title={resource.description}>
            {resource.plural}
          </a>
        </h3>
        {state && <CountText resource={resource} records={state.records} />}
      </header>
      {state === undefined ? (
        <div class="newest">
          <span class="bone"></span>
          <span class="bone"></span>
          <span class="bone"></span>
        </div>
      ) : (
        <Newest resource={resource} newest={state.newest} />
      )}
      <a class="add" href={dataHref([resource.name, 'new'])}>
        <Icon name="add" size={14} />
        {texts.overview.newRecord(nameOf(resource))}
      </a>
    </li>
  );
}
