import { askToRemove, withRecentSignIn } from './confirm.js';
import { button, element, reportDone, timeText } from './dom.js';
import { codeField, createForm } from './form.js';
import { addPasskey } from './passkeys.js';
import { offers, requestAsUser } from './session.js';
import { texts } from './texts.js';

const { passkeys: text, account } = texts;

const nameField = (options) => ({ name: 'name', label: texts.fields.passkeyName, autocomplete: 'off', ...options });

function passkeyItem({ id, name, createdAt, lastUsedAt }, refresh) {
  const path = `/auth/passkeys/${id}`;
  async function remove() {
    if (!(await askToRemove(account.removeQuestion(name), account.remove))) return;
    await withRecentSignIn(() => requestAsUser('DELETE', path));
    await refresh(account.removed);
  }
  const rename = createForm({
    fields: [nameField({ value: name, required: true })],
    submit: text.save,
    kind: 'secondary',
    async send(values) {
      await requestAsUser('PATCH', path, values);
      await refresh(account.done);
    },
  });
  const summary = element('summary', { 'aria-label': text.renameLabel(name) }, text.rename);
  const used = lastUsedAt === null ? text.unused(timeText(createdAt)) : text.used(timeText(lastUsedAt));
  return element(
    'li.item',
    {},
    element('div', {}, element('strong', {}, name), element('p.hint', {}, used)),
    button(account.remove, remove, { label: account.removeIdentity(name) }),
    element('details', {}, summary, rename),
  );
}

/** Creates the form that adds a passkey. With two-factor login on, it needs a code. */
function addForm(needsCode, refresh) {
  const code = codeField({ hint: texts.hints.authenticatorCode, inputmode: 'text' });
  return createForm({
    fields: [nameField({ value: text.defaultName }), ...(needsCode ? [code] : [])],
    submit: text.add,
    kind: 'secondary',
    async send(values) {
      await withRecentSignIn(() => addPasskey(values));
      await refresh(text.added);
    },
  });
}

/** The section of the account page about passkeys. */
export async function passkeySection() {
  const list = element('ul.items');
  const details = element('details');
  async function refresh(done) {
    const [passkeys, status] = await Promise.all([
      requestAsUser('GET', '/auth/passkeys'),
      offers('twoFactor') ? requestAsUser('GET', '/auth/2fa') : undefined,
    ]);
    const none = element('li.hint', {}, text.none);
    const items = passkeys.map((passkey) => passkeyItem(passkey, refresh));
    list.replaceChildren(...(items.length > 0 ? items : [none]));
    details.open = false;
    details.replaceChildren(element('summary', {}, text.add), addForm(status?.enabled === true, refresh));
    if (done !== undefined) reportDone(done, list);
  }
  await refresh();
  return element('section', {}, element('h2', {}, text.heading), list, details);
}
