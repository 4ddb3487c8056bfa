// Checks that every message which clients can get has a translation in every language, and that every translation has a message in the source.
// `--list` prints the messages with their places.
import { createTranslate, type LanguageTexts } from '../../src/platform/languages/catalogue.ts';
import { german } from '../../src/platform/languages/de/index.ts';
import { collectMessages } from './messages/collect.ts';
import { HOLE } from './messages/resolve.ts';

const LANGUAGES: Record<string, LanguageTexts> = { German: german };

/** Stays in English: clients recognize an ended session by this text, and do not show it. */
const KEPT = 'Session is invalid or has expired';

/** A value that fits every kind of placeholder. */
const SAMPLE = '7';
/** English that is left in a translation: three words in a row. Names and lists of values are no sentences. */
const SENTENCE = /[A-Za-z]{2,} [a-z]+ [a-z]+/;

const found = Map.groupBy(collectMessages(process.cwd()), ({ text }) => text);
found.delete(HOLE);
found.delete(KEPT);

if (process.argv.includes('--list'))
  for (const [text, places] of [...found].sort())
    console.log(`${text.replaceAll(HOLE, '{}')}\t${places.map(({ place }) => place).join(' ')}`);

const problems: string[] = [];
for (const [language, { messages, ...texts }] of Object.entries(LANGUAGES)) {
  const entries = messages.flatMap((part) => Object.keys(part));
  for (const [i, english] of entries.entries())
    if (entries.indexOf(english) !== i) problems.push(`${language} has "${english}" twice.`);
  // Translations that name their entry show which entries a message uses, and what is left of the English.
  const marked = entries.map((english, i) => [english, `⟦${i}⟧${english.match(/\{\w+(:\w+)?\}/g)?.join('⟦⟧') ?? ''}`]);
  const translate = createTranslate({ messages: [Object.fromEntries(marked)], ...texts });
  const used = new Set<string>();
  for (const [text, [first]] of found) {
    const result = translate(text.replaceAll(HOLE, SAMPLE));
    for (const [, i] of result.matchAll(/⟦(\d+)⟧/g)) used.add(entries[Number(i)]!);
    if (!result.includes('⟦') || SENTENCE.test(result.replaceAll(/⟦\d*⟧/g, '⟦')))
      problems.push(`${first!.place}: "${text.replaceAll(HOLE, '{}')}" needs a text in ${language}.`);
  }
  for (const english of entries)
    if (!used.has(english)) problems.push(`${language} has "${english}", which is no message of the source.`);
}
for (const problem of problems) console.error(problem);
console.log(`${found.size} messages, ${problems.length} problems`);
if (problems.length > 0) process.exitCode = 1;
