import { findSecondFactorFields, withRecentSignIn } from './confirm.js';
import { element, link, paragraph, problemBox, showView } from './dom.js';
import { codeField, createForm, emailField } from './form.js';
import { forgetLinkToken, requestAsUser, takeLinkToken } from './session.js';
import { texts } from './texts.js';

const { changeEmail: text } = texts;

const backToAccount = () => element('p.footer', {}, link('/auth/account', text.back));

async function confirm(proof) {
  const { email } = await requestAsUser('POST', '/auth/email/confirm', proof);
  forgetLinkToken();
  showView(text.doneHeading, paragraph(text.done(email)), backToAccount());
}

function showCode(intro) {
  const form = createForm({ fields: [codeField()], submit: text.codeSubmit, send: ({ code }) => confirm({ code }) });
  showView(text.codeHeading, paragraph(intro), form, backToAccount());
}

async function showRequest(problem) {
  const { email: current } = await requestAsUser('GET', '/auth/me');
  const secondFactor = await findSecondFactorFields();
  const form = createForm({
    fields: [emailField({ label: texts.fields.newEmail, autocomplete: 'email' }), ...secondFactor],
    submit: text.submit,
    async send(values) {
      const { message } = await withRecentSignIn(() => requestAsUser('POST', '/auth/email', values));
      showCode(`${message}. ${text.codeIntro}`);
    },
  });
  showView(text.heading, problemBox(problem), paragraph(text.intro(current)), form, backToAccount());
}

export async function showPage() {
  const token = takeLinkToken();
  if (token === undefined) {
    await showRequest();
    return;
  }
  showView(text.heading, paragraph(text.working));
  try {
    await confirm({ token });
  } catch (error) {
    forgetLinkToken();
    await showRequest(error.message);
  }
}
