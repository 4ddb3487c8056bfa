import {
  ActionButton,
  call,
  DataTable,
  Loaded,
  Nothing,
  RecordLink,
  Section,
  Status,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { durationText, numberText } from './format.tsx';
import { texts } from './texts.ts';
import type { Outbox, OutboxEvent, StuckRow } from './types.ts';

const { outbox: words } = texts;
const POLL_MS = 3000;

const EVENT_COLUMNS: TableColumn<OutboxEvent>[] = [
  { name: 'name', label: words.event, render: ({ name }) => <code>{name}</code> },
  { name: 'waiting', label: words.waiting, isNumber: true, render: ({ waiting }) => numberText(waiting) },
  { name: 'oldest', label: words.oldest, isNumber: true, render: ({ oldestSeconds }) => durationText(oldestSeconds) },
  {
    name: 'failing',
    label: words.failing,
    isNumber: true,
    render: ({ failing, attempts }) =>
      failing > 0 ? words.failingValue(numberText(failing), numberText(attempts)) : '0',
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
          <code>{name}</code> {record && resource && <RecordLink resource={resource} id={record} />}{' '}
          <Status kind={attempts > 0 ? 'warn' : 'neutral'}>
            {attempts > 0 ? words.states.retry : words.states.waiting}
          </Status>
        </span>
        {isDeferred(row) && (
          <ActionButton run={retry} done={words.retried} label={words.retryLabel(id)}>
            {words.retry}
          </ActionButton>
        )}
      </div>
      <p class="soft">
        {words.row(id)} <Time value={createdAt} />,{' '}
        {attempts === 0 ? (
          words.notYet
        ) : (
          <>
            {words.attempts(numberText(attempts))} <Time value={availableAt} />
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
      <Nothing title={words.none}>
        <p>{words.noneNote}</p>
      </Nothing>
    );
  return (
    <>
      <p class="part-text soft operations-lead">{(isCapped ? words.rowsOrMore : words.rows)(numberText(rows))}</p>
      <DataTable label={words.table} rows={events} columns={EVENT_COLUMNS} keyOf={({ name }) => name} />
      {stuck.length > 0 && (
        <>
          <h3 class="operations-subhead">{words.stuck}</h3>
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
      title={words.title}
      actions={
        hasDeferred && (
          <ActionButton
            run={retryAll}
            done={words.retriedAll}
            confirm={{
              title: words.retryAllTitle,
              text: words.retryAllText,
              action: words.retryAllAction,
            }}
          >
            {words.retryAll}
          </ActionButton>
        )
      }
    >
      <Loaded from={outbox}>{(data) => <OutboxRows outbox={data} onRetry={outbox.reload} />}</Loaded>
    </Section>
  );
}
