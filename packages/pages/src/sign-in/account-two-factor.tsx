import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { withRecentSignIn } from './confirm.tsx';
import { CodeField, PasswordField, SecondFactorField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import type { RecoveryCodes, TwoFactorEnrolment, TwoFactorStatus } from './responses.ts';
import { requestAsUser } from './session.ts';
import { texts } from './texts.ts';
import { Button, Disclosure, Section, useReportDone } from './view.tsx';

const { twoFactorSettings: text } = texts;

type SettingsView =
  | { kind: 'status'; status: TwoFactorStatus }
  | { kind: 'enrolment'; enrolment: TwoFactorEnrolment }
  | { kind: 'recoveryCodes'; codes: readonly string[] };

type Show = (view: SettingsView) => void;

const showCodes = (show: Show, { recoveryCodes: codes }: RecoveryCodes) => show({ kind: 'recoveryCodes', codes });

function EnrolForm({ hasPassword, show }: { hasPassword: boolean; show: Show }) {
  async function enrol(values: FormValues) {
    const enrolment = await withRecentSignIn(() =>
      requestAsUser<TwoFactorEnrolment>('POST', '/auth/2fa/enrol', values),
    );
    show({ kind: 'enrolment', enrolment });
  }
  return (
    <Form submit={text.enrol} kind="secondary" send={enrol}>
      {hasPassword && <PasswordField />}
    </Form>
  );
}

function Enrolment({ enrolment: { secret, otpauthUrl, qrCode }, show }: { enrolment: TwoFactorEnrolment; show: Show }) {
  return (
    <>
      <p>{text.scan}</p>
      <img class="qr" src={qrCode} alt={text.qrCode} />
      <p>
        {text.secret} <code>{secret}</code>
      </p>
      <p>
        <a href={otpauthUrl}>{text.openApp}</a>
      </p>
      <Form
        submit={text.confirm}
        send={async ({ code }) =>
          showCodes(show, await requestAsUser<RecoveryCodes>('POST', '/auth/2fa/confirm', { code }))
        }
      >
        <CodeField />
      </Form>
    </>
  );
}

function RecoveryCodeList({ codes, onKept }: { codes: readonly string[]; onKept: () => Promise<void> }) {
  return (
    <>
      <h3 tabindex={-1}>{text.recoveryHeading}</h3>
      <p>{text.recoveryIntro}</p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <Button run={onKept}>{text.recoveryDone}</Button>
    </>
  );
}

function RenewForm({ show }: { show: Show }) {
  async function renew(values: FormValues) {
    showCodes(show, await requestAsUser<RecoveryCodes>('POST', '/auth/2fa/recovery-codes', values));
  }
  return (
    <Form submit={text.renew} kind="secondary" send={renew}>
      <SecondFactorField />
    </Form>
  );
}

function DisableForm({ hasPassword, onDisabled }: { hasPassword: boolean; onDisabled: () => Promise<void> }) {
  async function disable(values: FormValues) {
    await withRecentSignIn(() => requestAsUser('POST', '/auth/2fa/disable', values));
    await onDisabled();
  }
  return (
    <Form submit={text.disable} kind="danger" send={disable}>
      {hasPassword && <PasswordField />}
      <SecondFactorField />
    </Form>
  );
}

/** The settings of two-factor login. @param props `hasPassword`: whether changes need the password */
function Settings({ loaded, hasPassword }: { loaded: TwoFactorStatus; hasPassword: boolean }) {
  const [view, show] = useState<SettingsView>({ kind: 'status', status: loaded });
  const reportDone = useReportDone();
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // The control that had the focus is gone.
    if (view.kind !== 'status') body.current?.querySelector<HTMLElement>('h3, input')?.focus();
  }, [view]);

  async function showStatus(done: string) {
    show({ kind: 'status', status: await requestAsUser<TwoFactorStatus>('GET', '/auth/2fa') });
    reportDone(done);
  }
  return (
    <div ref={body}>
      {view.kind === 'enrolment' && <Enrolment enrolment={view.enrolment} show={show} />}
      {view.kind === 'recoveryCodes' && (
        <RecoveryCodeList codes={view.codes} onKept={() => showStatus(texts.account.done)} />
      )}
      {view.kind === 'status' && !view.status.enabled && (
        <>
          <p>{text.off}</p>
          <Disclosure summary={text.enrol}>
            <EnrolForm hasPassword={hasPassword} show={show} />
          </Disclosure>
        </>
      )}
      {view.kind === 'status' && view.status.enabled && (
        <>
          <p>{text.on(view.status.recoveryCodesLeft)}</p>
          <Disclosure summary={text.renew}>
            <RenewForm show={show} />
          </Disclosure>
          <Disclosure summary={text.disable}>
            <DisableForm hasPassword={hasPassword} onDisabled={() => showStatus(text.disabled)} />
          </Disclosure>
        </>
      )}
    </div>
  );
}

/** The section of the account page about two-factor login. */
export function TwoFactorSection(props: { loaded: TwoFactorStatus; hasPassword: boolean }) {
  return (
    <Section heading={text.heading}>
      <Settings {...props} />
    </Section>
  );
}
