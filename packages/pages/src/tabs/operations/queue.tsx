import { ActionButton, call, DataTable, Loaded, Nothing, Page, Section, Time, useLoaded } from '../../console/kit.ts';
import { POLL_MS, QUEUE_COLUMNS, QUEUES } from './queues.tsx';
import type { FailedEntry, Queue } from './types.ts';

function FailedItem(props: { queue: string; entry: FailedEntry; onChange: () => Promise<void> }) {
  const { queue, entry, onChange } = props;
  const path = `/operations/queues/${encodeURIComponent(queue)}/failed/${encodeURIComponent(entry.id)}`;
  const change = (suffix: string, method: string) => async () => {
    await call(path + suffix, { method });
    await onChange();
  };
  const question = {
    title: 'Remove this entry?',
    text: 'Its row in Postgres stays as it is.',
    action: 'Remove',
    isDangerous: true,
  };
  return (
    <li>
      <div class="operations-row-head">
        <span>
          <b>{entry.name}</b> <code>{entry.id}</code>
        </span>
        <span class="actions">
          <ActionButton run={change('/retry', 'POST')} done="The entry waits again" label={`Retry ${entry.id}`}>
            Retry
          </ActionButton>
          <ActionButton
            kind="danger quiet"
            run={change('', 'DELETE')}
            confirm={question}
            done="The entry is removed"
            label={`Remove ${entry.id}`}
          >
            Remove
          </ActionButton>
        </span>
      </div>
      <p class="soft">
        Failed <Time value={entry.at} /> after {entry.attempts} {entry.attempts === 1 ? 'attempt' : 'attempts'}
        {entry.row && (
          <>
            , row <code>{entry.row}</code>
          </>
        )}
      </p>
      <pre class="operations-error">{entry.error}</pre>
    </li>
  );
}

function FailedEntries({ queue }: { queue: string }) {
  const failed = useLoaded<FailedEntry[]>(`/operations/queues/${encodeURIComponent(queue)}/failed`);
  if (failed.data?.length === 0) return null;
  return (
    <Section title="Kept failed entries">
      <Loaded from={failed}>
        {(entries) => (
          <ul class="operations-list">
            {entries.map((entry) => (
              <FailedItem key={entry.id} queue={queue} entry={entry} onChange={failed.reload} />
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  );
}

function RecentFailures({ failures }: Pick<Queue, 'failures'>) {
  if (failures.length === 0)
    return (
      <Nothing title="No failure">
        <p>
          When an entry fails, its error appears here until the process restarts. The work itself is retried: its row
          stays in Postgres, and the relay adds it again.
        </p>
      </Nothing>
    );
  return (
    <ul class="operations-list">
      {failures.map(({ id, name, error, at }) => (
        <li key={`${id} ${at}`}>
          <div class="operations-row-head">
            <span>
              <b>{name}</b> <code>{id}</code>
            </span>
            <span class="soft">
              <Time value={at} />
            </span>
          </div>
          <pre class="operations-error">{error}</pre>
        </li>
      ))}
    </ul>
  );
}

/** A queue with its failures. */
export function QueuePage({ name }: { name: string }) {
  const queues = useLoaded<Queue[]>('/operations/queues', { everyMs: POLL_MS });
  const back = { href: QUEUES, label: 'Queues and outbox' };
  return (
    <Page title={name} back={back} intro="A queue of entries that point to rows in Postgres.">
      <Loaded from={queues}>
        {(rows) => {
          const queue = rows.find((one) => one.name === name);
          if (queue === undefined)
            return (
              <Nothing title="There is no such queue">
                <p>No process has worked on it within a week.</p>
              </Nothing>
            );
          return (
            <>
              <DataTable
                label="State of the queue"
                rows={[queue]}
                columns={QUEUE_COLUMNS.slice(1)}
                keyOf={() => name}
              />
              <Section title="Recent failures">
                <RecentFailures failures={queue.failures} />
              </Section>
              {queue.failed > 0 && <FailedEntries queue={name} />}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
