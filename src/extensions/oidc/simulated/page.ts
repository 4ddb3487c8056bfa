import { escapeHtml } from '../../../extension/index.ts';
import type { SimulatedPerson } from '../provider/settings.ts';

/** The headers of the page. No `form-action`, because browsers also apply it to the redirect to the app. */
export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
};

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
  button { font: inherit; padding: 0.5rem 0.75rem; border-radius: 0.4rem; border: 1px solid; cursor: pointer; }
  .person { display: block; width: 100%; text-align: left; margin: 0.5rem 0; }
  label { display: block; margin: 0.5rem 0; }
  input[type=text], input[type=email] { font: inherit; width: 100%; box-sizing: border-box; padding: 0.4rem; }`;

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simulated provider</title>
<style>${STYLE}</style>`;

function renderPerson({ name, email, emailVerified }: SimulatedPerson, index: number): string {
  const note = emailVerified === false ? ' (address not verified)' : '';
  return `<button class="person" name="person" value="${index}"><strong>${escapeHtml(name)}</strong><br>${escapeHtml(email + note)}</button>`;
}

/** Renders the page on which a developer chooses who to be. Its forms post to the page's own address. */
export function renderChoicePage(people: readonly SimulatedPerson[]): string {
  return `${HEAD}
<h1>Who do you want to be?</h1>
<p>This simulated identity provider runs in development only.</p>
<form method="post">${people.map(renderPerson).join('')}</form>
<h2>Another person</h2>
<form method="post">
  <label>Name <input type="text" name="name" required maxlength="100"></label>
  <label>E-mail address <input type="email" name="email" required maxlength="254"></label>
  <label><input type="checkbox" name="verified" checked> The provider has verified the address</label>
  <button name="person" value="other">Sign in</button>
</form>
<form method="post"><p><button name="person" value="none">Cancel</button></p></form>
</html>`;
}

/** Renders the page that shows why a request was refused. */
export function renderErrorPage(error: string, description: string | undefined): string {
  return `${HEAD}
<h1>The request was refused</h1>
<p>${escapeHtml(error)}: ${escapeHtml(description ?? 'no details')}</p>
</html>`;
}
