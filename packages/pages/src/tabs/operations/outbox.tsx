import {
  ActionButton,
  call,
  DataTable,
  Loaded,
  Nothing,
  Section,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { durationText, numberText } from './format.tsx';
import type { Outbox, OutboxEvent, StuckRow } from './types.ts';

const POLL_MS = 3000;

const EVENT_COLUMNS: TableColumn<OutboxEvent>[] = [
  { name: 'name', label: 'Event', render: ({ name }) => <code>{name}</code> },
  { name: 'waiting', label: 'Waiting', isNumber: true, render: ({ waiting }) => numberText(waiting) },
  { name: 'oldest', label: 'Oldest', isNumber: true, render: ({ oldestSeconds }) => durationText(oldestSeconds) },
  {
    name: 'failing',
    label: 'Failed so far',
    isNumber: true,
    render: ({ failing, attempts }) => (failing > 0 ? `${numberText(failing)}, up to ${attempts} attempts` : '0'),
  },
];

/** Whether the relay processes a row only at its next attempt. */
const isDeferred = ({ availableAt }: StuckRow) => Date.parse(availableAt) > Date.now();

function StuckItem({ row, onRetry }: { row: StuckRow; onRetry: () => Promise<void> }) {
  const { id, name, resource, record, attempts, error, createdAt, availableAt } = row;
  const retry = async () => {
    await call(`/operations/outbox/${id}/retry`, { method: 'POST' });
    await onRetry();
  };
  return (
    <li>
      <div class="operations-row-head">
        <span>
          <code>{name}</code>{' '}
          {record && (
            <span class="soft">
              {resource} {record}
            </span>
          )}
        </span>
        {isDeferred(row) && (
          <ActionButton run={retry} done="The relay processes the row now" label={`Retry row ${id} now`}>
            Retry now
          </ActionButton>
        )}
      </div>
      <p class="soft">
        Row {id}, happened <Time value={createdAt} />,
        {attempts === 0 ? (
          ' not processed yet'
        ) : (
          <>
            {' '}
            {attempts} {attempts === 1 ? 'attempt' : 'attempts'} failed, next <Time value={availableAt} />
          </>
        )}
      </p>
      {error && <pre class="operations-error">{error}</pre>}
    </li>
  );
}

function OutboxRows({ outbox, onRetry }: { outbox: Outbox; onRetry: () => Promise<void> }) {
  const { rows, isCapped, events, stuck } = outbox;
  if (rows === 0)
    return (
      <Nothing title="Nothing waits">
        <p>
          Each change of a record adds a row to the outbox, in the same transaction. The relay turns it into webhooks,
          pushes and other work, usually within milliseconds.
        </p>
      </Nothing>
    );
  return (
    <>
      <p class="part-text soft operations-lead">
        {numberText(rows)}
        {isCapped ? ' or more' : ''} rows wait for the relay.
      </p>
      <DataTable label="Outbox rows by event" rows={events} columns={EVENT_COLUMNS} keyOf={({ name }) => name} />
      {stuck.length > 0 && (
        <>
          <h3 class="operations-subhead">Rows that failed or wait for more than a minute</h3>
          <ul class="operations-list">
            {stuck.map((row) => (
              <StuckItem key={row.id} row={row} onRetry={onRetry} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** The rows that wait for the relay. */
export function OutboxSection() {
  const outbox = useLoaded<Outbox>('/operations/outbox', { everyMs: POLL_MS });
  const retryAll = async () => {
    await call('/operations/outbox/retry', { method: 'POST' });
    await outbox.reload();
  };
  const hasDeferred = outbox.data?.stuck.some(isDeferred);
  return (
    <Section
      title="Outbox"
      actions={
        hasDeferred && (
          <ActionButton
            run={retryAll}
            done="The relay processes the rows now"
            confirm={{
              title: 'Retry all failed rows now?',
              text: 'The relay processes every row that waits for its next attempt.',
              action: 'Retry all',
            }}
          >
            Retry all now
          </ActionButton>
        )
      }
    >
      <Loaded from={outbox}>{(data) => <OutboxRows outbox={data} onRetry={outbox.reload} />}</Loaded>
    </Section>
  );
}
