import { withRecentSignIn } from './confirm.js';
import { button, element, link, paragraph, reportDone } from './dom.js';
import { codeField, createForm, passwordField } from './form.js';
import { requestAsUser } from './session.js';
import { texts } from './texts.js';

const { twoFactorSettings: text } = texts;

/** A form behind a summary, which the user opens. */
const disclosed = (summary, form) => element('details', {}, element('summary', {}, summary), form);

/** The section of the account page about two-factor login. @param {boolean} hasPassword whether changes need the password */
export async function twoFactorSection(hasPassword) {
  const body = element('div');
  const password = hasPassword ? [passwordField()] : [];
  const anyCode = codeField({ hint: texts.hints.authenticatorCode, inputmode: 'text' });

  /** Replaces the content of the section, and moves the focus into it, because the control that had it is gone. */
  function show(...children) {
    body.replaceChildren(...children);
    body.querySelector('h3, input')?.focus();
  }

  function showRecoveryCodes(codes) {
    const heading = element('h3', { tabindex: '-1' }, text.recoveryHeading);
    const list = element('ul.codes', {}, ...codes.map((code) => element('li', {}, element('code', {}, code))));
    show(
      heading,
      paragraph(text.recoveryIntro),
      list,
      button(text.recoveryDone, async () => {
        await refresh();
        reportDone(texts.account.done, body);
      }),
    );
  }

  function showEnrolment({ secret, otpauthUrl, qrCode }) {
    const form = createForm({
      fields: [codeField()],
      submit: text.confirm,
      async send({ code }) {
        const { recoveryCodes } = await requestAsUser('POST', '/auth/2fa/confirm', { code });
        showRecoveryCodes(recoveryCodes);
      },
    });
    show(
      paragraph(text.scan),
      element('img.qr', { src: qrCode, alt: text.qrCode }),
      element('p', {}, `${text.secret} `, element('code', {}, secret)),
      element('p', {}, link(otpauthUrl, text.openApp)),
      form,
    );
  }

  const enrolForm = () =>
    createForm({
      fields: password,
      submit: text.enrol,
      kind: 'secondary',
      async send(values) {
        showEnrolment(await withRecentSignIn(() => requestAsUser('POST', '/auth/2fa/enrol', values)));
      },
    });

  const disableForm = () =>
    createForm({
      fields: [...password, anyCode],
      submit: text.disable,
      kind: 'danger',
      async send(values) {
        await withRecentSignIn(() => requestAsUser('POST', '/auth/2fa/disable', values));
        await refresh();
        reportDone(text.disabled, body);
      },
    });

  const renewForm = () =>
    createForm({
      fields: [anyCode],
      submit: text.renew,
      kind: 'secondary',
      async send(values) {
        showRecoveryCodes((await requestAsUser('POST', '/auth/2fa/recovery-codes', values)).recoveryCodes);
      },
    });

  async function refresh() {
    const { enabled, recoveryCodesLeft } = await requestAsUser('GET', '/auth/2fa');
    if (!enabled) body.replaceChildren(paragraph(text.off), disclosed(text.enrol, enrolForm()));
    else {
      body.replaceChildren(
        paragraph(text.on(recoveryCodesLeft)),
        disclosed(text.renew, renewForm()),
        disclosed(text.disable, disableForm()),
      );
    }
  }
  await refresh();
  return element('section', {}, element('h2', {}, text.heading), body);
}
