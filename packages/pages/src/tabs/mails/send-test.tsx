import { useEffect, useState } from 'preact/hooks';
import { ActionButton, call, Loaded, Section, Status, Time, useLoaded } from '../../console/kit.ts';
import { texts } from './texts.ts';
import type { TestProgress } from './types.ts';

const READ_EVERY_MS = 1000;
/** A worker that runs takes an e-mail within this time. */
const WORKER_MS = 10_000;
const ROLE = 'push-worker';

/** Why a test was not sent: in words, and as the mail server says it. */
function Problem({ progress: { status, problem, error, dueAt } }: { progress: TestProgress }) {
  if (problem === null) return null;
  const isRetried = status === 'queued';
  return (
    <>
      <p>
        <Status kind={isRetried ? 'warn' : 'bad'}>{isRetried ? texts.test.retry : texts.test.failed}</Status>{' '}
        {texts.problems[problem]}{' '}
        {isRetried && (
          <>
            {texts.test.nextAttempt} <Time value={dueAt} />
          </>
        )}
      </p>
      {error !== null && (
        <p class="mails-answer">
          <span class="soft">{texts.test.answer}</span> <code>{error}</code>
        </p>
      )}
    </>
  );
}

function Outcome({ progress, isLate }: { progress: TestProgress; isLate: boolean }) {
  if (progress.status === 'sent') return <Status kind="good">{texts.test.sent}</Status>;
  if (progress.problem !== null) return <Problem progress={progress} />;
  return (
    <>
      <Status kind="neutral">{texts.test.waiting}</Status>
      {isLate && (
        <p>
          {texts.test.noWorker} <code>{ROLE}</code>
        </p>
      )}
    </>
  );
}

/** What has become of a test. It is read until the e-mail is sent or given up. */
function Progress({ id, since }: { id: string; since: number }) {
  const [isOver, setOver] = useState(false);
  const test = useLoaded<TestProgress>(`/mails/tests/${id}`, isOver ? {} : { everyMs: READ_EVERY_MS });
  useEffect(() => {
    if (test.data !== undefined && test.data.status !== 'queued') setOver(true);
  }, [test.data?.status]);
  return (
    <div role="status">
      <Loaded from={test}>
        {(progress) => <Outcome progress={progress} isLate={Date.now() - since > WORKER_MS} />}
      </Loaded>
    </div>
  );
}

/** Sends an e-mail with example values to the administrator, and follows it. `path`: of the e-mail, below `/console/api`. */
export function SendTest({ path, to }: { path: string; to: string | null }) {
  const [sent, setSent] = useState<{ id: string; since: number }>();
  const send = async () => {
    const { data } = await call<{ id: string }>(`${path}/test`, { method: 'POST' });
    setSent({ id: data.id, since: Date.now() });
  };
  const button = (
    <ActionButton run={send} disabled={to === null}>
      {texts.test.send}
    </ActionButton>
  );
  return (
    <Section title={texts.test.heading} actions={button}>
      <p class="soft">{to === null ? texts.test.noAddress : texts.test.recipient(to)}</p>
      {sent && <Progress key={sent.id} {...sent} />}
    </Section>
  );
}
