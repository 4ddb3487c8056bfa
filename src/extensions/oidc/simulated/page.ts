import { escapeHtml } from '../../../extension/index.ts';
import type { SimulatedPerson } from '../provider/settings.ts';

/** The headers of the page. No `form-action`, because browsers also apply it to the redirect to the app. */
export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
};

/** The look of the sign-in pages, in their usual colours. */
const STYLE = `
  :root {
    color-scheme: light dark;
    --accent: light-dark(#3155d8, #93abff);
    --background: light-dark(#f5f6f9, #14171d);
    --surface: light-dark(#ffffff, #1d2129);
    --text: light-dark(#1d2129, #e8eaf0);
    --line: color-mix(in srgb, var(--text) 14%, var(--surface));
    --edge: color-mix(in srgb, var(--text) 55%, var(--surface));
  }
  * { box-sizing: border-box; }
  body { margin: 0; padding: 40px 16px 48px; background: var(--background); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
  main { max-width: 440px; margin: 0 auto; padding: 28px; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); }
  h1 { margin: 0 0 8px; font-size: 24px; line-height: 1.25; }
  h2 { margin: 28px 0 12px; padding-top: 20px; border-top: 1px solid var(--line); font-size: 18px; }
  p { margin: 0 0 16px; overflow-wrap: anywhere; }
  .note, .person span { color: color-mix(in srgb, var(--text) 74%, var(--surface)); font-size: 14px; }
  form { display: grid; gap: 12px; margin: 0 0 12px; }
  button { min-height: 44px; padding: 8px 14px; border: 1px solid var(--edge); border-radius: 8px; background: var(--surface); color: var(--text); font: inherit; cursor: pointer; }
  button:hover { background: color-mix(in srgb, var(--text) 6%, var(--surface)); }
  button.primary { border-color: var(--accent); background: var(--accent); color: light-dark(#ffffff, #101525); font-weight: 600; }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
  .person { display: grid; text-align: left; overflow-wrap: anywhere; }
  label { display: grid; gap: 4px; }
  label.check { display: flex; gap: 8px; align-items: center; }
  input:not([type=checkbox]) { min-height: 44px; padding: 8px 12px; border: 1px solid var(--edge); border-radius: 8px; background: var(--surface); color: var(--text); font: inherit; }
  input[type=checkbox] { width: 20px; height: 20px; accent-color: var(--accent); }`;

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simulated provider</title>
<style>${STYLE}</style>`;

function renderPerson({ name, email, emailVerified }: SimulatedPerson, index: number): string {
  const note = emailVerified === false ? ' (address not verified)' : '';
  return `<button class="person" name="person" value="${index}"><strong>${escapeHtml(name)}</strong><span>${escapeHtml(email + note)}</span></button>`;
}

/** Renders the page on which a developer chooses who to be. Its forms post to the page's own address. */
export function renderChoicePage(people: readonly SimulatedPerson[]): string {
  return `${HEAD}
<main>
<h1>Who do you want to be?</h1>
<p class="note">This simulated identity provider runs in development only.</p>
<form method="post">${people.map(renderPerson).join('')}</form>
<h2>Another person</h2>
<form method="post">
  <label>Name <input type="text" name="name" required maxlength="100"></label>
  <label>E-mail address <input type="email" name="email" required maxlength="254"></label>
  <label class="check"><input type="checkbox" name="verified" checked> The provider has verified the address</label>
  <button class="primary" name="person" value="other">Sign in</button>
</form>
<form method="post"><button name="person" value="none">Cancel</button></form>
</main>
</html>`;
}

/** Renders the page that shows why a request was refused. */
export function renderErrorPage(error: string, description: string | undefined): string {
  return `${HEAD}
<main>
<h1>The request was refused</h1>
<p>${escapeHtml(error)}: ${escapeHtml(description ?? 'no details')}</p>
</main>
</html>`;
}
