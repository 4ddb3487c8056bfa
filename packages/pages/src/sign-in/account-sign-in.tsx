import { useState } from 'preact/hooks';
import { askToRemove, withRecentSignIn } from './confirm.tsx';
import { NewPasswordField, PasswordField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import { listProviders, startLink } from './oidc.ts';
import { ProviderIcon } from './provider-icon.tsx';
import type { Identity, Provider, User } from './responses.ts';
import { offers, requestAsUser } from './session.ts';
import { texts } from './texts.ts';
import { Button, Disclosure, Section, useReportDone } from './view.tsx';

const { account: text } = texts;

/** The section of the account page about the address. */
export function EmailSection({ user: { email, emailVerifiedAt } }: { user: User }) {
  const isConfirmed = typeof emailVerifiedAt === 'string';
  const needsConfirmation = offers('emailVerification') && !isConfirmed;
  return (
    <Section heading={text.emailHeading}>
      <p>
        {email}{' '}
        {offers('emailVerification') && <span class="badge">{isConfirmed ? text.confirmed : text.notConfirmed}</span>}
      </p>
      {(needsConfirmation || offers('emailChange')) && (
        <p class="links">
          {needsConfirmation && <a href="/auth/verify">{text.confirmEmail}</a>}
          {offers('emailChange') && <a href="/auth/change-email">{text.changeEmail}</a>}
        </p>
      )}
    </Section>
  );
}

function PasswordForm({ hasPassword, onChanged }: { hasPassword: boolean; onChanged: () => void }) {
  const reportDone = useReportDone();
  async function send(values: FormValues) {
    await withRecentSignIn(() => requestAsUser('POST', '/auth/password', values));
    onChanged();
    reportDone(text.passwordChanged);
  }
  const submit = hasPassword ? text.changePassword : text.setPassword;
  return (
    <Disclosure summary={submit}>
      <Form submit={submit} kind="secondary" send={send}>
        {hasPassword && <PasswordField name="currentPassword" label={texts.fields.currentPassword} />}
        <NewPasswordField name="newPassword" />
      </Form>
    </Disclosure>
  );
}

/** The section of the account page about the password. @param props `hasPassword`: whether the user has one when the page opens */
export function PasswordSection({ hasPassword }: { hasPassword: boolean }) {
  const [changes, setChanges] = useState(0);
  return (
    <Section heading={text.passwordHeading}>
      <PasswordForm key={changes} hasPassword={hasPassword || changes > 0} onChanged={() => setChanges(changes + 1)} />
    </Section>
  );
}

/** The ways to sign in of the user, and the providers of the app. */
interface LoadedWays {
  methods: readonly string[];
  identities: readonly Identity[];
  providers: readonly Provider[];
}

/** Reads what the section shows. */
export async function loadWays(): Promise<LoadedWays> {
  const [methods, identities, providers] = await Promise.all([
    requestAsUser<string[]>('GET', '/auth/sign-in-methods'),
    requestAsUser<Identity[]>('GET', '/auth/identities'),
    offers('providers') ? listProviders() : [],
  ]);
  return { methods, identities, providers };
}

function IdentityItem({
  identity: { id, email },
  name,
  onRemoved,
}: {
  identity: Identity;
  name: string;
  onRemoved: () => Promise<void>;
}) {
  async function remove() {
    if (!(await askToRemove(text.removeQuestion(name), text.remove))) return;
    await withRecentSignIn(() => requestAsUser('DELETE', `/auth/identities/${id}`));
    await onRemoved();
  }
  return (
    <li class="item">
      <div>
        <strong>{text.way(name)}</strong>
        <p class="hint">{email}</p>
      </div>
      <Button label={text.removeIdentity(name)} run={remove}>
        {text.remove}
      </Button>
    </li>
  );
}

function Ways({ loaded }: { loaded: LoadedWays }) {
  const [{ methods, identities, providers }, setShown] = useState(loaded);
  const reportDone = useReportDone();
  async function onRemoved() {
    setShown(await loadWays());
    reportDone(text.removed);
  }
  const names = new Map(Object.entries(text.ways));
  const nameOf = (provider: string) => providers.find((one) => one.provider === provider)?.name ?? provider;
  const linked = new Set(identities.map(({ provider }) => provider));
  const open = providers.filter(({ provider }) => !linked.has(provider));
  return (
    <>
      <ul class="items">
        {methods
          .filter((method) => !method.startsWith('oidc:'))
          .map((way) => (
            <li key={way} class="item">
              <strong>{names.get(way) ?? way}</strong>
            </li>
          ))}
        {identities.map((identity) => (
          <IdentityItem key={identity.id} identity={identity} name={nameOf(identity.provider)} onRemoved={onRemoved} />
        ))}
      </ul>
      <p class="ways">
        {open.map((one) => (
          <Button key={one.provider} run={() => withRecentSignIn(() => startLink(one))}>
            <ProviderIcon {...one} />
            {text.linkProvider(one.name)}
          </Button>
        ))}
      </p>
    </>
  );
}

/** The section of the account page about the ways to sign in and linked accounts. */
export function WaysSection({ loaded }: { loaded: LoadedWays }) {
  return (
    <Section heading={text.waysHeading}>
      <Ways loaded={loaded} />
    </Section>
  );
}
