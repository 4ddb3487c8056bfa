import { expect, test } from 'vitest';
import { createSlowPatternCheck } from '../../../src/records/configuration/patterns/slow-pattern.ts';

const isSlow = createSlowPatternCheck();
/** A single pass is enough to detect exponential time. */
const isSlowAtOnce = createSlowPatternCheck([50]);
const UNBOUNDED = Number.POSITIVE_INFINITY;

test.each([
  ['a repetition in a repetition', /(a+)+b/],
  ['a nested repetition behind an anchor', /^((a+))+$/],
  ['a repetition of a part that may be empty', /^(a*)*$/],
  ['an optional space after words', /^id:(\w+\s?)*$/],
  ['alternatives of which one repeats another', /^(a|aa)+$/],
  ['alternatives of which two together match a third', /(?:abc|ab|c)+$/],
  ['alternatives with overlapping classes', /^(\w|\d)+$/],
  ['alternatives that differ only in case', /^(a|A)+$/i],
  ['two ways to match the empty text', /^(?:a(?:b?|c?))+$/],
  ['a repetition of a short repetition', /^(a{1,2})+$/],
  ['a nested repetition behind a bounded prefix', /^[a-z]{3,8}-([0-9]+)*x$/],
  ['a nested repetition in a look-ahead', /^(?=(\w+)+!)\w/],
  ['a nested repetition in a negative look-ahead', /^(?!(\w+)+!)\w/],
  ['a repetition that a backreference repeats', /^(a+)(?:\1|a)+$/],
  ['optional spaces between words of any alphabet', /^([\p{L}\d]+ ?)+$/u],
  ['classes that are subtracted', /^([\w--\d]|[a-z])+$/v],
  ['lazy repetitions', /^(?:.*?,?)*?;$/],
  ['many consecutive repetitions of the same class', /^\w*\w*\w*\w*\w*1$/],
  ['a counted repetition', /^(.*a){12}$/],
  ['a nested repetition with high limits', /^(?:\w{1,50}){1,50}$/],
  [
    'a widely copied e-mail pattern',
    /^([a-zA-Z0-9])(([-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$/,
  ],
  ['a person’s name', /^[a-zA-Z]+(([',. -][a-zA-Z ])?[a-zA-Z]*)*$/],
  ['a widely copied URL pattern', /^(https?:\/\/)?([\da-z.-]+)\.([a-z.]{2,6})([/\w .-]*)*\/?$/],
])('%s takes exponential time: %s', (_what, regex) => {
  expect(isSlowAtOnce(regex, 200)).toBe(true);
});

test.each([
  [
    'an e-mail address, as in HTML',
    /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/,
  ],
  ['a short pattern for e-mail addresses', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
  [
    'an e-mail address with look-aheads',
    /^(?!\.)(?!.*\.\.)([A-Z0-9_'+\-.]*)[A-Z0-9_+-]@([A-Z0-9][A-Z0-9-]*\.)+[A-Z]{2,}$/i,
  ],
  ['a slug', /^[a-z0-9]+(?:-[a-z0-9]+)*$/],
  ['a host name', /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/],
  ['an IPv4 address', /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/],
  ['an IPv6 address', /^(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$|^(?:[0-9a-f]{1,4}:){1,7}:$/i],
  ['a URL', /^https?:\/\/(?:www\.)?[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}\b(?:[-a-zA-Z0-9()@:%_+.~#?&/=]*)$/],
  ['a phone number', /^\+?[0-9 ()-]{6,20}$/],
  ['a phone number in E.164', /^\+[1-9]\d{1,14}$/],
  ['a phone number in groups', /^(?:\+\d{1,3}[ -]?)?(?:\(\d{1,4}\)[ -]?)?\d{1,4}(?:[ -]?\d{1,4}){1,4}$/],
  ['an IBAN', /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/],
  ['an IBAN in groups', /^[A-Z]{2}[0-9]{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?$/],
  [
    'a semantic version',
    /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/,
  ],
  ['a version', /^\d+(\.\d+){0,2}$/],
  ['a UUID', /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i],
  ['a colour', /^#([0-9a-f]{3}){1,2}$/i],
  ['a price', /^\d{1,3}(?:,\d{3})*(?:\.\d{2})?$/],
  ['a credit card', /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|3[47]\d{13})$/],
  ['an ISO date', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/],
  ['a time', /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/],
  ['a duration', /^P(?=.)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?$/],
  ['a name in any alphabet', /^\p{L}[\p{L}\p{M}' -]*$/u],
  ['a user name', /^(?=.{3,20}$)(?![_.])(?!.*[_.]{2})[a-zA-Z0-9._]+(?<![_.])$/],
  ['a strong password', /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s]).{8,}$/],
  ['base64', /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/],
  ['a token of three parts', /^[\w-]+\.[\w-]+\.[\w-]*$/],
  ['a comma-separated list', /^[a-z]+(?:,\s*[a-z]+)*$/],
  ['a quoted text', /^"(?:[^"\\]|\\.)*"$/],
  ['a postcode', /^[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}$/i],
  ['a path', /^(?:\/[\w.-]+)+\/?$/],
  ['trailing spaces', /\s+$/],
  ['a digit anywhere', /^.*\d.*$/],
  ['an overlap that is not anchored at the end', /(?:a|aa)+/],
  ['a group with a backreference', /^(\w+)\s\1$/],
])('%s is fast', (_what, regex) => {
  expect(isSlow(regex, UNBOUNDED)).toBe(false);
});

test('consecutive repetitions of different characters are slow for long texts', () => {
  expect(isSlowAtOnce(/^\s*\s*-*-*\s*\s*x$/, UNBOUNDED)).toBe(true);
});

test('a pattern that is slow for long texts can be fast for short ones', () => {
  expect(isSlowAtOnce(/^(a|aa)+$/, 5000)).toBe(true);
  expect(isSlow(/^(a|aa)+$/, 12)).toBe(false);
});

test('a large expression is checked fast enough for a start', () => {
  const words = Array.from({ length: 300 }, (_one, i) => `word${i}`).join('|');
  expect(isSlow(new RegExp(`^(?:${words})$`), UNBOUNDED)).toBe(false);
  expect(isSlow(new RegExp(`^(?:${words}|(?:a+)+)$`), UNBOUNDED)).toBe(true);
});
