import { expect, test } from 'vitest';
import { sumTimes } from '../../bench/profiling/cpu-profile.ts';

const createNode = (id: number, functionName: string, url: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, url, lineNumber: 9, columnNumber: 0, scriptId: '1' },
  children,
});

test('time is added up by the function that ran and by the outermost function of the project', () => {
  const nodes = [
    createNode(1, '(root)', '', [2, 3, 6]),
    createNode(2, '(idle)', ''),
    createNode(3, 'parserOnMessageComplete', 'node:_http_common', [4]),
    createNode(4, 'handle', 'file:///work/src/app.ts', [5]),
    createNode(5, 'query', 'file:///work/node_modules/pg/lib/client.js'),
    createNode(6, '(garbage collector)', ''),
  ];
  const profile = { nodes, startTime: 0, endTime: 70, samples: [2, 4, 5, 5, 6], timeDeltas: [10, 5, 20, 20, 15] };
  expect(sumTimes(profile, '/work/')).toEqual({
    self: [
      { name: 'pg/lib/client.js:10 query', micros: 40 },
      { name: '(garbage collector)', micros: 15 },
      { name: 'src/app.ts:10 handle', micros: 5 },
    ],
    top: [
      { name: 'src/app.ts:10 handle', micros: 45 },
      { name: '(garbage collector)', micros: 15 },
    ],
  });
});
