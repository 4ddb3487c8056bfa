import { useState } from 'preact/hooks';
import { loadPasskeys, PasskeySection } from './account-passkeys.tsx';
import { EmailSection, loadWays, PasswordSection, WaysSection } from './account-sign-in.tsx';
import { TwoFactorSection } from './account-two-factor.tsx';
import type { Session, TwoFactorStatus, User } from './responses.ts';
import { forgetSession, offers, pagePath, requestAsUser } from './session.ts';
import { useLoaded } from './start.ts';
import { texts, timeText } from './texts.ts';
import { Button, Section, useReportDone, View } from './view.tsx';

const { account: text } = texts;

function leaveSignedOut() {
  forgetSession();
  location.replace(pagePath('sign-in'));
}

/** A short name for a browser: the text that it sends is long, and only partly meant for people. */
function deviceName(userAgent: string): string {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1];
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(userAgent)?.[1];
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };
  const parts = [browser, system].filter((part) => part !== undefined).map((part) => names[part] ?? part);
  return parts.join(', ') || userAgent.slice(0, 60) || text.unknownDevice;
}

function SessionItem({ session, onEnded }: { session: Session; onEnded: () => Promise<void> }) {
  const device = deviceName(session.userAgent);
  const used = timeText(session.lastUsedAt);
  async function end() {
    await requestAsUser('DELETE', `/auth/sessions/${session.id}`);
    await onEnded();
  }
  return (
    <li class="item">
      <div>
        <strong>{device}</strong>
        {session.current && (
          <>
            {' '}
            <span class="badge">{text.thisSession}</span>
          </>
        )}
        <p class="hint">{text.sessionUsed(used, session.ip)}</p>
      </div>
      {!session.current && (
        <Button label={text.endSession(device, used)} run={end}>
          {text.end}
        </Button>
      )}
    </li>
  );
}

const loadSessions = () => requestAsUser<Session[]>('GET', '/auth/sessions');

function SessionList({ loaded }: { loaded: readonly Session[] }) {
  const [sessions, setSessions] = useState(loaded);
  const reportDone = useReportDone();
  async function onEnded() {
    setSessions(await loadSessions());
    reportDone(text.ended);
  }
  return (
    <ul class="items">
      {sessions.map((session) => (
        <SessionItem key={session.id} session={session} onEnded={onEnded} />
      ))}
    </ul>
  );
}

async function endAllSessions() {
  await requestAsUser('POST', '/auth/logout-all');
  leaveSignedOut();
}

async function signOut() {
  await requestAsUser('POST', '/auth/logout');
  leaveSignedOut();
}

async function loadAccount() {
  // First of all, so that a session that has ended costs one request.
  const methods = await requestAsUser<string[]>('GET', '/auth/sign-in-methods');
  const [user, ways, passkeys, twoFactor, sessions] = await Promise.all([
    requestAsUser<User>('GET', '/auth/me'),
    loadWays(),
    offers('passkeys') ? loadPasskeys() : undefined,
    offers('twoFactor') ? requestAsUser<TwoFactorStatus>('GET', '/auth/2fa') : undefined,
    loadSessions(),
  ]);
  return { hasPassword: methods.includes('password'), user, ways, passkeys, twoFactor, sessions };
}

/** See and change everything about the account. */
export function Page() {
  const account = useLoaded(loadAccount);
  if (account === undefined) return null;
  const { hasPassword, user, ways, passkeys, twoFactor, sessions } = account;
  return (
    <View heading={text.heading}>
      <EmailSection user={user} />
      <PasswordSection hasPassword={hasPassword} />
      <WaysSection loaded={ways} />
      {passkeys !== undefined && <PasskeySection loaded={passkeys} />}
      {twoFactor !== undefined && <TwoFactorSection loaded={twoFactor} hasPassword={hasPassword} />}
      <Section heading={text.sessionsHeading}>
        <SessionList loaded={sessions} />
        <Button run={endAllSessions}>{text.endAll}</Button>
      </Section>
      <Button run={signOut}>{text.signOut}</Button>
    </View>
  );
}
