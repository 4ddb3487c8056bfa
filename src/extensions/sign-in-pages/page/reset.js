import { element, link, paragraph, problemBox, showView } from './dom.js';
import { createForm, newPasswordField } from './form.js';
import { forgetLinkToken, forgetSession, pagePath, request, takeLinkToken } from './session.js';
import { texts } from './texts.js';

const { reset, signIn } = texts;

function showUnusable(text) {
  forgetLinkToken();
  showView(reset.heading, problemBox(text), element('p', {}, link(pagePath('forgot'), reset.requestLink)));
}

export function showPage() {
  const token = takeLinkToken();
  if (token === undefined) {
    showUnusable(reset.noToken);
    return;
  }

  async function send({ password }) {
    try {
      await request('POST', '/auth/password/reset', { token, password });
    } catch (error) {
      if (error.code !== 'INVALID_TOKEN') throw error;
      showUnusable(error.message);
      return;
    }
    forgetLinkToken();
    forgetSession();
    showView(reset.doneHeading, paragraph(reset.done), element('p', {}, link(pagePath('sign-in'), signIn.submit)));
  }

  showView(reset.heading, createForm({ fields: [newPasswordField()], submit: reset.submit, send }));
}
