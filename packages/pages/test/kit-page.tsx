// The page of test/pages/kit.test.ts: each component of the kit once.
import '../src/kit/tokens.css';
import '../src/kit/base.css';
import '../src/kit/controls.css';
import '../src/kit/parts.css';
import '../src/kit/overlays.css';
import '@preact/signals';
import { render } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ActionButton } from '../src/kit/action-button.tsx';
import { ConfirmButton } from '../src/kit/confirm-button.tsx';
import { Code, Copyable } from '../src/kit/copy.tsx';
import { confirmAction, Dialog, Dialogs, openDialog } from '../src/kit/dialog.tsx';
import { FormField, focusFirstError } from '../src/kit/form-field.tsx';
import { Time } from '../src/kit/format.tsx';
import { IconButton } from '../src/kit/icons.tsx';
import { Choice, Facts, Figure, Nothing, Section, Status } from '../src/kit/parts.tsx';
import { RequestError } from '../src/kit/request.ts';
import { showError, showToast, Toasts } from '../src/kit/toasts.tsx';

function NameDialog({ close }: { close: (name: string | undefined) => void }) {
  const [name, setName] = useState('');
  return (
    <Dialog title="Name" onClose={() => close(undefined)}>
      <label>
        New name
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <footer>
        <button type="button" class="primary" onClick={() => close(name)}>
          Save
        </button>
      </footer>
    </Dialog>
  );
}

function DialogPart() {
  const [result, setResult] = useState('');
  const askName = async () => setResult(`name: ${await openDialog(NameDialog)}`);
  const askFirst = async () =>
    setResult(`confirmed: ${await confirmAction({ title: 'Delete it?', action: 'Delete', isDangerous: true })}`);
  return (
    <Section title="Dialogs">
      <button type="button" onClick={askName}>
        Change the name
      </button>{' '}
      <button type="button" class="danger" onClick={askFirst}>
        Delete it
      </button>
      <p id="result">{result}</p>
    </Section>
  );
}

/** At 2 in the night of 13 March 2030 in Berlin: two days ago by the calendar, the day before, hours ago, and tomorrow. */
const TimesPart = () => (
  <Section title="Times">
    <Time value="2030-03-11T19:00:00Z" /> <Time value="2030-03-12T00:30:00Z" /> <Time value="2030-03-12T20:00:00Z" />{' '}
    <Time value="2030-03-14T17:00:00Z" isAbsolute={true} />
  </Section>
);

const ERRORS = { city: 'must be a city', 'place.street': 'is missing' };

function FormPart() {
  const [errors, setErrors] = useState<Record<string, string>>({});
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    setErrors(ERRORS);
    focusFirstError(form.current);
  };
  return (
    <form class="stack" ref={form} onSubmit={submit}>
      <FormField form="test" name="name" label="Name" errors={errors}>
        {(control) => <input {...control} />}
      </FormField>
      <FormField form="test" name="city" label="City" hint="Where you live" errors={errors}>
        {(control) => <input {...control} />}
      </FormField>
      <FormField form="test" name="place" label="Place" errors={errors}>
        {(control) => <textarea {...control} />}
      </FormField>
      <button type="submit" class="primary">
        Send
      </button>
    </form>
  );
}

function Messages() {
  const [undone, setUndone] = useState(false);
  const refuse = () => showError(new RequestError(422, 'Refused.', { details: { city: 'must be a city' } }));
  return (
    <Section title="Messages">
      <button
        type="button"
        onClick={() => showToast('Saved', { action: { label: 'Undo', run: () => setUndone(true) } })}
      >
        Save
      </button>{' '}
      <button type="button" onClick={refuse}>
        Fail
      </button>{' '}
      <ActionButton run={() => Promise.reject(new RequestError(0, 'The server cannot be reached.'))}>Send</ActionButton>
      {undone && <p>Undone</p>}
    </Section>
  );
}

function Parts() {
  const [view, setView] = useState<'text' | 'code'>('text');
  return (
    <Section title="Parts" actions={<IconButton icon="more" label="More" />}>
      <Choice
        label="View"
        options={[
          ['text', 'Text'],
          ['code', 'Code'],
        ]}
        value={view}
        onChange={setView}
      />
      <p>
        <Status kind="good">sent</Status> <Status kind="warn">late</Status> <Status kind="bad">failed</Status>{' '}
        <Status kind="neutral">waiting</Status> <Time value="2020-01-02T03:04:05.000Z" />
      </p>
      <Facts
        of={[
          ['Name', 'Ada'],
          ['Nickname', undefined],
        ]}
      />
      <div class="figures">
        <Figure label="Failed" value={1234} kind="bad" note="in a day" />
      </div>
      <Nothing title="Nothing yet">
        <p>Records appear here.</p>
      </Nothing>
      <Code text="npm test" label="Command" />
    </Section>
  );
}

function KitPage() {
  const [confirmed, setConfirmed] = useState(0);
  return (
    <main>
      <h1>Kit</h1>
      <DialogPart />
      <FormPart />
      <Messages />
      <Section title="Confirmation">
        <ConfirmButton
          label="Rotate the secret"
          question="The former secret stops working."
          confirm="Rotate"
          kind="danger"
          onConfirm={() => setConfirmed(confirmed + 1)}
        />
        <p>Confirmed: {confirmed}</p>
      </Section>
      <Section title="Copies">
        <Copyable text="whsec_123" label="secret" />
        <Copyable text={'first line\nsecond line'} label="example" block />
      </Section>
      <Parts />
      <TimesPart />
      <Dialogs />
      <Toasts />
    </main>
  );
}

const root = document.getElementById('app');
if (root !== null) render(<KitPage />, root);
