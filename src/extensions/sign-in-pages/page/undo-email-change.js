import { button, element, link, paragraph, problemBox, showView } from './dom.js';
import { forgetLinkToken, forgetSession, pagePath, request, takeLinkToken } from './session.js';
import { texts } from './texts.js';

const { undo: text } = texts;

export function showPage() {
  const token = takeLinkToken();
  if (token === undefined) {
    showView(text.heading, problemBox(text.noToken));
    return;
  }

  async function undo() {
    await request('POST', '/auth/email/undo', { token });
    forgetLinkToken();
    forgetSession();
    const signIn = element('p', {}, link(pagePath('sign-in'), texts.signIn.submit));
    showView(text.doneHeading, paragraph(text.done), signIn);
  }

  showView(text.heading, paragraph(text.intro), button(text.submit, undo, { kind: 'primary' }));
}
