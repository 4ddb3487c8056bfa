import { expect, test } from 'vitest';
import { assignTopics } from '../../../packages/client/src/realtime/hub.ts';
import { createTopic } from '../../../packages/client/src/realtime/topic.ts';

/** Topics by their texts; a digit is the number of thousands of characters. */
const topic = (text: string) =>
  createTopic(
    text.replace(/\d/, (thousands) => 'x'.repeat(Number(thousands) * 1000)),
    undefined,
  );

test.each<[what: string, streams: string[], added: string, maxTopics: number, expected: string[]]>([
  ['the first topics open a stream', [], 'a b', 3, ['a b']],
  ['a topic goes to the first stream with room', ['a b', 'c'], 'd', 2, ['a b', 'c d']],
  ['a full stream gets a second one', ['a b'], 'c', 2, ['a b', 'c']],
  ['long texts are divided, because they share an address', [], 'a3 b3 c1', 20, ['a3 c1', 'b3']],
  ['a text that is too long for any other has a stream of its own', ['a'], 'b5', 20, ['a', 'b5']],
  ['topics beyond the maximum of the server leave their stream', ['a b c'], '', 2, ['a b', 'c']],
  ['a stream without topics stays empty', ['', 'a'], '', 2, ['', 'a']],
  ['an empty stream takes new topics', [''], 'a', 2, ['a']],
])('%s', (_, streams, added, maxTopics, expected) => {
  const names = new Map<unknown, string>();
  const parse = (text: string) =>
    text
      .split(' ')
      .filter(Boolean)
      .map((name) => {
        const created = topic(name);
        names.set(created, name);
        return created;
      });
  const lists = streams.map(parse);
  const assigned = assignTopics(lists, [...lists.flat(), ...parse(added)], maxTopics);
  expect(assigned.map((list) => list.map((one) => names.get(one)).join(' '))).toEqual(expected);
});
