import { useEffect, useState } from 'preact/hooks';
import { Time } from '../../../kit/format.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { type RequestError, toRequestError } from '../../../kit/request.ts';
import { call } from '../../api.ts';
import { RecordLink } from '../../components/record-link.tsx';
import { hrefOf } from '../../router.ts';
import type { Labels, ResourceInfo, StoredRecord } from '../app-info.ts';
import { plainText, Reference } from '../format.tsx';
import { fieldLabel, recordsPath, userResource } from '../schema.ts';

const ACTIONS: Readonly<Record<string, string>> = {
  created: 'Created',
  updated: 'Changed',
  deleted: 'Deleted',
  restored: 'Restored',
  'console.revealed': 'Value revealed',
};

/** The values of a field before and after a change; of secret values neither. */
interface FieldChange {
  from?: unknown;
  to?: unknown;
}

interface AuditEntry {
  id: number;
  /** ISO 8601. */
  at: string;
  action: string;
  /** The id of the user who performed the action. */
  user: string | null;
  via: string | null;
  changes: Readonly<Record<string, FieldChange>> | null;
  details: Readonly<Record<string, unknown>> | null;
}

/** One change of a field. The audit trail does not contain secret values. */
function Change({ resource, field, change }: { resource: ResourceInfo; field: string; change: FieldChange }) {
  const { type, target } = resource.fields.find(({ name }) => name === field) ?? {};
  const show = (value: unknown) => {
    const ids = type === 'refs' && Array.isArray(value) ? value : [value];
    if (target !== undefined && ids.every((id) => typeof id === 'string'))
      return ids.map((id, index) => [index > 0 && ', ', <RecordLink key={id} resource={target} id={id} />]);
    return type === 'date' && typeof value === 'string' ? <Time value={value} /> : plainText(value);
  };
  const hasValues = Object.hasOwn(change, 'from') || Object.hasOwn(change, 'to');
  return (
    <div>
      <dt>{fieldLabel(resource, field)}</dt>
      <dd>
        {hasValues ? (
          <>
            <del>{show(change.from)}</del>
            <Icon name="chevron" size={12} />
            <ins>{show(change.to)}</ins>
          </>
        ) : (
          'changed'
        )}
      </dd>
    </div>
  );
}

function Entry({ resource, entry, labels }: { resource: ResourceInfo; entry: AuditEntry; labels: Labels }) {
  const { action, user, via, at, changes, details } = entry;
  const users = userResource();
  const fields = Object.entries(changes ?? {});
  return (
    <li>
      <p class="entry-head">
        <b>{Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : action}</b>
        {user && users ? (
          <>
            {' by '}
            <Reference target={users.name} id={user} labels={labels} />
          </>
        ) : (
          ' by the system'
        )}
        <span class="soft">
          {' '}
          {via && via !== 'system' && `· ${via} `}· <Time value={at} />
        </span>
      </p>
      {fields.length > 0 && (
        <dl class="diff">
          {fields.map(([field, change]) => (
            <Change key={field} resource={resource} field={field} change={change} />
          ))}
        </dl>
      )}
      {details && <p class="soft">{plainText(details)}</p>}
    </li>
  );
}

/** Why there are no entries, and how to get some. */
function NoHistory({ resource, error }: { resource: ResourceInfo; error: RequestError | undefined }) {
  if (error)
    return (
      <div class="nothing">
        <h2>No history</h2>
        <p>{error.message}</p>
      </div>
    );
  return (
    <div class="nothing">
      <h2>No recorded changes</h2>
      <p>
        {resource.audit ? (
          'Changes to this record will appear here.'
        ) : (
          <>
            Record the changes of this resource with <code>audit: true</code> in its declaration.
          </>
        )}
      </p>
    </div>
  );
}

interface HistoryState {
  entries: readonly AuditEntry[];
  labels: Labels;
  next: string | null;
  error?: RequestError;
}

interface HistoryMeta {
  labels: Labels;
  next: string | null;
}

/** The changes of a record, from the audit trail. */
export function History({ resource, record }: { resource: ResourceInfo; record: StoredRecord }) {
  const [state, setState] = useState<HistoryState | undefined>(undefined);
  const load = async (after: string | undefined) => {
    const query = new URLSearchParams(after === undefined ? {} : { after });
    try {
      const path = hrefOf(recordsPath(resource, record.id, 'history'), query);
      const { data, meta } = await call<AuditEntry[], HistoryMeta>(path);
      setState({
        entries: [...(after === undefined || state === undefined ? [] : state.entries), ...data],
        labels: { ...state?.labels, ...meta.labels },
        next: meta.next,
      });
    } catch (error) {
      setState({ entries: [], labels: {}, next: null, error: toRequestError(error) });
    }
  };
  useEffect(() => {
    load(undefined);
  }, [record.id]);
  if (state === undefined)
    return (
      <div aria-busy="true">
        <span class="bone"></span>
      </div>
    );
  const { entries, error, labels, next } = state;
  if (entries.length === 0) return <NoHistory resource={resource} error={error} />;
  return (
    <div>
      <ol class="history">
        {entries.map((entry) => (
          <Entry key={entry.id} resource={resource} entry={entry} labels={labels} />
        ))}
      </ol>
      {next && (
        <nav class="pager" aria-label="Pages">
          <button type="button" onClick={() => load(next)}>
            Older
          </button>
        </nav>
      )}
    </div>
  );
}
