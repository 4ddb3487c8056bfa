import { useEffect, useState } from 'preact/hooks';
import { Time } from '../../../kit/format.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { type RequestError, toRequestError } from '../../../kit/request.ts';
import { call } from '../../api.ts';
import { RecordLink } from '../../components/record-link.tsx';
import { hrefOf } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { Labels, ResourceInfo, StoredRecord } from '../app-info.ts';
import { plainText, Reference, Value } from '../format.tsx';
import { fieldLabel, recordsPath, userResource } from '../schema.ts';

const ACTIONS: Readonly<Record<string, string>> = texts.record.history.actions;

/** Types whose values fit on a line. */
const SHORT_TYPES = ['boolean', 'date', 'integer', 'number', 'decimal', 'array'];

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
  const info = resource.fields.find(({ name }) => name === field);
  const { type, target } = info ?? {};
  const show = (value: unknown) => {
    const ids = type === 'refs' && Array.isArray(value) ? value : [value];
    if (target !== undefined && ids.every((id) => typeof id === 'string'))
      return ids.map((id, index) => [index > 0 && ', ', <RecordLink key={id} resource={target} id={id} />]);
    return info && SHORT_TYPES.includes(info.type) ? <Value field={info} value={value} /> : plainText(value);
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
          texts.record.history.changed
        )}
      </dd>
    </div>
  );
}

function Entry({ resource, entry, labels }: { resource: ResourceInfo; entry: AuditEntry; labels: Labels }) {
  const { action, user, via, at, changes, details } = entry;
  const users = userResource();
  const order = resource.fields.map(({ name }) => name);
  const fields = Object.entries(changes ?? {}).toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  return (
    <li>
      <p class="entry-head">
        <b>{Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : action}</b>
        {user && users ? (
          <>
            {` ${texts.record.history.by} `}
            <Reference target={users.name} id={user} labels={labels} />
          </>
        ) : (
          ` ${texts.record.history.bySystem}`
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
        <h2>{texts.record.history.none}</h2>
        <p>{error.message}</p>
      </div>
    );
  return (
    <div class="nothing">
      <h2>{texts.record.history.noChanges}</h2>
      <p>
        {resource.audit ? (
          texts.record.history.willAppear
        ) : (
          <>
            {texts.record.history.switchOn.before} <code>audit: true</code> {texts.record.history.switchOn.after}
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
        <nav class="pager" aria-label={texts.record.history.pages}>
          <button type="button" onClick={() => load(next)}>
            {texts.record.history.older}
          </button>
        </nav>
      )}
    </div>
  );
}
