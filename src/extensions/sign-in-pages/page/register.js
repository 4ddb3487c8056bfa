import { element, link, showView } from './dom.js';
import { createForm, emailField, newPasswordField } from './form.js';
import { config, continueSignIn, pagePath, request } from './session.js';
import { knownEmail } from './sign-in.js';
import { labelFor, texts } from './texts.js';

const AUTOCOMPLETE = { name: 'name', phone: 'tel', company: 'organization' };

/** The fields of a new account, apart from the e-mail address. */
export function registrationFields() {
  const { fields, passwordRequired } = config.registration;
  return [
    ...fields.map((field) => ({
      ...field,
      label: labelFor(field.name),
      autocomplete: AUTOCOMPLETE[field.name] ?? 'off',
    })),
    newPasswordField({ label: texts.fields.password, required: passwordRequired }),
  ];
}

export function showPage() {
  const { heading, submit, hasAccount, signIn } = texts.register;
  const [name, ...others] = registrationFields();
  const form = createForm({
    fields: [name, emailField({ value: knownEmail() }), ...others],
    submit,
    send: async (values) => continueSignIn(await request('POST', '/auth/register', values)),
  });
  showView(heading, form, element('p.footer', {}, `${hasAccount} `, link(pagePath('sign-in'), signIn)));
}
