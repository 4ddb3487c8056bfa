// The sign-in page of docs/users/sign-in/email-sign-in.md, in a real browser.
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { defineExtension, defineUser, emailSignIn } from '../../src/index.ts';
import { openMailbox, until } from '../extensions/email-sign-in/mailbox.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const doc = readFileSync(new URL('../../docs/users/sign-in/email-sign-in.md', import.meta.url), 'utf8');
const [postFunction, requestStep, codeStep, linkStep] = Array.from(
  doc.matchAll(/```js\n([\s\S]*?)```/g),
  ([, code]) => code!,
);

const requested: string[] = [];
const page = `<!doctype html><title>Sign in</title>
  <form id="request"><input name="email"><button>Send</button></form>
  <form id="code"><input name="code"><button>Sign in</button></form>
  <output></output>
  <script type="module">
    const show = (text) => { document.querySelector('output').textContent = text; };
    ${postFunction}
    const onSubmit = (id, step) => document.getElementById(id).addEventListener('submit', (event) => {
      event.preventDefault();
      const [[, value]] = new FormData(event.target);
      step(value).then(show, ({ code }) => show(code));
    });
    onSubmit('request', async (email) => { ${requestStep}; return 'sent'; });
    onSubmit('code', async (code) => { ${codeStep}; return session.user.email; });
    const openLink = async () => { ${linkStep}; return session.user.email; };
    if (location.hash !== '') openLink().then(show, ({ code }) => show(code));
  </script>`;
const site = defineExtension({
  name: 'site',
  setup: () => ({
    pages: [
      {
        method: 'GET',
        path: '/sign-in',
        policy: 'public',
        handler({ req, res }) {
          requested.push(req.originalUrl);
          res.type('html').end(page);
        },
      },
    ],
  }),
});
const started = await startTestApp({ resources: [defineUser()], extensions: [emailSignIn(), site] }, { roles: 'all' });
const { url } = started;
const { mailsTo } = await openMailbox(started);

/** Requests an e-mail on the page, in the given browser profile, and returns the path of the link and the code. */
async function requestIn(context: BrowserContext, email: string): Promise<{ link: string; code: string }> {
  const tab = await context.newPage();
  await tab.goto(`${url}/sign-in`);
  await tab.fill('#request input', email);
  await tab.click('#request button');
  await expect.poll(() => tab.textContent('output')).toBe('sent');
  const [mail] = await until(async () => {
    const mails = await mailsTo(email);
    return mails.length > 0 ? mails : undefined;
  });
  const link = new URL(/^http\S+$/m.exec(mail!.text)![0]);
  return { link: link.pathname + link.hash, code: /^\d{6}$/m.exec(mail!.text)![0] };
}

browserTest(
  'the page of the docs signs in with the link in a new tab, refuses it in another browser, and sends no token to the server of the page',
  60_000,
  async () => {
    const [own, other] = [await browser.newContext(), await browser.newContext()];
    const { link } = await requestIn(own, 'ann@example.com');
    for (const [context, outcome] of [
      [other, 'VALIDATION_ERROR'],
      [own, 'ann@example.com'],
      [own, 'INVALID_TOKEN'],
    ] as const) {
      const tab = await context.newPage();
      await tab.goto(url + link);
      await expect.poll(() => tab.textContent('output')).toBe(outcome);
      expect(tab.url()).toBe(`${url}/sign-in`);
    }
    expect(new Set(requested)).toEqual(new Set(['/sign-in']));
    await Promise.all([own.close(), other.close()]);
  },
);

browserTest('the page of the docs signs in with the code', 60_000, async () => {
  const context = await browser.newContext();
  const { code } = await requestIn(context, 'bob@example.com');
  const tab = await context.newPage();
  await tab.goto(`${url}/sign-in`);
  await tab.fill('#code input', ` ${code.slice(0, 3)} ${code.slice(3)}`);
  await tab.click('#code button');
  await expect.poll(() => tab.textContent('output')).toBe('bob@example.com');
  await context.close();
});
