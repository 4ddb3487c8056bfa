import { askToRemove, withRecentSignIn } from './confirm.js';
import { button, element, link, reportDone } from './dom.js';
import { createForm, newPasswordField, passwordField } from './form.js';
import { listProviders, startLink } from './oidc.js';
import { offers, requestAsUser } from './session.js';
import { texts } from './texts.js';

const { account: text } = texts;

async function emailSection() {
  const { email, emailVerifiedAt } = await requestAsUser('GET', '/auth/me');
  const isConfirmed = typeof emailVerifiedAt === 'string';
  const badge = element('span.badge', {}, isConfirmed ? text.confirmed : text.notConfirmed);
  const links = [
    ...(offers('emailVerification') && !isConfirmed ? [link('/auth/verify', text.confirmEmail)] : []),
    ...(offers('emailChange') ? [link('/auth/change-email', text.changeEmail)] : []),
  ];
  return element(
    'section',
    {},
    element('h2', {}, text.emailHeading),
    element('p', {}, email, ' ', offers('emailVerification') ? badge : undefined),
    links.length > 0 ? element('p.links', {}, ...links) : undefined,
  );
}

function passwordSection(hasPassword) {
  const current = passwordField({ name: 'currentPassword', label: texts.fields.currentPassword });
  const submit = hasPassword ? text.changePassword : text.setPassword;
  const form = createForm({
    fields: [...(hasPassword ? [current] : []), newPasswordField({ name: 'newPassword' })],
    submit,
    kind: 'secondary',
    async send(values) {
      await withRecentSignIn(() => requestAsUser('POST', '/auth/password', values));
      const changed = passwordSection(true);
      section.replaceWith(changed);
      reportDone(text.passwordChanged, changed);
    },
  });
  const details = element('details', {}, element('summary', {}, submit), form);
  const section = element('section', {}, element('h2', {}, text.passwordHeading), details);
  return section;
}

function identityItem({ id, email }, name, list, refresh) {
  async function remove() {
    if (!(await askToRemove(text.removeQuestion(name), text.remove))) return;
    await withRecentSignIn(() => requestAsUser('DELETE', `/auth/identities/${id}`));
    await refresh();
    reportDone(text.removed, list);
  }
  const about = element('div', {}, element('strong', {}, text.way(name)), element('p.hint', {}, email ?? ''));
  return element('li.item', {}, about, button(text.remove, remove, { label: text.removeIdentity(name) }));
}

async function waysSection() {
  const list = element('ul.items');
  const links = element('p.ways');
  const providers = offers('providers') ? await listProviders() : [];
  const nameOf = (provider) => providers.find((one) => one.provider === provider)?.name ?? provider;
  async function refresh() {
    const [methods, identities] = await Promise.all([
      requestAsUser('GET', '/auth/sign-in-methods'),
      requestAsUser('GET', '/auth/identities'),
    ]);
    const ways = methods.filter((method) => !method.startsWith('oidc:'));
    list.replaceChildren(
      ...ways.map((way) => element('li.item', {}, element('strong', {}, text.ways[way] ?? way))),
      ...identities.map((identity) => identityItem(identity, nameOf(identity.provider), list, refresh)),
    );
    const linked = new Set(identities.map(({ provider }) => provider));
    const open = providers.filter(({ provider }) => !linked.has(provider));
    links.replaceChildren(
      ...open.map((one) => button(text.linkProvider(one.name), () => withRecentSignIn(() => startLink(one)))),
    );
  }
  await refresh();
  return element('section', {}, element('h2', {}, text.waysHeading), list, links);
}

/** The sections of the account page about the address, the password and linked accounts. */
export async function signInSections(methods) {
  const [email, ways] = await Promise.all([emailSection(), waysSection()]);
  return [email, passwordSection(methods.includes('password')), ways];
}
