import type { ComponentChildren } from 'preact';
import { Time } from '../../../kit/format.tsx';
import { locale } from '../../../kit/language.ts';
import { ResourceIcon } from '../../components/resource-icon.tsx';
import { setParams, usePageTitle } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ReferringField, ResourceInfo } from '../app-info.ts';
import { app, dataHref, fieldLabel, fieldValue, resourceOf } from '../schema.ts';
import type { NewerVersion, RecordVersion } from './record-data.ts';

/** Leads back to the list, and names the page. */
export function RecordHeading({
  resource,
  title,
  children,
}: {
  resource: ResourceInfo;
  title: string;
  children?: ComponentChildren;
}) {
  usePageTitle(`${title} · ${resource.plural}`, app.value.name);
  return (
    <div class="record-heading">
      <nav aria-label={texts.record.breadcrumb}>
        <a class="resource-heading" href={dataHref([resource.name])}>
          <ResourceIcon resource={resource} />
          {resource.plural}
        </a>
      </nav>
      <h1 tabindex={-1}>{title}</h1>
      {children}
    </div>
  );
}

/** The parts of the page of a record. */
export function RecordTabs({ resource, current }: { resource: ResourceInfo; current: string }) {
  const tabs: [id: string, label: string][] = [
    ['fields', texts.record.tabs.fields],
    ['history', texts.record.tabs.history],
    ['json', texts.record.tabs.json],
  ];
  const shown = tabs.filter(([id]) => id !== 'history' || app.value.features.audit);
  return (
    <nav class="tabs" aria-label={texts.record.parts(resource.label)}>
      {shown.map(([id, label]) => (
        <button
          key={id}
          type="button"
          aria-current={id === current ? 'page' : undefined}
          onClick={() => setParams({ tab: id === 'fields' ? undefined : id })}
        >
          {label}
        </button>
      ))}
    </nav>
  );
}

/** Says that the record has changed while it is being edited. */
export function NewerNotice({
  newer,
  onCompare,
  onDiscard,
}: {
  newer: NewerVersion | undefined;
  onCompare: (newer: RecordVersion) => void;
  onDiscard: () => void;
}) {
  if (newer === undefined) return null;
  return (
    <div class="banner warn" role="status">
      <span>{newer === 'deleted' ? texts.record.newerDeleted : texts.record.newerChanged}</span>
      {newer !== 'deleted' && (
        <button type="button" onClick={() => onCompare(newer)}>
          {texts.record.compare}
        </button>
      )}
      <button type="button" class="plain" onClick={onDiscard}>
        {texts.record.discardMine}
      </button>
    </div>
  );
}

const MAX_COUNTED = 1000;
const ACTIONS: Readonly<Record<string, string>> = texts.record.actions;
const TIMES = [
  ['createdAt', texts.record.times.createdAt],
  ['updatedAt', texts.record.times.updatedAt],
  ['deletedAt', texts.record.times.deletedAt],
] as const;

function countText(count: number | null): string {
  if (count === null) return '?';
  return count >= MAX_COUNTED ? `${MAX_COUNTED}+` : count.toLocaleString(locale);
}

/** The records of a relation, for people; with the field if several fields of a resource refer to the record. */
function relationText(relations: readonly ReferringField[], { resource: name, field }: ReferringField): string {
  const resource = resourceOf(name);
  if (resource === undefined) return name;
  const isOnlyOne = relations.filter((one) => one.resource === name).length === 1;
  return isOnlyOne ? resource.plural : `${resource.plural} (${fieldLabel(resource, field)})`;
}

/** What the system knows about a record, and the records that refer to it. */
export function Details({ resource, record, meta: { relations } }: { resource: ResourceInfo } & RecordVersion) {
  const times = TIMES.flatMap(([name, label]) => {
    const time = fieldValue(record, name);
    return typeof time === 'string' ? [{ label, time }] : [];
  });
  return (
    <aside class="details" aria-label={texts.record.details}>
      <dl>
        {times.map(({ label, time }) => (
          <div class="fact" key={label}>
            <dt>{label}</dt>
            <dd>
              <Time value={time} />
            </dd>
          </div>
        ))}
      </dl>
      {relations.length > 0 && (
        <>
          <h2>{texts.record.related}</h2>
          <ul class="relations">
            {relations.map((relation) => (
              <li key={relation.name}>
                <a href={dataHref([relation.resource], { [`${relation.field}[eq]`]: record.id })}>
                  {relationText(relations, relation)}
                </a>
                <span class="count">{countText(relation.count)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {resource.description && (
        <>
          <h2>{texts.record.about}</h2>
          <p class="soft">{resource.description}</p>
        </>
      )}
      <details>
        <summary>{texts.record.policies}</summary>
        <dl class="policies">
          {Object.entries(resource.policies).map(([action, text]) => (
            <div class="fact" key={action}>
              <dt>{Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : action}</dt>
              <dd>
                <code>{text}</code>
              </dd>
            </div>
          ))}
        </dl>
        {resource.hasScope && <p class="soft">{texts.record.scope}</p>}
      </details>
    </aside>
  );
}
