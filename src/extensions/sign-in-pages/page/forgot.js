import { element, link, paragraph, showView } from './dom.js';
import { createForm, emailField } from './form.js';
import { pagePath, request } from './session.js';
import { texts } from './texts.js';

export function showPage() {
  const { heading, intro, submit, sentHeading, back } = texts.forgot;
  const backToSignIn = () => element('p.footer', {}, link(pagePath('sign-in'), back));

  async function send({ email }) {
    const { message } = await request('POST', '/auth/password/forgot', { email });
    showView(sentHeading, paragraph(`${message}.`), backToSignIn());
  }

  showView(heading, paragraph(intro), createForm({ fields: [emailField()], submit, send }), backToSignIn());
}
