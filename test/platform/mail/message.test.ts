import { expect, test } from 'vitest';
import type { ApiError } from '../../../src/platform/helpers/errors.ts';
import { escapeHtml } from '../../../src/platform/helpers/escape-html.ts';
import { validateMail } from '../../../src/platform/mail/message.ts';

const right = { to: 'ann@example.com', subject: 'Hello', text: 'Good day' };

function faults(changes: object): unknown {
  try {
    return validateMail({ ...right, ...changes });
  } catch (error) {
    return (error as ApiError).details;
  }
}

test('missing HTML is created from the text: paragraphs and lines, with special characters escaped', () => {
  const text = 'Dear <Ann> & "Ben",\n\n1 < 2\nand 2 > 1\n\n\n\nIt\'s so\n';
  expect(validateMail({ ...right, text }).html).toBe(
    '<p>Dear &lt;Ann&gt; &amp; &quot;Ben&quot;,</p>\n<p>1 &lt; 2<br>and 2 &gt; 1</p>\n<p>It&#39;s so</p>',
  );
  expect(escapeHtml('plain')).toBe('plain');
});

test('provided HTML is kept unchanged', () => {
  expect(validateMail({ ...right, html: '<b>x</b>' })).toEqual({ ...right, html: '<b>x</b>' });
});

test.each<[string, object, object]>([
  ['an e-mail with two recipients', { to: 'a@example.com, b@example.com' }, { to: 'Must be a single e-mail address' }],
  ['a name', { to: 'Ann <a@example.com>' }, { to: 'Must be a single e-mail address' }],
  ['a list', { to: ['a@example.com'] }, { to: 'Must be a single e-mail address' }],
  ['a line break in the address', { to: 'a@example.com\nb' }, { to: 'Must be a single e-mail address' }],
  ['a line break in the subject', { subject: 'Hello\r\nBcc: b@example.com' }, { subject: 'Must be a single line' }],
  ['no subject', { subject: '' }, { subject: 'Is required' }],
  ['a path instead of a text', { text: { path: '/etc/passwd' } }, { text: 'Must be a string' }],
  ['a path instead of HTML', { html: { path: '/etc/passwd' } }, { html: 'Must be a string' }],
  ['NUL', { text: 'a\0b' }, { text: 'Must be a text without NUL or broken characters' }],
  [
    'an unknown property',
    { attachments: [], bcc: 'b@example.com' },
    { attachments: 'Unknown field', bcc: 'Unknown field' },
  ],
  ['a text that is too long', { text: 'x'.repeat(100_001) }, { text: 'Must be at most 100000 characters' }],
])('%s is refused', (_what, changes, details) => {
  expect(faults(changes)).toEqual(details);
});

test('a value that is not an e-mail is refused', () => {
  expect(() => validateMail(undefined)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});
