import { button, element, link, showProblem, showView } from './dom.js';
import { createForm, emailField, passwordField } from './form.js';
import { listProviders, startSignIn } from './oidc.js';
import { signInWithPasskey, supportsPasskeys } from './passkeys.js';
import { continueSignIn, offers, pagePath, request } from './session.js';
import { texts } from './texts.js';

const { signIn } = texts;

/** The key in sessionStorage of an address that another page knows: typed by the user, or that of an invitation. */
const KNOWN_EMAIL_KEY = 'belfry.email';

/** Passes an address to the pages that ask for one. */
export const rememberEmail = (email) => sessionStorage.setItem(KNOWN_EMAIL_KEY, email);

/** The address that another page knows, or an empty text. */
export const knownEmail = () => sessionStorage.getItem(KNOWN_EMAIL_KEY) ?? '';

/** The offer of passkeys in the e-mail field, which must end before another request for a passkey starts. */
let offer;

/** Lets the browser offer passkeys in the field, once the user enters it: each offer costs a request that is limited. */
function offerPasskeysIn(field) {
  field.addEventListener('focus', async () => {
    if (offer !== undefined || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
    offer = new AbortController();
    try {
      continueSignIn(await signInWithPasskey({ mediation: 'conditional', signal: offer.signal }));
    } catch (error) {
      if (error.isAborted) return;
      offer = undefined;
      // The user has not asked for anything, so only a refusal of the server is reported.
      if (error.status !== undefined) showProblem(error.message, field);
    }
  });
}

async function usePasskey() {
  offer?.abort();
  continueSignIn(await signInWithPasskey());
}

export async function showPage() {
  const providers = offers('providers') ? await listProviders().catch(() => []) : [];
  const hasPasskeys = offers('passkeys') && supportsPasskeys();
  const form = createForm({
    fields: [
      emailField({ autocomplete: hasPasskeys ? 'username webauthn' : 'username', value: knownEmail() }),
      passwordField(),
    ],
    submit: signIn.submit,
    send: async (values) => continueSignIn(await request('POST', '/auth/login', values)),
  });
  const emailInput = form.elements.namedItem('email');
  if (hasPasskeys) offerPasskeysIn(emailInput);

  function openEmailPage() {
    rememberEmail(emailInput.value.trim());
    location.assign(pagePath('email'));
  }

  const others = [
    ...(hasPasskeys ? [button(signIn.passkey, usePasskey)] : []),
    ...(offers('emailSignIn') ? [button(signIn.email, openEmailPage)] : []),
    ...providers.map(({ provider, name }) => button(signIn.provider(name), () => startSignIn(provider))),
  ];
  showView(
    signIn.heading,
    form,
    offers('reset') ? element('p', {}, link(pagePath('forgot'), signIn.forgot)) : undefined,
    ...(others.length > 0 ? [element('p.divider', {}, texts.or), element('section.ways', {}, ...others)] : []),
    offers('register')
      ? element('p.footer', {}, `${signIn.noAccount} `, link(pagePath('register'), signIn.register))
      : undefined,
  );
}
