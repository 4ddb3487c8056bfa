// Loaded into the processes of both sides while they are counted: an older commit has no call for this.
import { getHeapStatistics } from 'node:v8';

process.on('message', ({ id, name }: { id: number; name: string }) => {
  if (name === 'heap') process.send?.({ id, value: getHeapStatistics().used_heap_size });
});
