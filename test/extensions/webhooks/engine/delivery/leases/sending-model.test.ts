import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scaleRuns } from '../../../../../support/vitest/fuzz-runs.ts';
import { happenings, starts } from './sending-happenings.ts';
import { SendingModel } from './sending-model.ts';

const RUNS = 1000;

const sorted = (ids: readonly string[]) => ids.toSorted((x, y) => Number(x) - Number(y));

test('whatever happens, a lease ends, and each delivery that it claimed or missed is either recorded or left to another lease', () => {
  fc.assert(
    fc.property(starts, happenings, (start, list) => {
      const model = new SendingModel(start);
      for (const happening of list) model.happen(happening);
      model.finish();
      expect(sorted([...model.recorded, ...model.returned])).toEqual(model.claimed);
      expect(new Set(model.sent).size).toBe(model.sent.length);
      // What was sent is never sent again by another lease because this one did not record it.
      expect(model.returned.filter((id) => model.sent.includes(id))).toEqual([]);
      if (model.mayHaveMissed) expect(model.leadsToAnother, 'the announcement is not lost').toBe(true);
    }),
    { numRuns: scaleRuns(RUNS) },
  );
});
