import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { askToRemove, needsSecondFactor, withRecentSignIn } from './confirm.tsx';
import { SecondFactorField } from './fields.tsx';
import { Field, type FieldProps, Form, type FormValues } from './form.tsx';
import { addPasskey } from './passkeys.ts';
import type { Passkey } from './responses.ts';
import { requestAsUser } from './session.ts';
import { texts, timeText } from './texts.ts';
import { Button, Disclosure, Section, useReportDone } from './view.tsx';

const { passkeys: text, account } = texts;

/** The passkeys of the user, and whether another one needs a code of the second factor. */
interface LoadedPasskeys {
  passkeys: readonly Passkey[];
  needsCode: boolean;
}

/** Reads what the section shows. */
export async function loadPasskeys(): Promise<LoadedPasskeys> {
  const [passkeys, needsCode] = await Promise.all([
    requestAsUser<Passkey[]>('GET', '/auth/passkeys'),
    needsSecondFactor(),
  ]);
  return { passkeys, needsCode };
}

/** Reads the passkeys again after a change, and reports it. */
type OnChanged = (done: string) => Promise<void>;

function NameField(props: Partial<FieldProps>) {
  return <Field name="name" label={texts.fields.passkeyName} autocomplete="off" {...props} />;
}

function PasskeyItem({
  passkey: { id, name, createdAt, lastUsedAt },
  onChanged,
}: {
  passkey: Passkey;
  onChanged: OnChanged;
}) {
  const path = `/auth/passkeys/${id}`;
  async function remove() {
    if (!(await askToRemove(account.removeQuestion(name), account.remove))) return;
    await withRecentSignIn(() => requestAsUser('DELETE', path));
    await onChanged(account.removed);
  }
  async function rename(values: FormValues) {
    await requestAsUser('PATCH', path, values);
    await onChanged(account.done);
  }
  return (
    <li class="item">
      <div>
        <strong>{name}</strong>
        <p class="hint">{lastUsedAt === null ? text.unused(timeText(createdAt)) : text.used(timeText(lastUsedAt))}</p>
      </div>
      <Button label={account.removeIdentity(name)} run={remove}>
        {account.remove}
      </Button>
      <Disclosure summary={text.rename} label={text.renameLabel(name)}>
        <Form submit={text.save} kind="secondary" send={rename}>
          <NameField value={name} required />
        </Form>
      </Disclosure>
    </li>
  );
}

function AddForm({ needsCode, onChanged }: { needsCode: boolean; onChanged: OnChanged }) {
  async function add(values: FormValues) {
    await withRecentSignIn(() => addPasskey(values));
    await onChanged(text.added);
  }
  return (
    <Form submit={text.add} kind="secondary" send={add}>
      <NameField value={text.defaultName} />
      {needsCode && <SecondFactorField />}
    </Form>
  );
}

function Passkeys({ loaded }: { loaded: LoadedPasskeys }) {
  const [{ passkeys, needsCode, round }, setShown] = useState({ ...loaded, round: 0 });
  const reportDone = useReportDone();
  async function onChanged(done: string) {
    const changed = await loadPasskeys();
    setShown((shown) => ({ ...changed, round: shown.round + 1 }));
    reportDone(done);
  }
  // The key closes the forms after each change.
  return (
    <Fragment key={round}>
      <ul class="items">
        {passkeys.map((passkey) => (
          <PasskeyItem key={passkey.id} passkey={passkey} onChanged={onChanged} />
        ))}
        {passkeys.length === 0 && <li class="hint">{text.none}</li>}
      </ul>
      <Disclosure summary={text.add}>
        <AddForm needsCode={needsCode} onChanged={onChanged} />
      </Disclosure>
    </Fragment>
  );
}

/** The section of the account page about passkeys. */
export function PasskeySection({ loaded }: { loaded: LoadedPasskeys }) {
  return (
    <Section heading={text.heading}>
      <Passkeys loaded={loaded} />
    </Section>
  );
}
