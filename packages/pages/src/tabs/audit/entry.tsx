import { app, Facts, type FieldInfo, RecordLink, sentenceCase, Time, userResource, Value } from '../../console/kit.ts';
import { richText } from '../../kit/rich-text.ts';
import { texts } from './texts.ts';
import type { FieldChange, ListedEntry } from './types.ts';

/** How a user acted, unless in a session. */
const WAYS: Readonly<Record<string, string>> = texts.entry.ways;
const KINDS: Readonly<Record<string, string>> = texts.kinds;

const findResource = (name: string | null) => app.value.resources.find((one) => one.name === name);

/** The name of a field or a fact as words: `publishedAt` is “Published at”. */
const inWords = (name: string) =>
  sentenceCase(
    name.replaceAll(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`),
  );

/** The label of a kind of records: `api-key` is “API key”. */
export const kindText = (resource: string) =>
  findResource(resource)?.label ?? KINDS[resource] ?? inWords(resource.replaceAll('-', ' '));

const textOf = (value: unknown) =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

/** A value of a field as the console shows it; of a field that no longer exists, as it is. A reference links to the record. */
function ChangedValue({ value, field }: { value: unknown; field: FieldInfo | undefined }) {
  // A masked value has another form than the values of its field.
  if (field === undefined || (typeof value === 'string' && value.includes('*'))) return <>{textOf(value)}</>;
  if (field.type === 'ref' && field.target !== undefined && typeof value === 'string')
    return <RecordLink resource={field.target} id={value} />;
  return <Value field={field} value={value} />;
}

function ChangeList({ changes, resource }: { changes: Record<string, FieldChange>; resource: string | null }) {
  const fields = findResource(resource)?.fields ?? [];
  const positionOf = (field: string) => fields.findIndex(({ name }) => name === field);
  return (
    <dl class="audit-changes">
      {Object.entries(changes)
        .toSorted(([a], [b]) => positionOf(a) - positionOf(b))
        .map(([field, change]) => {
          const info = fields.find(({ name }) => name === field);
          const values = 'from' in change || 'to' in change ? change : undefined;
          return (
            <div key={field}>
              <dt title={field}>{info?.label ?? inWords(field)}</dt>
              <dd>
                {values ? (
                  <>
                    {'from' in values && (
                      <>
                        <del>
                          <ChangedValue value={values.from} field={info} />
                        </del>{' '}
                        →{' '}
                      </>
                    )}
                    <ins>
                      <ChangedValue value={values.to} field={info} />
                    </ins>
                  </>
                ) : (
                  texts.entry.secret
                )}
              </dd>
            </div>
          );
        })}
    </dl>
  );
}

/** What an entry is about; nothing if it is the user who acted. Records without a page have their ids in the details. */
function Subject({ entry: { resource, record, user } }: { entry: ListedEntry }) {
  if (resource === null || (user !== null && user === record)) return null;
  const isLinked = record !== null && findResource(resource) !== undefined;
  return (
    <span>
      {kindText(resource)} {isLinked && <RecordLink resource={resource} id={record} />}
    </span>
  );
}

/** Who acted: a user, an organisation with an API key of its own, the app itself, or somebody unknown. */
function Actor({ entry: { user, via, details } }: { entry: ListedEntry }) {
  const users = userResource();
  const way = via === null ? undefined : WAYS[via];
  const organisation = details?.organisation;
  if (user === null && via === 'api-key' && typeof organisation === 'string')
    return (
      <>
        {richText(texts.entry.by, { user: <RecordLink resource="organisation" id={organisation} /> })} {way}
      </>
    );
  if (user === null) return <>{via === 'system' ? texts.entry.bySystem : (way ?? texts.entry.anonymous)}</>;
  return (
    <>
      {richText(texts.entry.by, {
        user: users ? <RecordLink resource={users.name} id={user} /> : texts.entry.byUserWithoutName,
      })}{' '}
      {way}
    </>
  );
}

/** Everything that support needs to follow up an entry. */
function Details({ entry }: { entry: ListedEntry }) {
  const { id, action, resource, record, user, via, ip, requestId, details } = entry;
  const own = texts.entry;
  const code = (text: string | null) => text && <code>{text}</code>;
  return (
    <details class="audit-details">
      <summary>{own.details}</summary>
      <Facts
        of={[
          [own.id, id],
          [own.action, code(action)],
          [own.kind, code(resource)],
          [own.record, code(record)],
          [own.user, code(user)],
          [own.via, via],
          [own.ip, code(ip)],
          [own.request, code(requestId)],
          ...Object.entries(details ?? {}).map(
            ([name, value]) => [`${inWords(name)} (${name})`, textOf(value)] as const,
          ),
        ]}
      />
    </details>
  );
}

/** An entry of the trail as a sentence, with its changes. */
export function Entry({ entry }: { entry: ListedEntry }) {
  const { action, words, at, changes, resource } = entry;
  return (
    <li>
      <p class="audit-head">
        <b title={action}>{words}</b> <Subject entry={entry} />{' '}
        <span class="soft">
          <Actor entry={entry} /> · <Time value={at} />
        </span>
      </p>
      {changes && <ChangeList changes={changes} resource={resource} />}
      <Details entry={entry} />
    </li>
  );
}
