import { app, Facts, RecordLink, sentenceCase, Time, userResource } from '../../console/kit.ts';
import type { AuditEntry, FieldChange } from './types.ts';

/** How a user acted, unless in a session. */
const WAYS: Readonly<Record<string, string>> = { 'api-key': 'with an API key', console: 'in the console' };

const findResource = (name: string | null) => app.value.resources.find((one) => one.name === name);

/** The name of a field or a fact as words: `publishedAt` is “Published at”. */
const inWords = (name: string) =>
  sentenceCase(
    name.replaceAll(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`),
  );

/** The label of a kind of records: `api-key` is “API key”. */
export const kindText = (resource: string) =>
  findResource(resource)?.label ?? inWords(resource.replaceAll('-', ' ')).replace(/^Api /, 'API ');

const textOf = (value: unknown) =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

/** A value of a field: a reference as a link with the label of the record. */
function ChangedValue({ value, target }: { value: unknown; target: string | undefined }) {
  // A masked value is not the id of a record.
  if (target === undefined || typeof value !== 'string' || value.includes('*')) return textOf(value);
  return <RecordLink resource={target} id={value} />;
}

function ChangeList({ changes, resource }: { changes: Record<string, FieldChange>; resource: string | null }) {
  const fields = findResource(resource)?.fields ?? [];
  return (
    <dl class="audit-changes">
      {Object.entries(changes).map(([field, change]) => {
        const info = fields.find(({ name }) => name === field);
        const target = info?.type === 'ref' ? info.target : undefined;
        const hasBefore = Object.hasOwn(change, 'from');
        const hasValues = hasBefore || Object.hasOwn(change, 'to');
        return (
          <div key={field}>
            <dt title={field}>{info?.label ?? inWords(field)}</dt>
            <dd>
              {hasValues ? (
                <>
                  {hasBefore && (
                    <>
                      <del>
                        <ChangedValue value={change.from} target={target} />
                      </del>{' '}
                      →{' '}
                    </>
                  )}
                  <ins>
                    <ChangedValue value={change.to} target={target} />
                  </ins>
                </>
              ) : (
                'changed; the value is secret'
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** What an entry is about; nothing if it is the user who acted. Records without a page have their ids in the details. */
function Subject({ entry: { resource, record, user } }: { entry: AuditEntry }) {
  if (resource === null || (user !== null && user === record)) return null;
  const isLinked = record !== null && findResource(resource) !== undefined;
  return (
    <span>
      {kindText(resource)} {isLinked && <RecordLink resource={resource} id={record} />}
    </span>
  );
}

/** Who acted: a user, the app itself, or somebody unknown. */
function Actor({ entry: { user, via } }: { entry: AuditEntry }) {
  const users = userResource();
  const way = via === null ? undefined : WAYS[via];
  if (user === null) return <>{via === 'system' ? 'by the system' : (way ?? 'without a sign-in')}</>;
  return (
    <>
      by {users ? <RecordLink resource={users.name} id={user} /> : 'a user'} {way}
    </>
  );
}

/** Everything that support needs to follow up an entry. */
function Details({ entry }: { entry: AuditEntry }) {
  const { id, action, resource, record, user, via, ip, requestId, details } = entry;
  const code = (text: string | null) => text && <code>{text}</code>;
  return (
    <details class="audit-details">
      <summary>Details</summary>
      <Facts
        of={[
          ['Entry', id],
          ['Action', code(action)],
          ['Kind of record', code(resource)],
          ['Id of the record', code(record)],
          ['Id of the user', code(user)],
          ['Signed in by', via],
          ['IP address', code(ip)],
          ['Request', code(requestId)],
          ...Object.entries(details ?? {}).map(
            ([name, value]) => [`${inWords(name)} (${name})`, textOf(value)] as const,
          ),
        ]}
      />
    </details>
  );
}

/** An entry of the trail as a sentence, with its changes. */
export function Entry({ entry }: { entry: AuditEntry }) {
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
