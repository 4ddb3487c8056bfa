import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTranslate, findPlaceholderErrors } from '../../../src/platform/languages/catalogue.ts';
import { german } from '../../../src/platform/languages/de/index.ts';

const translate = createTranslate(german);

test.each<[english: string, expected: string]>([
  ['Is required', 'Ist erforderlich'],
  ['Must be at most 5 characters', 'Darf höchstens 5 Zeichen haben'],
  ['Must be at least 1 character', 'Muss mindestens 1 Zeichen haben'],
  ['Must be at most -12.5', 'Darf höchstens -12.5 sein'],
  ['Must be at least 1e+21', 'Muss mindestens 1e+21 sein'],
  [
    'Has more than 100,000 rows. Split it, or use the command belfry import. Earlier rows were handled.',
    'Hat mehr als 100.000 Zeilen. Teilen Sie die Datei, oder verwenden Sie den Befehl belfry import. Frühere Zeilen wurden verarbeitet.',
  ],
  ['Must be one of: none, all', 'Muss einer dieser Werte sein: none, all'],
  ['The query parameter "x": Is required', 'Der Query-Parameter „x“: Ist erforderlich'],
  ['The query parameter "x": Must be at most 5 characters', 'Der Query-Parameter „x“: Darf höchstens 5 Zeichen haben'],
  ['The query parameter "x": says the app', 'Der Query-Parameter „x“: says the app'],
  ['Too many wrong codes, try again in 15 minutes', 'Zu viele falsche Codes, versuchen Sie es in 15 Minuten erneut'],
  ['Cannot sort by "x"; sortable fields: none', 'Nach „x“ lässt sich nicht sortieren; sortierbare Felder: keine'],
  [
    'Cannot sort by "x"; sortable fields: title, views',
    'Nach „x“ lässt sich nicht sortieren; sortierbare Felder: title, views',
  ],
  [
    'This list takes too long to read; add a filter, sort by title, views or limit the total with count=capped or count=none',
    'Diese Liste zu lesen dauert zu lange; Abhilfe: einen Filter hinzufügen, sortieren nach title, views oder die Gesamtzahl mit count=capped oder count=none begrenzen',
  ],
  [
    'Cannot sort by "x"; sortable fields: active, path',
    'Nach „x“ lässt sich nicht sortieren; sortierbare Felder: active, path',
  ],
  ['Must be image/png or image/jpeg, not text/plain', 'Muss image/png oder image/jpeg sein, nicht text/plain'],
  ['The form must have at most 10 files', 'Das Formular darf höchstens 10 Dateien haben'],
  [
    'The form must have at most 10 files, because you can have at most 10 uploads that no record uses yet',
    'Das Formular darf höchstens 10 Dateien haben, weil Sie höchstens 10 Uploads haben können, die noch kein Datensatz verwendet',
  ],
  [
    '1 event in the outbox, 2 e-mails and 10000 or more webhook deliveries wait and no relay runs',
    '1 Ereignis in der Outbox, 2 E-Mails und 10000 oder mehr Zustellungen von Webhooks warten, und kein Prozess mit der Rolle relay läuft',
  ],
  ['More than 1,000 webhook endpoints fail', 'Mehr als 1.000 Webhook-Endpunkte schlagen fehl'],
  [
    'The last delivery of this record: It waits to be sent, after 2 attempts; the last one failed: timeout',
    'Die letzte Zustellung dieses Datensatzes: Es wartet auf die Zustellung, nach 2 Versuchen; der letzte ist fehlgeschlagen: Zeitüberschreitung',
  ],
])('%s', (english, expected) => {
  expect(translate(english)).toBe(expected);
});

test.each([
  'Must be at least 3 days from now',
  'Must be at most a few characters',
  'Must be at most 5 characters!',
  'must be at most 5 characters',
  'Is required ',
  'constructor',
  '__proto__',
  '',
  '{max}',
  'Must be at most {max:number} characters',
  'The app says: Is required',
])('a text that the catalogue does not have stays: %s', (text) => {
  expect(translate(text)).toBe(text);
});

test('a value that looks like a template, or like a message in a plain value, stays text', () => {
  expect(translate('Unknown query parameter "{name}"')).toBe('Unbekannter Query-Parameter „{name}“');
  expect(translate('Unknown query parameter "Is required"')).toBe('Unbekannter Query-Parameter „Is required“');
  expect(translate('Unknown parameter "$&$1{names}"; use a')).toBe(
    'Unbekannter Parameter „$&$1{names}“; verwenden Sie a',
  );
  expect(translate('Unknown parameter "a"; use b"; use c')).toBe('Unbekannter Parameter „a“; verwenden Sie b"; use c');
});

test('messages in messages are translated only to a depth', () => {
  const nested = `${'The query string is invalid: '.repeat(50)}Is required`;
  expect(translate(nested).endsWith('The query string is invalid: Is required')).toBe(true);
});

/** The time in ms of the quickest of some runs. A busy machine slows single runs. */
function timeQuickest(run: () => void): number {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return Math.min(...times);
}

test.each<[what: string, text: string]>([
  ['a text in a placeholder', `Unknown query parameter "${'x'.repeat(100_000)}"`],
  ['many beginnings of a literal', `Unknown query parameter "${'"; filterable fields: '.repeat(5000)}`],
  ['many separators', `The Content-Type must be ${'a or '.repeat(20_000)}`],
  ['many quotes', '"'.repeat(100_000)],
  ['a long number', `Must be at most ${'9'.repeat(100_000)} characters`],
])('a message of 100 KB stays as it is, at once: %s', (_, text) => {
  expect(translate(text)).toBe(text);
  expect(timeQuickest(() => translate(text))).toBeLessThan(200);
});

test('a hostile message of the longest translated length takes little time', () => {
  const texts = ['"; filterable fields: ', 'a or ', ' or , ', '"', ': ', ' of "', '. '].flatMap((part) =>
    ['Unknown query parameter "', 'This list takes too long to read; ', 'The query string is invalid: ', ''].map(
      (start) => (start + part.repeat(5000)).slice(0, 9999),
    ),
  );
  const time = timeQuickest(() => {
    for (const text of texts) translate(text);
  });
  expect(time / texts.length).toBeLessThan(100);
});

const anyText = fc.string({ unit: 'binary', maxLength: 200 });
const rooms = createTranslate({
  messages: [
    { 'Room {room} is full': 'Voll: {room}', 'Room {room} has {seats:number} seats': '{seats} Plätze in {room}' },
  ],
  listWords: {},
  thousands: '.',
});

test('any value is inserted as it is', () => {
  fc.assert(fc.property(anyText, (room) => rooms(`Room ${room} is full`) === `Voll: ${room}`));
});

test('any two values are inserted as they are', () => {
  fc.assert(
    fc.property(anyText, fc.integer(), (room, seats) => {
      fc.pre(!room.includes(' has '));
      return rooms(`Room ${room} has ${seats} seats`) === `${seats} Plätze in ${room}`;
    }),
  );
});

test('no text makes the translation throw', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof translate(text) === 'string'));
});

test('the placeholders of all translations are right', () => {
  const errors = german.messages.flatMap((part) =>
    Object.entries(part).flatMap(([english, text]) => findPlaceholderErrors(english, text)),
  );
  expect(errors).toEqual([]);
});

test('no German text contains straight double quotes where English uses them for names, or the informal address', () => {
  const texts = german.messages.flatMap((part) => Object.values(part));
  expect(texts.filter((text) => /\b(du|dein|deine|deinen|dir)\b/i.test(text))).toEqual([]);
  expect(texts.filter((text) => /"\{/.test(text) && !/--|=/.test(text))).toEqual([]);
});

test('an app adds translations, and replaces those of Belfry', () => {
  const own = createTranslate(german, {
    'Room {number} is full': 'Raum {number} ist voll',
    'Is required': 'Bitte ausfüllen',
    'Must be at most {max} characters': 'Zu lang (höchstens {max})',
    '{a} before {b}': '{b} nach {a}',
  });
  expect(own('Room 7 is full')).toBe('Raum 7 ist voll');
  expect(own('Is required')).toBe('Bitte ausfüllen');
  expect(own('Must be at most 5 characters')).toBe('Zu lang (höchstens 5)');
  expect(own('1 before 2')).toBe('2 nach 1');
  expect(own('Is read-only')).toBe('Ist schreibgeschützt');
});

test.each<[english: string, translation: string, error: string]>([
  ['{a}', '{a}', 'needs text besides its placeholders'],
  ['{a} {b}', '{a}', 'needs text besides its placeholders'],
  ['{a}{b} x', '{a}', 'two placeholders need text between them'],
  ['{a} x {a}', '{a}', 'each placeholder needs a name of its own'],
  ['{a:word} x', '{a}', '"word" is not a kind of values; kinds: number, text, texts, list'],
  ['{a} x', '{b}', 'has {b}, which the English message does not have'],
])('the translation of %j to %j has an error', (english, translation, error) => {
  expect(findPlaceholderErrors(english, translation)).toContain(error);
});
