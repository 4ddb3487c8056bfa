import { expect, test } from 'vitest';
import { adminConsole, defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

const start = (options: Parameters<typeof adminConsole>[0]) =>
  startTestApp({ resources: [defineUser()], extensions: [adminConsole(options)] });

const branded = await start({
  title: '<Acme> & "Co"',
  logo: '/brand/logo.svg?size=1&v=2',
  colors: { accent: '#abc', background: '#101010', dark: { text: '#fefefe' } },
});
const plain = await start({});

const readPage = async ({ url }: { url: string }) => (await fetch(`${url}/console/data`)).text();

test('the title and the logo are in the page as text, never as code', async () => {
  const html = await readPage(branded);
  expect(html).toContain('<title>&lt;Acme&gt; &amp; &quot;Co&quot;</title>');
  expect(html).toContain(
    '<div id="app" data-title="&lt;Acme&gt; &amp; &quot;Co&quot;" data-logo="/brand/logo.svg?size=1&amp;v=2"></div>',
  );
  const other = await readPage(plain);
  expect(other).toContain('<title>Console</title>');
  expect(other).toContain('<div id="app"></div>');
});

test('the colours are a stylesheet of the page, after its own', async () => {
  const findStyles = (html: string) =>
    [...html.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, href]) => href);
  const styles = findStyles(await readPage(branded));
  expect(styles).toHaveLength(findStyles(await readPage(plain)).length + 1);
  const css = await (await fetch(branded.url + styles.at(-1))).text();
  expect(css).toContain('--light-accent: #abc;');
  expect(css).toContain('--light-accent-text: #000000;');
  expect(css).toContain('--dark-accent: #abc;');
  expect(css).toContain('--dark-text: #fefefe;');
  expect(css).not.toContain('--dark-background');
});

test.each([
  [{ logo: 'https://elsewhere.example/logo.svg' }, 'must be a path of this server'],
  [{ colors: { accent: 'red;}' } }, 'must be a colour in hex'],
  [{ title: ' ' }, 'must be a text of 1 to 100 characters'],
  [{ titel: 'x' }, 'Did you mean "title"?'],
] as const)('the setting %j is a configuration error', (options, expected) => {
  const message = getStartupError({ resources: [defineUser()], extensions: [adminConsole(options as never)] });
  expect(message).toContain(expected);
});
